internal import AuthAPI
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import Replicas
internal import SocialAPI
internal import StreaksAPI

/// Turns the events of other services into entries of the log (NO-1). The inbox makes each event notify once (NO-5).
struct NotificationHandlers: Sendable {
    let log: NotificationRepository
    let profiles: ProfileReplica
    let blocks: BlockReplica
    let live: LiveEvents

    var friendshipHandlers: [EventHandler] {
        [
            EventHandler(FriendRequestSent.self) { event, work in
                let (from, to) = (event.fromUserID, event.toUserID)
                let name = try await name(of: from, work)
                try await notify(
                    NewNotification(
                        user: to,
                        kind: .friendRequest,
                        text: .friendRequest(from: name),
                        actor: from,
                        friendship: event.friendshipID
                    ),
                    work
                )
            },
            EventHandler(FriendshipAccepted.self) { event, work in
                let (requester, accepter) = (event.requesterID, event.accepterID)
                let name = try await name(of: accepter, work)
                try await notify(
                    NewNotification(
                        user: requester,
                        kind: .friendAccepted,
                        text: .friendAccepted(by: name),
                        actor: accepter,
                        friendship: event.friendshipID
                    ),
                    work
                )
            },
        ]
    }

    var streakHandlers: [EventHandler] {
        [
            EventHandler(SnapCounted.self) { event, work in
                let (author, friend) = (event.userID, event.friendID)
                let name = try await name(of: author, work)
                let text = NotificationText.friendPosted(name, count: Int(event.currentCount), isComplete: event.dateCompleted)
                try await notify(
                    NewNotification(
                        user: friend,
                        kind: .friendPosted,
                        text: text,
                        actor: author,
                        streak: event.streakID
                    ),
                    work
                )
            },
            EventHandler(MilestoneReached.self) { event, work in
                try await notifyBoth(event.userAID, event.userBID, .milestone, streak: event.streakID, work) { _, name in
                    .milestone(count: Int(event.count), with: name, earnsToken: event.earnsToken)
                }
            },
            EventHandler(StreakBroken.self) { event, work in
                try await notifyBoth(event.userAID, event.userBID, .streakBroken, streak: event.streakID, work) { _, name in
                    .broken(count: Int(event.count), with: name, isFinal: event.isFinal)
                }
            },
            EventHandler(StreakRestored.self) { event, work in
                try await notifyBoth(event.userAID, event.userBID, .streakRecovered, streak: event.streakID, work) { _, name in
                    .recovered(count: Int(event.count), with: name)
                }
            },
            EventHandler(StreakRecovered.self) { event, work in
                let text = { @Sendable (reader: UserID, name: String) in
                    NotificationText.rescued(
                        count: Int(event.count),
                        with: name,
                        by: reader == event.recoveredByUserID ? nil : name,
                        inAdvance: event.inAdvance
                    )
                }
                try await notifyBoth(event.userAID, event.userBID, .streakRecovered, streak: event.streakID, work, text: text)
            },
        ]
    }

    var socialHandlers: [EventHandler] {
        [
            EventHandler(FriendNudged.self) { event, work in
                let (from, to) = (event.fromUserID, event.toUserID)
                let name = try await name(of: from, work)
                try await notify(
                    NewNotification(
                        user: to,
                        kind: .nudge,
                        text: .nudge(from: name),
                        actor: from,
                        streak: event.streakID,
                        friendship: event.friendshipID
                    ),
                    work
                )
            },
            // The entry does not name the moderator.
            EventHandler(ModerationActionTaken.self) { event, work in
                guard event.action == .warn else { return }
                try await notify(
                    NewNotification(user: event.userID, kind: .moderationWarning, text: .moderationWarning),
                    work
                )
            },
        ]
    }

    var accountHandlers: [EventHandler] {
        [
            EventHandler(DataExportReady.self) { event, work in
                try await notify(NewNotification(user: event.userID, kind: .exportReady, text: .exportReady), work)
            }
        ]
    }

    /// Adds an entry to the log, unless its reader or actor has deleted the account, or a block hides the actor: an event may be consumed
    /// late (AU-7, SO-7).
    func notify(_ new: NewNotification, _ work: UnitOfWork) async throws {
        let people = try await profiles.known([new.user] + [new.actor].compactMap { $0 }, work.sql)
        guard people.values.allSatisfy({ $0.status != .deleted }),
            try await blocks.hidden(from: new.user, among: [new.actor].compactMap { $0 }, work.sql).isEmpty
        else { return }
        let id: NotificationID = work.ids.make()
        try await log.insert(new, id: id, now: work.now, work.sql)
        let (user, type) = (new.user, new.kind.apiName)
        try await live.append(
            [.notification(to: user, id, type: type, streak: new.streak, friendship: new.friendship)],
            unreadOf: user,
            work
        ) { try await log.unreadCount(of: user, work.sql) }
    }

    /// Each of the two reads the other's name.
    private func notifyBoth(
        _ one: UserID,
        _ two: UserID,
        _ kind: Kind,
        streak: StreakID,
        _ work: UnitOfWork,
        text: (_ reader: UserID, _ other: String) -> NotificationText
    ) async throws {
        let known = try await profiles.known([one, two], work.sql)
        // Everywhere in this order: each locks a counter of its own.
        for (reader, other) in [(one, two), (two, one)].sorted(by: { $0.0 < $1.0 }) {
            let name = Self.name(known[other])
            try await notify(
                NewNotification(user: reader, kind: kind, text: text(reader, name), actor: other, streak: streak),
                work
            )
        }
    }

    func name(of user: UserID, _ work: UnitOfWork) async throws -> String {
        Self.name(try await profiles.known([user], work.sql)[user])
    }

    /// A user's name in a text; without the name of one who may not be seen.
    static func name(_ profile: Profile?) -> String {
        profile.flatMap { $0.isVisible && !$0.displayName.isEmpty ? $0.displayName : nil } ?? "your friend"
    }
}

extension Kind {
    /// As the API writes it: `friend_request`.
    var apiName: String {
        if case .unrecognized = self { return "unknown" }
        return "\(self)".reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    }
}
