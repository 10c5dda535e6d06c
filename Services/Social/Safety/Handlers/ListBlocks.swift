internal import Bus
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialCore

/// The users whom the caller blocks, newest first (SO-7). A suspended or banned user is in the list, a deleted one is not; a user who blocks
/// the caller too is shown by the id only.
struct ListBlocks: QueryHandler {
    let blocks: BlockRepository
    let profiles: ProfileReplica

    func handle(_ request: ListBlocksRequest, _ context: CallContext) async throws -> ListBlocksReply {
        let user = try context.requireUser()
        let page = try Page<PageCursor>(request, context)
        let found = try await blocks.list(of: user, before: page.position, limit: page.limit + 1)
        let (shown, meta) = page.entries(found) { PageCursor(after: $0.changedAt, $0.id) }
        let people = try await profiles.profiles(shown.map(\.blocked), context: context)
        let blockers = try await blocks.blockers(of: user, among: shown.map(\.blocked), blocks.database)
        return ListBlocksReply(
            blocks: shown.compactMap { block in
                guard let person = people[block.blocked], person.status != .deleted else { return nil }
                return Block(block, person, isHidden: blockers.contains(block.blocked))
            },
            meta: meta
        )
    }
}
