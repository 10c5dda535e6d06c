internal import Bus
internal import CommonAPI
internal import Kernel
internal import ServiceRuntime
internal import SocialDomain

extension SocialService {
    /// A page of a user's friendships, and where the list goes on.
    struct FriendshipPage {
        let shown: ArraySlice<StoredFriendship>
        let meta: PageMeta
    }

    /// One entry more than asked is read to know whether the list goes on. `scope` is that of the list's cursors.
    func page(
        of user: UserID,
        _ state: Friendship.State,
        asker: FriendshipRepository.Asker = .either,
        limit: Int32,
        cursor: String,
        _ scope: CursorScope
    ) async throws -> FriendshipPage {
        let limit = PageSize.of(limit, standard: 50, most: 100)
        let page = try await friendships.list(
            of: user,
            state: state,
            asker: asker,
            before: try scope.position(in: cursor),
            limit: limit + 1
        )
        let shown = page.prefix(limit)
        guard page.count > limit, let last = shown.last else { return FriendshipPage(shown: shown, meta: PageMeta()) }
        let next = PageCursor(after: last.friendship.since, last.id)
        return FriendshipPage(shown: shown, meta: PageMeta(nextCursor: scope.text(after: next)))
    }
}
