internal import Bus
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI

/// A user's friends with their profiles and streaks (SO-3): one query of its own and one round trip to `streaks` for the page. Without
/// streaks, and saying so, while `streaks` cannot answer.
struct ListFriends: QueryHandler {
    let lists: FriendLists
    let profiles: ProfileReplica
    let streaks: FriendStreaks

    func handle(_ request: ListFriendsRequest, _ context: CallContext) async throws -> ListFriendsReply {
        let user = try context.requireUser()
        let place = try Page<PageCursor>(request, context)
        var page = try await lists.page(of: user, at: place)
        if !page.unknown.isEmpty {
            // Asking `auth` stores what it answers; a user whom it does not know either is no friend to show.
            _ = try await profiles.profiles(page.unknown, context: context)
            page = try await lists.page(of: user, at: place)
        }
        var friends = page.friends
        if !friends.isEmpty {
            // Without the ids, which need not go there and back, when all friends are on one page.
            let isWhole = place.position == nil && page.meta.nextCursor == nil
            let known = try await streaks.summariesIfKnown(of: user, with: isWhole ? [] : page.ids, context)
            guard let known else {
                return ListFriendsReply(friends: friends, meta: page.meta, streaksReason: "STREAKS_UNAVAILABLE")
            }
            for (index, id) in page.ids.enumerated() {
                friends[index].streak = known[id].map { FriendStreak($0) }
            }
        }
        return ListFriendsReply(friends: friends, meta: page.meta)
    }
}
