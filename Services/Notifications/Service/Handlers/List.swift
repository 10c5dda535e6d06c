internal import Bus
internal import CommonAPI
internal import Kernel
internal import NotificationsAPI
internal import Runtime

extension NotificationsService {
    /// NO-4: newest first, with the number of unread ones.
    func list(_ request: ListRequest, context: CallContext) async throws -> ListReply {
        let user = try context.requireUser()
        let limit = request.limit == 0 ? 50 : Int(request.limit)
        let scope = CursorScope("notifications.List", of: user)
        let page = try await log.list(of: user, before: try scope.position(in: request.cursor), limit: limit + 1)
        let shown = Array(page.prefix(limit))
        var meta = PageMeta()
        if page.count > limit, let last = shown.last, let at = last.createdAt, let id = NotificationID(last.id) {
            meta.nextCursor = scope.text(after: PageCursor(after: at, id))
        }
        return ListReply(notifications: shown, unreadCount: try await log.unreadCount(of: user), meta: meta)
    }
}
