internal import Bus
internal import CommonAPI
internal import Kernel
internal import NotificationsAPI
internal import ServiceRuntime

extension NotificationsService {
    /// NO-4: newest first, with the number of unread ones.
    func list(_ request: ListRequest, context: CallContext) async throws -> ListReply {
        let user = try context.requireUser()
        let limit = PageSize.of(request.limit, standard: 50, most: 100)
        let scope = CursorScope("notifications.List", of: user)
        let page = try await log.list(
            of: user,
            before: try scope.position(in: request.cursor),
            skipping: try PageSize.skipped(page: request.page, cursor: request.cursor, size: limit),
            limit: limit + 1
        )
        var shown = Array(page.prefix(limit))
        var meta = PageMeta()
        if page.count > limit, let last = shown.last, let at = last.createdAt, let id = NotificationID(last.id) {
            meta.nextCursor = scope.text(after: PageCursor(after: at, id))
        }
        let people = try await profiles.profiles(shown.compactMap { $0.actorID.flatMap { UserID($0) } }, context: context)
        for index in shown.indices {
            let actor = shown[index].actorID.flatMap { UserID($0) }.flatMap { people[$0] }
            shown[index].actor = actor.flatMap { $0.isVisible ? $0.summary : nil }
        }
        return ListReply(notifications: shown, unreadCount: try await log.unreadCount(of: user), meta: meta)
    }
}
