internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// The audit log, the newest entry first.
struct ListAdminActions: QueryHandler {
    let actions: AdminActionRepository

    func handle(_ request: ListAdminActionsRequest, _ context: CallContext) async throws -> ListAdminActionsReply {
        _ = try context.requireAdmin()
        let page = try Page<PageCursor>(request, context)
        let found = try await actions.list(
            admin: request.adminID,
            subject: request.userID,
            before: page.position.map { ($0.instant, $0.id()) },
            limit: page.limit + 1
        )
        let (shown, meta) = page.entries(found) { PageCursor(after: $0.takenAt ?? .epoch, $0.actionID) }
        return ListAdminActionsReply(actions: shown, meta: meta)
    }
}
