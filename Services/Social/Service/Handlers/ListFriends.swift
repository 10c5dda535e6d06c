internal import Bus
internal import Kernel
internal import Replicas
internal import SocialAPI
internal import StreaksAPI

extension SocialService {
    /// SO-3. Two queries of its own and one round trip to `streaks` for the page, side by side.
    func listFriends(_ request: ListFriendsRequest, context: CallContext) async throws -> ListFriendsReply {
        let user = try context.requireUser()
        let page = try await page(of: user, .accepted, limit: request.limit, cursor: request.cursor)
        let others = page.shown.map { $0.other(than: user) }
        async let people = profiles.profiles(others, context: context)
        async let summaries = summaries(of: user, with: others.map(\.description), context)
        let (known, streaks) = (try await people, try await summaries)
        let friends = page.shown.compactMap { stored -> Friend? in
            guard let other = known[stored.other(than: user)], other.isVisible else { return nil }
            return Friend(
                friendshipID: stored.id.description,
                user: other.summary,
                friendsSince: stored.friendship.since,
                streak: streaks[other.userID.description].map(Self.streak)
            )
        }
        return ListFriendsReply(friends: friends, meta: page.meta)
    }
}
