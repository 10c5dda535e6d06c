internal import Kernel
internal import NotificationsCore
internal import NotificationsDomain
internal import Outbox
internal import StreaksAPI

/// Notifications about what a user has earned once, for ever (CI-5, MS-7). What a milestone brings, its own push says: one push a cause. What
/// was earned days ago comes again when a broker has lost its streams, and is no news: releases before this one did not announce it.
extension NotificationHandlers {
    var rewardHandlers: [EventHandler] {
        [
            EventHandler(BadgeEarned.self, in: batch) { event, now in
                // Of a release before this one: it has no name.
                guard !event.title.isEmpty, Self.isNew(event.earnedAt, now) else { return [] }
                let values = NotificationValues(wording: Wording.badge, subject: event.title, emoji: event.icon)
                let saidBy = event.isMilestone ? NotificationKind.milestone : nil
                return [
                    NotificationDraft(NewNotification(user: event.userID, kind: .milestone, values: values, saidBy: saidBy))
                ]
            },
            EventHandler(UnlockEarned.self, in: batch) { event, now in
                guard !event.title.isEmpty, Self.isNew(event.earnedAt, now) else { return [] }
                let values = NotificationValues(wording: Wording.unlock, subject: event.title)
                return [
                    NotificationDraft(NewNotification(user: event.userID, kind: .milestone, values: values, saidBy: .milestone))
                ]
            },
            EventHandler(AchievementEarned.self, in: batch) { event, now in
                guard Self.isNew(event.earnedAt, now) else { return [] }
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

    private static func isNew(_ earnedAt: Instant?, _ now: Instant) -> Bool { earnedAt.map { now - $0 < .days(1) } ?? false }
}
