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
    /// Their user ids.
    fileprivate(set) var ids: [UserID] = []
    /// Friends whose profile is not in the replica yet; not among `friends`.
    fileprivate(set) var unknown: [UserID] = []
    /// Where the list goes on.
    fileprivate(set) var meta = PageMeta()
    /// State of the list that this is a page of; nil without a friend.
    fileprivate var version: Int64?
}

/// Friend lists with their profiles (SO-3).
///
/// The first pages of the lists that were read most recently are kept in memory. A kept page is shown again only after its version was
/// compared with that in `friend_list`: every change of a list gives it a new version in the same transaction, so no replica shows a list
/// that has changed.
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

    /// The friends of `user` on a page, newest first.
    func page(of user: UserID, at place: Page<PageCursor>) async throws -> FriendPage {
        guard place.position == nil else { return try await load(user, place) }
        let key = PageKey(user: user, limit: place.limit)
        if let page = kept[key], page.version == (try await version(of: user)) { return page }
        let page = try await load(user, place)
        // A friend whose profile arrives later must not be missing until then.
        if page.unknown.isEmpty, page.version != nil { kept[key] = page }
        return page
    }

    private func version(of user: UserID) async throws -> Int64? {
        try await database.lookup("SELECT version FROM friend_list WHERE user_id = \(user)").first?.get(at: 0)
    }

    private func load(_ user: UserID, _ place: Page<PageCursor>) async throws -> FriendPage {
        let rows = try await database.lookup(Self.query(user, place))
        var page = FriendPage()
        page.version = try rows.first?.get(at: 7)
        let (shown, meta) = place.entries(try rows.map { try FriendRow($0) }) { PageCursor(after: $0.since, $0.id) }
        page.meta = meta
        page.friends.reserveCapacity(shown.count)
        page.ids.reserveCapacity(shown.count)
        for row in shown {
            guard let profile = row.profile else {
                page.unknown.append(row.friend)
                continue
            }
            guard profile.status == AccountStatus.active.rawValue else { continue }
            let summary = UserSummary(
                userID: row.friend,
                username: profile.username,
                displayName: profile.displayName,
                avatarURL: avatars.url(profile.avatarKey)
            )
            page.friends.append(Friend(friendshipID: row.id, user: summary, friendsSince: row.since))
            page.ids.append(row.friend)
        }
        return page
    }

    /// One statement. Two index scans instead of one OR: each reads only the rows it returns.
    private static func query(_ user: UserID, _ place: Page<PageCursor>) -> Query {
        let start = place.position?.instant ?? Instant(microseconds: Int64.max / 1_000_000 * 1_000)
        let startID: FriendshipID = place.position?.id() ?? FriendshipID(high: .max, low: .max)
        let accepted = Friendship.State.accepted.rawValue
        let limit = place.limit + 1
        return """
            SELECT f.id, f.friend, f.since, p.username, p.display_name, p.status, p.avatar_key,
                (SELECT version FROM friend_list WHERE user_id = \(user)) FROM (
                (SELECT id, user_high AS friend, since FROM friendship
                 WHERE user_low = \(user) AND state = \(accepted) AND (since, id) < (\(start), \(startID))
                 ORDER BY since DESC, id DESC LIMIT \(limit))
                UNION ALL
                (SELECT id, user_low AS friend, since FROM friendship
                 WHERE user_high = \(user) AND state = \(accepted) AND (since, id) < (\(start), \(startID))
                 ORDER BY since DESC, id DESC LIMIT \(limit))
                ORDER BY since DESC, id DESC LIMIT \(limit)) AS f
            LEFT JOIN profile_replica p ON p.user_id = f.friend
            ORDER BY f.since DESC, f.id DESC
            """
    }
}

/// A row of the statement.
private struct FriendRow {
    struct Profile {
        let username: String
        let displayName: String
        let status: Int32
        let avatarKey: String
    }

    let id: FriendshipID
    let friend: UserID
    let since: Instant
    /// nil while the replica has none.
    let profile: Profile?

    init(_ row: Row) throws {
        id = try row.get(at: 0)
        friend = try row.get(at: 1)
        since = try row.get(at: 2)
        profile = try row.get(at: 3, as: String?.self).map { username in
            Profile(
                username: username,
                displayName: try row.get(at: 4),
                status: try row.get(at: 5),
                avatarKey: try row.get(at: 6)
            )
        }
    }
}

private struct PageKey: Hashable {
    let user: UserID
    let limit: Int
}
