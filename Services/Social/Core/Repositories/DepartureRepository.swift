package import Database
package import Kernel
internal import SocialDomain

/// What becomes of a person's friendships when the account goes (AU-7), and what they take with them (AU-10).
///
/// A new table with something of a person in it belongs into `erase` and `export`.
package enum DepartureRepository {
    /// Ends every friendship and pending request of a person. - Returns: the friendships, in the order of their ids.
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

    /// Removes everything that is kept of a person, for good. Profile and search were emptied when the account was deleted.
    static func erase(_ user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM friendship WHERE user_low = \(user) OR user_high = \(user)")
        // After its friendships: their end renews it.
        _ = try await sql.execute("DELETE FROM friend_list WHERE user_id = \(user)")
        _ = try await sql.execute("DELETE FROM sent_request WHERE sender = \(user)")
        _ = try await sql.execute("DELETE FROM nudge WHERE from_user = \(user) OR to_user = \(user)")
        _ = try await sql.execute("DELETE FROM block WHERE blocker = \(user) OR blocked = \(user)")
        _ = try await sql.execute("DELETE FROM report WHERE reporter = \(user) OR owner = \(user)")
    }

    /// What this service holds about a person: a JSON object. Others appear with their ids only.
    package static func export(_ user: UserID, _ database: Database) async throws -> String {
        let rows = try await database.query(
            """
            SELECT jsonb_build_object(
                'friendships', coalesce((SELECT jsonb_agg(jsonb_build_object(
                    'friendship_id', id, 'user_id', CASE WHEN user_low = \(user) THEN user_high ELSE user_low END,
                    'status', CASE state WHEN 1 THEN 'pending' WHEN 2 THEN 'accepted' WHEN 3 THEN 'declined' WHEN 4 THEN 'withdrawn'
                        ELSE 'ended' END,
                    'direction', CASE WHEN requester = \(user) THEN 'outgoing' ELSE 'incoming' END,
                    'created_at', created_at, 'since', since) ORDER BY created_at, id)
                    FROM friendship WHERE (user_low = \(user) OR user_high = \(user)) AND state <> 0), '[]'),
                'blocks', coalesce((SELECT jsonb_agg(jsonb_build_object('block_id', id, 'user_id', blocked, 'since', changed_at)
                    ORDER BY changed_at, id) FROM block WHERE blocker = \(user) AND active), '[]'),
                'nudges', coalesce((SELECT jsonb_agg(jsonb_build_object('user_id', to_user, 'at', nudged_at) ORDER BY nudged_at)
                    FROM nudge WHERE from_user = \(user) AND nudged_at IS NOT NULL), '[]'),
                'reports', coalesce((SELECT jsonb_agg(jsonb_build_object('report_id', id, 'subject_id', subject_id,
                    'description', description, 'created_at', created_at) ORDER BY created_at, id)
                    FROM report WHERE reporter = \(user)), '[]'))::text
            """
        )
        guard let json = try rows.first?.decode(as: String.self) else { throw ServiceError.internal }
        return json
    }
}
