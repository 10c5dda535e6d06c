internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import StreaksAPI

/// Reminders by the clock (PW-2, NO-5). One that is consumed too late to be of use is left out (NO-6).
extension NotificationHandlers {
    var reminderHandlers: [EventHandler] {
        [
            EventHandler(SnapWindowOpened.self) { event, work in
                try await remindOfWindow(
                    event.userID,
                    .dailyWindow,
                    NotificationValues(subject: event.promptText, emoji: event.promptEmoji),
                    event.waitingFriendIDs,
                    until: event.closesAt,
                    work
                )
            },
            EventHandler(SnapWindowClosing.self) { event, work in
                let minutes = event.closesAt.map { max(1, Int32(clamping: (($0 - work.now).seconds + 30) / 60)) } ?? 30
                try await remindOfWindow(
                    event.userID,
                    .windowClosing,
                    NotificationValues(amount: minutes, subject: event.promptText, emoji: event.promptEmoji),
                    event.waitingFriendIDs,
                    until: event.closesAt,
                    work
                )
            },
            EventHandler(StreaksAtRisk.self) { event, work in
                guard let end = event.dayEndsAt, work.now < end else { return }
                let present = try await present(event.streaks.map(\.friendID), for: event.userID, work)
                let streaks = event.streaks.filter { present.contains($0.friendID) }
                guard let first = streaks.first else { return }
                try await writer.write(
                    NewNotification(
                        user: event.userID,
                        kind: .streakAtRisk,
                        values: NotificationValues(
                            count: first.currentCount,
                            others: Int32(clamping: streaks.count - 1),
                            amount: max(1, Int32(clamping: ((end - work.now).seconds + 1_800) / 3_600))
                        ),
                        actor: first.friendID,
                        streak: streaks.count == 1 ? first.streakID : nil,
                        useful: .until(end)
                    ),
                    work
                )
            },
        ]
    }

    /// A user for whose snap no friend waits gets no reminder.
    private func remindOfWindow(
        _ user: UserID,
        _ kind: NotificationKind,
        _ values: NotificationValues,
        _ waiting: [UserID],
        until end: Instant?,
        _ work: UnitOfWork
    ) async throws {
        guard let end, work.now < end else { return }
        let known = try await present(waiting, for: user, work)
        let present = waiting.filter(known.contains)
        guard let first = present.first else { return }
        var values = values
        values.others = Int32(clamping: present.count - 1)
        try await writer.write(
            NewNotification(user: user, kind: kind, values: values, actor: first, useful: .until(end)),
            work
        )
    }

    /// Those of `others` who have an account, and whom no block hides from `user`.
    private func present(_ others: [UserID], for user: UserID, _ work: UnitOfWork) async throws -> Set<UserID> {
        let known = try await writer.profiles.known(others, work.sql)
        let hidden = try await writer.blocks.hidden(from: user, among: others, work.sql)
        return Set(others.filter { known[$0]?.status != .deleted && !hidden.contains($0) })
    }
}
