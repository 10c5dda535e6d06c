internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import StreaksAPI

/// Reminders by the clock (PW-2, NO-5). One that is consumed too late to be of use is left out (NO-6).
extension NotificationHandlers {
    var reminderHandlers: [EventHandler] {
        [
            EventHandler(SnapWindowOpened.self, in: batch) { event, now in
                Self.window(
                    event.userID,
                    .dailyWindow,
                    NotificationValues(
                        wording: event.hourIsChosen ? Wording.hourIsChosen : 0,
                        subject: event.promptText,
                        emoji: event.promptEmoji
                    ),
                    event.waitingFriendIDs,
                    until: event.closesAt,
                    now
                )
            },
            EventHandler(SnapWindowClosing.self, in: batch) { event, now in
                let minutes = event.closesAt.map { NotificationKind.minutes(until: $0, now) } ?? 30
                return Self.window(
                    event.userID,
                    .windowClosing,
                    NotificationValues(
                        wording: event.hourIsChosen ? Wording.hourIsChosen : 0,
                        amount: minutes,
                        subject: event.promptText,
                        emoji: event.promptEmoji
                    ),
                    event.waitingFriendIDs,
                    until: event.closesAt,
                    now
                )
            },
            EventHandler(StreaksAtRisk.self, in: batch) { event, now in
                guard let end = event.dayEndsAt, now < end else { return [] }
                return [
                    NotificationDraft(for: event.userID, among: event.streaks.map(\.friendID)) { present in
                        let streaks = event.streaks.filter { present.contains($0.friendID) }
                        guard let first = streaks.first else { return nil }
                        return NewNotification(
                            user: event.userID,
                            kind: .streakAtRisk,
                            values: NotificationValues(
                                count: first.currentCount,
                                others: Int32(clamping: streaks.count - 1),
                                amount: NotificationKind.hours(until: end, now)
                            ),
                            actor: first.friendID,
                            streak: streaks.count == 1 ? first.streakID : nil,
                            deadline: end,
                            useful: .until(end)
                        )
                    }
                ]
            },
        ]
    }

    /// A user for whose snap no friend waits gets no reminder.
    private static func window(
        _ user: UserID,
        _ kind: NotificationKind,
        _ values: NotificationValues,
        _ waiting: [UserID],
        until end: Instant?,
        _ now: Instant
    ) -> [NotificationDraft] {
        guard let end, now < end else { return [] }
        return [
            NotificationDraft(for: user, among: waiting) { known in
                let present = waiting.filter(known.contains)
                guard let first = present.first else { return nil }
                var values = values
                values.others = Int32(clamping: present.count - 1)
                return NewNotification(
                    user: user,
                    kind: kind,
                    values: values,
                    actor: first,
                    deadline: end,
                    useful: .until(end)
                )
            }
        ]
    }
}
