internal import Bus
internal import NotificationsAPI

extension NotificationsService {
    /// NO-4.
    func unreadCount(_: UnreadCountRequest, context: CallContext) async throws -> UnreadCountReply {
        UnreadCountReply(unreadCount: try await log.unreadCount(of: try context.requireUser()))
    }
}
