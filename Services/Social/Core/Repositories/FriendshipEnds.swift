internal import Database
internal import Kernel
internal import SocialDomain

/// What becomes of a user's friendships when the account is deleted (AU-7).
enum FriendshipEnds {
    /// Ends every friendship and pending request of a user. - Returns: the friendships, in the order of their ids.
    static func endAll(of user: UserID, now: Instant, _ sql: Transaction) async throws -> [(FriendshipID, UserID, UserID)] {
        let open = [Friendship.State.pending.rawValue, Friendship.State.accepted.rawValue]
        let rows = try await sql.query(
            """
            WITH open AS (
                SELECT user_low, user_high, state FROM friendship
                WHERE (user_low = \(user) OR user_high = \(user)) AND state = ANY(\(open))
                ORDER BY user_low, user_high FOR UPDATE)
            UPDATE friendship f SET state = \(Friendship.State.ended.rawValue), since = \(now)
            FROM open WHERE f.user_low = open.user_low AND f.user_high = open.user_high
            RETURNING f.id, f.user_low, f.user_high, open.state
            """
        )
        return try rows.compactMap { row in
            let (id, low, high, state) = try row.decode(as: (FriendshipID.self, UserID.self, UserID.self, Int32.self))
            return state == Friendship.State.accepted.rawValue ? (id, low, high) : nil
        }.sorted { $0.0 < $1.0 }
    }
}
