internal import Bus
internal import NotificationsAPI
internal import NotificationsCore

/// NO-4.
struct UnreadCount: QueryHandler {
    let log: NotificationRepository

    func handle(_: UnreadCountRequest, _ context: CallContext) async throws -> UnreadCountReply {
        UnreadCountReply(unreadCount: try await log.unreadCount(of: try context.requireUser()))
    }
}
