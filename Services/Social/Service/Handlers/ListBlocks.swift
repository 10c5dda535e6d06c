internal import Bus
internal import CommonAPI
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI

extension SocialService {
    /// SO-7. A blocked person is shown whatever became of the account, unless it is gone; by the id only while they block the caller too.
    func listBlocks(_ request: ListBlocksRequest, context: CallContext) async throws -> ListBlocksReply {
        let user = try context.requireUser()
        let limit = PageSize.of(request.limit, standard: 50, most: 100)
        let scope = CursorScope("social.ListBlocks", of: user)
        let page = try await blocks.list(of: user, before: try scope.position(in: request.cursor), limit: limit + 1)
        let shown = page.prefix(limit)
        let people = try await profiles.profiles(shown.map(\.blocked), context: context)
        let blockers = try await blocks.blockers(of: user, among: shown.map(\.blocked), blocks.database)
        let next = page.count > limit ? shown.last.map { scope.text(after: PageCursor(after: $0.changedAt, $0.id)) } : nil
        return ListBlocksReply(
            blocks: shown.compactMap { block in
                guard let person = people[block.blocked], person.status != .deleted else { return nil }
                return Self.view(block, person, isHidden: blockers.contains(block.blocked))
            },
            meta: PageMeta(nextCursor: next)
        )
    }
}
