internal import Database
internal import Kernel
internal import Outbox

/// Users whose accounts are purged (AU-7).
enum PurgedUserRepository {
    /// Notes a user as purged.
    static func add(_ user: UserID, _ work: UnitOfWork) async throws {
        _ = try await work.sql.execute(
            "INSERT INTO purged_user (user_id, purged_at) VALUES (\(user), \(work.now)) ON CONFLICT DO NOTHING"
        )
    }

    /// Deletes the streaks of a user all of whose members are purged.
    static func deleteStreaksOfPurgedUsers(with user: UserID, _ sql: Transaction) async throws {
        let orphans = try await sql.query(
            """
            SELECT s.id FROM streak s WHERE s.id = ANY(\(streaks(of: user))) AND NOT EXISTS (
                SELECT FROM streak_member other LEFT JOIN purged_user p USING (user_id)
                WHERE other.streak_id = s.id AND p.user_id IS NULL)
            """
        ).map { try $0.decode(as: StreakID.self) }
        _ = try await sql.execute("DELETE FROM streak WHERE id = ANY(\(orphans))")
    }

    /// The ids of all streaks that a user is or was a member of, as an array: an index of its own for each half.
    static func streaks(of user: UserID) -> Query {
        """
        ARRAY(SELECT m.streak_id FROM streak_member m WHERE m.user_id = \(user) AND m.left_at IS NULL
            UNION ALL SELECT m.streak_id FROM streak_member m WHERE m.user_id = \(user) AND m.left_at IS NOT NULL)
        """
    }
}
