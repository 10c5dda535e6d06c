internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// The circles that the caller is in, the one joined last first.
struct ListCircles: QueryHandler {
    let circles: CircleRepository

    func handle(_ request: ListCirclesRequest, _ context: CallContext) async throws -> ListCirclesReply {
        let user = try context.requireUser()
        let page = try Page<PageCursor>(request, context)
        let found = try await circles.list(of: user, before: page.position, limit: page.limit + 1)
        let (shown, meta) = page.entries(found) { PageCursor(after: $0.joinedAt, $0.circle.id) }
        return ListCirclesReply(
            circles: shown.map { Circle($0.circle, role: $0.role, joinedAt: $0.joinedAt, count: $0.memberCount) },
            meta: meta
        )
    }
}
