internal import Bus
internal import CommonAPI
internal import Kernel
internal import Replicas
internal import Runtime
internal import SocialAPI
internal import StreaksAPI

extension SocialService {
    /// SO-3. One query of its own and one round trip to `streaks` for the page.
    func listFriends(_ request: ListFriendsRequest, context: CallContext) async throws -> ListFriendsReply {
        let user = try context.requireUser()
        let limit = request.limit == 0 ? 50 : Int(request.limit)
        let page = try await friendships.friends(of: user, before: try PageCursor(request.cursor), limit: limit + 1)
        let shown = page.prefix(limit)
        // Who sees all friends at once need not send their ids there and back.
        let isEverybody = request.cursor.isEmpty && page.count <= limit
        let asked = isEverybody ? [] : shown.map { $0.summary?.userID ?? $0.friend.description }
        let streaks = shown.isEmpty ? [:] : try await summaries(of: user, with: asked, context)
        let unknown = shown.filter { $0.summary == nil }.map(\.friend)
        let told = unknown.isEmpty ? [:] : try await profiles.profiles(unknown, context: context)
        var friends: [Friend] = []
        friends.reserveCapacity(shown.count)
        for entry in shown {
            let profile = told[entry.friend]
            guard let summary = entry.summary ?? profile?.summary, entry.isVisible || profile?.isVisible == true else { continue }
            friends.append(
                Friend(
                    friendshipID: entry.id.description,
                    user: summary,
                    friendsSince: entry.since,
                    streak: streaks[summary.userID].map(Self.streak)
                )
            )
        }
        guard page.count > limit, let last = shown.last else { return ListFriendsReply(friends: friends, meta: PageMeta()) }
        return ListFriendsReply(friends: friends, meta: PageMeta(nextCursor: PageCursor(after: last.since, last.id).text))
    }
}
