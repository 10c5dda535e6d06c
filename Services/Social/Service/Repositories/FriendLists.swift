internal import AuthAPI
internal import CommonAPI
internal import Database
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// A page of a friend list as this service knows it: without streaks.
struct FriendPage: Sendable {
    /// Friends that may be shown, newest first.
    fileprivate(set) var friends: [Friend] = []
    /// Friends of whom `auth` has not told yet; not among `friends`.
    fileprivate(set) var unknown: [UserID] = []
    /// Where the list goes on; nil at its end.
    fileprivate(set) var next: PageCursor?
    /// State of the list that this is a page of; nil without a friend.
    fileprivate var version: Int64?
}

/// Friend lists with their profiles (SO-3).
///
/// The first page of those asked for lately is kept in memory, and shown again after one look whether its version in `friend_list` still stands:
/// whatever changes a list gives it a new one in the same transaction, so nobody is shown a list that has changed, on any replica.
struct FriendLists: Sendable {
    let database: Database
    let avatars: AvatarLinks
    private let kept: RecentlyUsed<PageKey, FriendPage>

    /// - Parameter capacity: how many pages are kept, some 30 kB each with 50 friends; 0: none.
    init(database: Database, avatars: AvatarLinks, capacity: Int) {
        self.database = database
        self.avatars = avatars
        self.kept = RecentlyUsed(capacity: capacity)
    }

    /// The newest friends of `user`, `limit` at most.
    func firstPage(of user: UserID, limit: Int) async throws -> FriendPage {
        let key = PageKey(user: user, limit: limit)
        if let page = kept[key], page.version == (try await version(of: user)) { return page }
        let page = try await page(of: user, before: nil, limit: limit)
        // A friend of whom `auth` tells later must not be missing until then.
        if page.unknown.isEmpty, page.version != nil { kept[key] = page }
        return page
    }

    /// The friends of `user` from `cursor` on, `limit` at most, in one statement.
    func page(of user: UserID, before cursor: PageCursor?, limit: Int) async throws -> FriendPage {
        let start = cursor?.instant ?? Instant(microseconds: Int64.max / 1_000_000 * 1_000)
        let startID: FriendshipID = cursor?.id() ?? FriendshipID(high: .max, low: .max)
        let accepted = Friendship.State.accepted.rawValue
        // One more than asked tells whether the list goes on.
        let asked = limit + 1
        // Two index scans instead of one OR: each reads only the rows it returns.
        let rows = try await database.query(
            """
            SELECT f.id, f.friend, f.since, p.username, p.display_name, p.status, p.avatar_key,
                (SELECT version FROM friend_list WHERE user_id = \(user)) FROM (
                (SELECT id, user_high AS friend, since FROM friendship
                 WHERE user_low = \(user) AND state = \(accepted) AND (since, id) < (\(start), \(startID))
                 ORDER BY since DESC, id DESC LIMIT \(asked))
                UNION ALL
                (SELECT id, user_low AS friend, since FROM friendship
                 WHERE user_high = \(user) AND state = \(accepted) AND (since, id) < (\(start), \(startID))
                 ORDER BY since DESC, id DESC LIMIT \(asked))
                ORDER BY since DESC, id DESC LIMIT \(asked)) AS f
            LEFT JOIN profile_replica p ON p.user_id = f.friend
            ORDER BY f.since DESC, f.id DESC
            """
        )
        var page = FriendPage()
        page.version = try rows.first?.get(at: 7)
        page.friends.reserveCapacity(rows.count)
        for (index, row) in rows.prefix(limit).enumerated() {
            let id: FriendshipID = try row.get(at: 0)
            let friend: UserID = try row.get(at: 1)
            let since: Instant = try row.get(at: 2)
            if index == limit - 1, rows.count > limit { page.next = PageCursor(after: since, id) }
            guard let username = try row.get(at: 3, as: String?.self) else {
                page.unknown.append(friend)
                continue
            }
            guard try row.get(at: 5, as: Int32.self) == AccountStatus.active.rawValue else { continue }
            let summary = UserSummary(
                userID: friend.description,
                username: username,
                displayName: try row.get(at: 4),
                avatarURL: avatars.url(try row.get(at: 6))
            )
            page.friends.append(Friend(friendshipID: id.description, user: summary, friendsSince: since))
        }
        return page
    }

    private func version(of user: UserID) async throws -> Int64? {
        try await database.query("SELECT version FROM friend_list WHERE user_id = \(user)").first?.get(at: 0)
    }
}

private struct PageKey: Hashable {
    let user: UserID
    let limit: Int
}
