internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import StreaksAPI

/// Notifications about habits (HA-5, HA-11, HA-18). A reminder that is consumed too late to be of use is left out (NO-6).
extension NotificationHandlers {
    var habitHandlers: [EventHandler] {
        [
            EventHandler(HabitReminderDue.self, in: batch) { event, now in
                guard let end = event.usefulUntil, now < end else { return [] }
                let values = NotificationValues(count: event.number, subject: event.habitName, emoji: event.icon)
                let new = NewNotification(
                    user: event.userID,
                    kind: .habitReminder,
                    values: values,
                    streak: event.streakID,
                    habit: event.habitID,
                    date: event.date,
                    useful: .until(end)
                )
                return [NotificationDraft(new)]
            },
            EventHandler(HabitsLeftToday.self, in: batch) { event, now in
                guard let end = event.usefulUntil, now < end, event.left > 0 else { return [] }
                let values = NotificationValues(amount: event.left)
                return [
                    NotificationDraft(
                        NewNotification(user: event.userID, kind: .streakReminder, values: values, useful: .until(end))
                    )
                ]
            },
            EventHandler(HabitMotivationDue.self, in: batch) { event, now in
                guard let end = event.usefulUntil, now < end else { return [] }
                let values = NotificationValues(count: event.number)
                return [
                    NotificationDraft(
                        NewNotification(user: event.userID, kind: .motivation, values: values, useful: .until(end))
                    )
                ]
            },
            EventHandler(HabitMilestoneReached.self, in: batch) { event, _ in
                let wording = event.unit == .weeks ? Wording.habitWeeks : Wording.habitDays
                let values = NotificationValues(wording: wording, count: event.count, subject: event.name)
                let new = NewNotification(
                    user: event.userID,
                    kind: .milestone,
                    values: values,
                    streak: event.streakID,
                    habit: event.habitID
                )
                return [NotificationDraft(new)]
            },
        ]
    }
}

/// A reminder of a habit that needs no attention any more is read, so that what of it waits is not pushed; an action on a push is confirmed by
/// another that replaces it, without sound and read already: the badge falls by one (HA-5).
struct AnsweredReminders: Sendable {
    /// How long a confirmation is of use.
    private static let useful = Interval.minutes(10)

    let core: NotificationsCore

    var handler: EventHandler {
        EventHandler(HabitReminderAnswered.self) { [core] event, work in
            let user = event.userID
            let ids = try await NotificationRepository.unreadReminders(of: user, event.habitID, on: event.date, work.sql)
            if !ids.isEmpty {
                _ = try await core.live.markRead(ids, of: user, areOpened: event.byAction, core.log, work)
            }
            guard event.byAction, let wording = Self.wording(event.answer), let at = event.at else { return }
            let new = NewNotification(
                user: user,
                kind: .habitReminder,
                values: NotificationValues(wording: wording, subject: event.habitName),
                habit: event.habitID,
                date: event.date,
                useful: .until(at + Self.useful)
            )
            try await core.writer.write(new, work)
        }
    }

    /// nil: no notification confirms it.
    private static func wording(_ answer: ReminderAnswer) -> Int16? {
        switch answer {
        case .completed: Wording.habitCompleted
        case .snoozed: Wording.habitSnoozed
        default: nil
        }
    }
}
