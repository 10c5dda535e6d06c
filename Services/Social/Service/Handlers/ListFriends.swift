internal import Bus
internal import CommonAPI
internal import Kernel
internal import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI

extension SocialService {
    /// SO-3. One query of its own and one round trip to `streaks` for the page.
    func listFriends(_ request: ListFriendsRequest, context: CallContext) async throws -> ListFriendsReply {
        let user = try context.requireUser()
        let scope = CursorScope("social.ListFriends", of: user)
        let cursor: PageCursor? = try scope.position(in: request.cursor)
        let limit = PageSize.of(request.limit, standard: 50, most: 100)
        var page = try await friendPage(of: user, before: cursor, limit: limit)
        if !page.unknown.isEmpty {
            // Asking `auth` stores what it answers; whom it does not know either is no friend to show.
            _ = try await profiles.profiles(page.unknown, context: context)
            page = try await friendPage(of: user, before: cursor, limit: limit)
        }
        var friends = page.friends
        if !friends.isEmpty {
            // Who sees all friends at once need not send their ids there and back.
            let isEverybody = cursor == nil && page.next == nil
            let asked = isEverybody ? [] : friends.compactMap { $0.user?.userID }
            let streaks = try await summaries(of: user, with: asked, context)
            for index in friends.indices {
                friends[index].streak = friends[index].user.flatMap { streaks[$0.userID] }.map(Self.streak)
            }
        }
        return ListFriendsReply(friends: friends, meta: PageMeta(nextCursor: page.next.map { scope.text(after: $0) }))
    }

    private func friendPage(of user: UserID, before cursor: PageCursor?, limit: Int) async throws -> FriendPage {
        guard let cursor else { return try await friendLists.firstPage(of: user, limit: limit) }
        return try await friendLists.page(of: user, before: cursor, limit: limit)
    }
}
