internal import Bus
internal import CommonAPI
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import NotificationsDomain
internal import ServiceRuntime

/// NO-4: newest first, with the number of unread ones.
struct List: QueryHandler {
    let log: NotificationRepository
    let views: EntryViews

    func handle(_ request: ListRequest, _ context: CallContext) async throws -> ListReply {
        let user = try context.requireUser()
        let page = try Page<PageCursor>(request, context)
        let filter = NotificationRepository.Filter(
            kind: NotificationKind(rawValue: request.type.rawValue),
            isUnread: request.unread
        )
        let entries = try await log.list(
            of: user,
            filter,
            before: page.position,
            skipping: page.skipped,
            limit: page.limit + 1
        )
        let (shown, meta) = page.entries(entries) { PageCursor(after: $0.createdAt, $0.id) }
        let language = try await views.language(request.locale, of: user, context)
        return ListReply(
            notifications: try await views.items(shown, of: user, in: language, context),
            unreadCount: try await log.unreadCount(of: user),
            meta: meta
        )
    }
}
