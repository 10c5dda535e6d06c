internal import CommonAPI
internal import Database
internal import Kernel
internal import Runtime
internal import SocialDomain

/// An entry of the friend list, with what is known here of the friend.
struct FriendEntry: Sendable {
    let id: FriendshipID
    let friend: UserID
    let since: Instant
    /// nil when `auth` has not told of the friend yet.
    let summary: UserSummary?
    /// Whether the friend may be shown, as far as is known.
    let isVisible: Bool
}

extension FriendshipRepository {
    /// The friends of `user` with their profiles, newest first, in one statement (SO-3).
    func friends(of user: UserID, before cursor: PageCursor?, limit: Int) async throws -> [FriendEntry] {
        let start = cursor?.instant ?? Instant(microseconds: Int64.max / 1_000_000 * 1_000)
        let startID: FriendshipID = cursor?.id() ?? FriendshipID(high: .max, low: .max)
        let accepted = Friendship.State.accepted.rawValue
        // Two index scans instead of one OR: each reads only the rows it returns.
        return try await database.query(
            """
            SELECT f.id, f.friend, f.since, p.username, p.display_name, p.status, p.avatar_key FROM (
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
        ).map { row in
            let friend: UserID = try row.get(at: 1)
            let username = try row.get(at: 3, as: String?.self)
            return FriendEntry(
                id: try row.get(at: 0),
                friend: friend,
                since: try row.get(at: 2),
                summary: try username.map {
                    UserSummary(
                        userID: friend.description,
                        username: $0,
                        displayName: try row.get(at: 4),
                        avatarURL: avatars.url(try row.get(at: 6, as: String?.self) ?? "")
                    )
                },
                isVisible: try row.get(at: 5, as: Int32?.self) == 1
            )
        }
    }
}
