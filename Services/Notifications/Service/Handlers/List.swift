internal import Bus
internal import CommonAPI
internal import Kernel
internal import NotificationsAPI
internal import Replicas
internal import ServiceRuntime

/// NO-4: newest first, with the number of unread ones.
struct List: QueryHandler {
    let log: NotificationRepository
    let profiles: ProfileReplica

    func handle(_ request: ListRequest, _ context: CallContext) async throws -> ListReply {
        let user = try context.requireUser()
        let page = try Page<PageCursor>(request, context)
        let entries = try await log.list(of: user, before: page.position, skipping: page.skipped, limit: page.limit + 1)
        var (shown, meta) = page.entries(entries) { PageCursor(after: $0.createdAt, $0.item.id) }
        let people = try await profiles.profiles(shown.compactMap(\.item.actorID), context: context)
        for index in shown.indices {
            let actor = shown[index].item.actorID.flatMap { people[$0] }
            shown[index].item.actor = actor.flatMap { $0.isVisible ? $0.summary : nil }
        }
        return ListReply(notifications: shown.map(\.item), unreadCount: try await log.unreadCount(of: user), meta: meta)
    }
}
