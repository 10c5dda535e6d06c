internal import Kernel
internal import NotificationsAPI
internal import NotificationsDomain
internal import Outbox
internal import StreaksAPI

/// Reminders by the clock (PW-2, NO-5). One that is consumed too late to be of use is left out (NO-6).
extension NotificationHandlers {
    var reminderHandlers: [EventHandler] {
        [
            EventHandler(SnapWindowOpened.self) { event, work in
                let (prompt, emoji) = (event.promptText, event.promptEmoji)
                try await remindOfWindow(event.userID, .dailyWindow, event.waitingFriendIDs, until: event.closesAt, work) {
                    .dailyWindow(prompt: prompt, emoji: emoji, waiting: $0, others: $1)
                }
            },
            EventHandler(SnapWindowClosing.self) { event, work in
                let (prompt, emoji) = (event.promptText, event.promptEmoji)
                let minutes = event.closesAt.map { max(1, Int(($0 - work.now).seconds + 30) / 60) } ?? 30
                try await remindOfWindow(event.userID, .windowClosing, event.waitingFriendIDs, until: event.closesAt, work) {
                    .windowClosing(prompt: prompt, emoji: emoji, waiting: $0, others: $1, minutes: minutes)
                }
            },
            EventHandler(StreaksAtRisk.self) { event, work in
                guard let end = event.dayEndsAt, work.now < end else { return }
                let hours = max(1, Int((end - work.now).seconds + 1_800) / 3_600)
                let user = event.userID
                let friends = event.streaks.map(\.friendID)
                let known = try await profiles.known(friends, work.sql)
                let hidden = try await blocks.hidden(from: user, among: friends, work.sql)
                let streaks = event.streaks.filter { streak in
                    guard let profile = known[streak.friendID] else { return false }
                    return profile.status != .deleted && !hidden.contains(streak.friendID)
                }
                guard let first = streaks.first else { return }
                let text = NotificationText.atRisk(
                    count: Int(first.currentCount),
                    with: Self.name(known[first.friendID]),
                    others: streaks.count - 1,
                    hours: hours
                )
                try await notify(
                    NewNotification(
                        user: user,
                        kind: .streakAtRisk,
                        text: text,
                        actor: first.friendID,
                        streak: streaks.count == 1 ? first.streakID : nil
                    ),
                    work
                )
            },
        ]
    }

    /// A user for whose snap no friend waits gets no reminder.
    private func remindOfWindow(
        _ user: UserID,
        _ kind: Kind,
        _ waiting: [UserID],
        until end: Instant?,
        _ work: UnitOfWork,
        text: (_ name: String, _ others: Int) -> NotificationText
    ) async throws {
        guard let end, work.now < end else { return }
        let known = try await profiles.known(waiting, work.sql)
        let hidden = try await blocks.hidden(from: user, among: waiting, work.sql)
        let present = waiting.filter { known[$0]?.status != .deleted && !hidden.contains($0) }
        guard let first = present.first else { return }
        try await notify(
            NewNotification(
                user: user,
                kind: kind,
                text: text(Self.name(known[first]), present.count - 1),
                actor: first
            ),
            work
        )
    }
}
