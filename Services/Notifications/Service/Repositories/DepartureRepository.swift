internal import Database
internal import Kernel

/// What becomes of the log when an account goes (AU-7), and what its owner takes with them (AU-10).
///
/// A new table with something of a person in it belongs into `erase` and `export`.
enum DepartureRepository {
    /// Removes a person's log, and the entries in others' logs that name them.
    static func erase(_ user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM notification WHERE user_id = \(user)")
        _ = try await sql.execute("DELETE FROM notification WHERE actor_id = \(user)")
    }

    /// What this service holds about a person: a JSON object. The texts are what the person was told, others' names in them included, but
    /// not of those whom a block hides (SO-7): they come back with its end.
    static func export(_ user: UserID, _ database: Database) async throws -> String {
        let rows = try await database.query(
            """
            SELECT jsonb_build_object('notifications', coalesce(jsonb_agg(jsonb_build_object(
                'id', id, 'type', kind, 'title', title, 'body', body, 'actor_id', actor_id, 'streak_id', streak_id,
                'friendship_id', friendship_id, 'created_at', created_at, 'read_at', read_at) ORDER BY created_at, id), '[]'))::text
            FROM notification WHERE user_id = \(user) AND \(NotificationRepository.isShown(to: user))
            """
        )
        guard let json = try rows.first?.decode(as: String.self) else { throw ServiceError.internal }
        return json
    }
}
