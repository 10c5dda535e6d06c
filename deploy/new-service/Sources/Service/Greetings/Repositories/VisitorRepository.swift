import ServiceKit

/// A user as the service knows them.
struct Visitor: Sendable {
    let greetings: Int64
    /// Empty as long as `auth` has not emitted it.
    let name: String
}

/// Users who were greeted, or whose names are known. The only place with SQL of the table: values become parameters.
struct VisitorRepository: Sendable {
    /// Counts one more greeting, and locks the row until the transaction ends.
    func greet(_ user: UserID, _ sql: Transaction) async throws -> Visitor {
        let rows = try await sql.query(
            """
            INSERT INTO visitor (user_id, greetings) VALUES (\(user), 1)
            ON CONFLICT (user_id) DO UPDATE SET greetings = visitor.greetings + 1
            RETURNING greetings, display_name
            """
        )
        guard let row = rows.first else { throw ServiceError.internal }
        return Visitor(greetings: try row.get(at: 0), name: try row.get(at: 1))
    }

    /// Stores a name unless a newer one is known.
    func rename(_ user: UserID, _ name: String, version: Int64, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO visitor (user_id, display_name, profile_version) VALUES (\(user), \(name), \(version))
            ON CONFLICT (user_id) DO UPDATE SET display_name = \(name), profile_version = \(version)
            WHERE visitor.profile_version < \(version)
            """
        )
    }

    func delete(_ user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM visitor WHERE user_id = \(user)")
    }
}
