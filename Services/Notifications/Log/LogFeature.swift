internal import Bus
internal import NotificationsAPI
internal import NotificationsCore
internal import Outbox
internal import Runtime
package import ServiceRuntime
internal import SocialAPI

/// The in-app log, filled from the events of the other services (NO-1, NO-4).
package enum LogFeature {
    package static let feature = ServiceFeature(
        "log",
        settings: [LinkSettings.publicURL, CoreFeature.deepLinkBase]
    ) { environment in
        let core = try await NotificationsCore(environment)
        let (log, live, mutations) = (core.log, core.live, environment.mutations)
        let views = EntryViews(core: core, social: FriendsClient(environment.bus))
        let entries = NotificationHandlers(writer: core.writer)
        return FeatureParts(
            endpoints: NotificationsService.endpoints(
                list: List(log: log, views: views),
                unreadCount: UnreadCount(log: log),
                get: Get(log: log, views: views),
                markRead: MarkRead(log: log, live: live, mutations: mutations),
                markOneRead: MarkOneRead(log: log, live: live, mutations: mutations),
                markAllRead: MarkAllRead(log: log, live: live, mutations: mutations),
                delete: Delete(log: log, live: live, mutations: mutations)
            ),
            consumers: entries.friendshipHandlers + entries.streakHandlers + entries.accountHandlers + entries.reminderHandlers
                + entries.soloHandlers + entries.soloReminderHandlers + entries.teamHandlers + entries.habitHandlers
                + entries.rewardHandlers
                + [AnsweredReminders(core: core).handler, ReturnedFreezes(core: core).handler]
        )
    }
}
