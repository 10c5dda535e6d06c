internal import AuthAPI
internal import BillingAPI
internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import SocialAPI
internal import StreaksAPI

/// Turns the events of other services into entries of the log and pushes (NO-1). The inbox makes each event notify once (NO-5).
struct NotificationHandlers: Sendable {
    let writer: NotificationWriter

    var friendshipHandlers: [EventHandler] {
        [
            EventHandler(FriendRequestSent.self) { event, work in
                try await writer.write(
                    NewNotification(
                        user: event.toUserID,
                        kind: .friendRequest,
                        actor: event.fromUserID,
                        friendship: event.friendshipID
                    ),
                    work
                )
            },
            EventHandler(FriendshipAccepted.self) { event, work in
                try await writer.write(
                    NewNotification(
                        user: event.requesterID,
                        kind: .friendAccepted,
                        actor: event.accepterID,
                        friendship: event.friendshipID
                    ),
                    work
                )
            },
            EventHandler(FriendNudged.self) { event, work in
                try await writer.write(
                    NewNotification(
                        user: event.toUserID,
                        kind: .nudge,
                        actor: event.fromUserID,
                        streak: event.streakID,
                        friendship: event.friendshipID,
                        useful: .today
                    ),
                    work
                )
            },
        ]
    }

    var streakHandlers: [EventHandler] {
        [
            EventHandler(SnapCounted.self) { event, work in
                try await writer.write(
                    NewNotification(
                        user: event.friendID,
                        kind: .friendPosted,
                        values: NotificationValues(
                            wording: event.dateCompleted ? Wording.dateCompleted : 0,
                            count: event.currentCount
                        ),
                        actor: event.userID,
                        streak: event.streakID,
                        useful: .through(event.date)
                    ),
                    work
                )
            },
            EventHandler(MilestoneReached.self) { event, work in
                let values = NotificationValues(wording: event.earnsToken ? Wording.earnsToken : 0, count: event.count)
                try await notifyBoth(event.userAID, event.userBID, .milestone, streak: event.streakID, work) { _ in values }
            },
            EventHandler(StreakBroken.self) { event, work in
                let values = NotificationValues(wording: event.isFinal ? Wording.isFinal : 0, count: event.count)
                try await notifyBoth(event.userAID, event.userBID, .streakBroken, streak: event.streakID, work) { _ in values }
            },
            EventHandler(StreakRestored.self) { event, work in
                let values = NotificationValues(count: event.count)
                try await notifyBoth(event.userAID, event.userBID, .streakRecovered, streak: event.streakID, work) { _ in values }
            },
            EventHandler(StreakRecovered.self) { event, work in
                try await notifyBoth(event.userAID, event.userBID, .streakRecovered, streak: event.streakID, work) { reader in
                    let wording =
                        switch (reader == event.recoveredByUserID, event.inAdvance) {
                        case (true, false): Wording.byReader
                        case (true, true): Wording.byReaderInAdvance
                        case (false, false): Wording.byFriend
                        case (false, true): Wording.byFriendInAdvance
                        }
                    return NotificationValues(wording: wording, count: event.count)
                }
            },
        ]
    }

    var accountHandlers: [EventHandler] {
        [
            // The entries do not name the moderator, nor the other of the two users.
            EventHandler(ModerationActionTaken.self) { event, work in
                if event.action == .warn {
                    try await writer.write(NewNotification(user: event.userID, kind: .moderationWarning), work)
                }
                if let reporter = event.reporterID {
                    let wording = event.action == .dismiss ? Wording.noAction : 0
                    let values = NotificationValues(wording: wording)
                    try await writer.write(NewNotification(user: reporter, kind: .reportUpdate, values: values), work)
                }
            },
            EventHandler(PurchaseCompleted.self) { event, work in
                // What coins bought is in the wallet.
                guard event.coins == 0 else { return }
                let values = NotificationValues(subject: event.title)
                try await writer.write(NewNotification(user: event.userID, kind: .purchaseReceipt, values: values), work)
            },
            EventHandler(DataExportReady.self) { event, work in
                try await writer.write(
                    NewNotification(
                        user: event.userID,
                        kind: .exportReady,
                        useful: event.deleteAt.map { .until($0) } ?? .asItsKind
                    ),
                    work
                )
            },
        ]
    }

    /// Each of the two reads the other's name. In the order of their ids, so that no two transactions wait for each other.
    private func notifyBoth(
        _ one: UserID,
        _ two: UserID,
        _ kind: NotificationKind,
        streak: StreakID,
        _ work: UnitOfWork,
        values: (_ reader: UserID) -> NotificationValues
    ) async throws {
        for (reader, other) in [(min(one, two), max(one, two)), (max(one, two), min(one, two))] {
            try await writer.write(
                NewNotification(user: reader, kind: kind, values: values(reader), actor: other, streak: streak),
                work
            )
        }
    }
}
