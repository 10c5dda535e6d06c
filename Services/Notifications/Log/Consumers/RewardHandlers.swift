internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import StreaksAPI

/// Notifications about what a user has earned once, for ever (CI-5, MS-7). What a milestone brings, its own push says: one push a cause.
extension NotificationHandlers {
    var rewardHandlers: [EventHandler] {
        [
            EventHandler(BadgeEarned.self, in: batch) { event, _ in
                // Of a release before this one: it has no name.
                guard !event.title.isEmpty else { return [] }
                let values = NotificationValues(wording: Wording.badge, subject: event.title, emoji: event.icon)
                let saidBy = event.isMilestone ? NotificationKind.milestone : nil
                return [
                    NotificationDraft(NewNotification(user: event.userID, kind: .milestone, values: values, saidBy: saidBy))
                ]
            },
            EventHandler(UnlockEarned.self, in: batch) { event, _ in
                guard !event.title.isEmpty else { return [] }
                let values = NotificationValues(wording: Wording.unlock, subject: event.title)
                return [
                    NotificationDraft(NewNotification(user: event.userID, kind: .milestone, values: values, saidBy: .milestone))
                ]
            },
            EventHandler(AchievementEarned.self, in: batch) { event, _ in
                let values = NotificationValues(wording: Wording.achievement, subject: event.achievement)
                let saidBy: NotificationKind? =
                    switch event.achievement {
                    case "7_day_warrior", "30_day_legend", "100_day_immortal": .milestone
                    case "first_recovery": .streakRecovered
                    default: nil
                    }
                return [
                    NotificationDraft(NewNotification(user: event.userID, kind: .milestone, values: values, saidBy: saidBy))
                ]
            },
        ]
    }
}
