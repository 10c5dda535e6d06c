internal import Bus
internal import CommonAPI
internal import Kernel
internal import Replicas
internal import Runtime
internal import SocialAPI
internal import StreaksAPI

extension SocialService {
    /// SO-3. Two queries of its own and one round trip to `streaks` for the page, side by side.
    func listFriends(_ request: ListFriendsRequest, context: CallContext) async throws -> ListFriendsReply {
        let user = try context.requireUser()
        let limit = request.limit == 0 ? 50 : Int(request.limit)
        let page = try await friendships.list(
            of: user,
            state: .accepted,
            before: try PageCursor(request.cursor),
            limit: limit + 1
        )
        let shown = page.prefix(limit)
        let others = shown.map { $0.other(than: user) }
        async let people = profiles.profiles(others, context: context)
        async let summaries = summaries(of: user, with: others.map(\.description), context)
        let (known, streaks) = (try await people, try await summaries)
        let friends = shown.compactMap { stored -> Friend? in
            guard let other = known[stored.other(than: user)], other.isVisible else { return nil }
            return Friend(
                friendshipID: stored.id.description,
                user: other.summary,
                friendsSince: stored.friendship.since,
                streak: streaks[other.userID.description].map(Self.streak)
            )
        }
        return ListFriendsReply(friends: friends, meta: Self.meta(page, limit))
    }

    /// Where the list goes on: one entry more than asked was read to know whether it does.
    static func meta(_ page: [StoredFriendship], _ limit: Int) -> PageMeta {
        guard page.count > limit, let last = page.prefix(limit).last else { return PageMeta() }
        return PageMeta(nextCursor: PageCursor(after: last.friendship.since, last.id).text)
    }
}
