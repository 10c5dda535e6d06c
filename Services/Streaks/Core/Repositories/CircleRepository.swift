internal import Database
internal import Kernel
internal import SocialAPI

/// The circle replica's tables (D13).
enum CircleRepository {
    /// Stores a state with its members. - Returns: false when a version as new was known.
    static func store(_ circle: ReplicatedCircle, _ sql: Transaction) async throws -> Bool {
        let stored = try await sql.execute(
            """
            INSERT INTO circle_replica AS known (circle_id, version, name, deleted)
            VALUES (\(circle.id), \(circle.version), \(circle.name), \(circle.isDeleted))
            ON CONFLICT (circle_id) DO UPDATE SET version = EXCLUDED.version, name = EXCLUDED.name, deleted = EXCLUDED.deleted
            WHERE known.version < EXCLUDED.version
            """
        )
        guard stored == 1 else { return false }
        let members = circle.members
        _ = try await sql.execute(
            "DELETE FROM circle_member_replica WHERE circle_id = \(circle.id) AND NOT user_id = ANY(\(members.map(\.user)))"
        )
        guard !members.isEmpty else { return true }
        _ = try await sql.execute(
            """
            INSERT INTO circle_member_replica AS known (circle_id, user_id, role, joined_at)
            SELECT \(circle.id), member.* FROM unnest(\(members.map(\.user)), \(members.map(\.role.rawValue)),
                \(members.map(\.joinedAt))) AS member (user_id, role, joined_at)
            ON CONFLICT (circle_id, user_id) DO UPDATE SET role = EXCLUDED.role, joined_at = EXCLUDED.joined_at
            WHERE (known.role, known.joined_at) IS DISTINCT FROM (EXCLUDED.role, EXCLUDED.joined_at)
            """
        )
        return true
    }

    /// Circles with their members, deleted ones too, in the order of their ids.
    static func find(_ ids: [CircleID], _ sql: any QueryExecutor) async throws -> [ReplicatedCircle] {
        let rows = try await sql.query(
            """
            SELECT c.circle_id, c.version, c.name, c.deleted, m.user_id, m.role, m.joined_at FROM circle_replica c
            LEFT JOIN circle_member_replica m ON m.circle_id = c.circle_id
            WHERE c.circle_id = ANY(\(ids)) ORDER BY c.circle_id, m.joined_at, m.user_id
            """
        )
        var circles: [ReplicatedCircle] = []
        for row in rows {
            let id: CircleID = try row.get(at: 0)
            var members = circles.last?.id == id ? circles.removeLast().members : []
            if let user = try row.get(at: 4, as: UserID?.self) {
                let role = CircleRole(rawValue: try row.get(at: 5))
                members.append(ReplicatedCircle.Member(user: user, role: role, joinedAt: try row.get(at: 6)))
            }
            circles.append(
                ReplicatedCircle(
                    id: id,
                    version: try row.get(at: 1),
                    name: try row.get(at: 2),
                    isDeleted: try row.get(at: 3),
                    members: members
                )
            )
        }
        return circles
    }

    static func ids(of users: [UserID], _ sql: any QueryExecutor) async throws -> [UserID: [CircleID]] {
        let rows = try await sql.query(
            "SELECT user_id, circle_id FROM circle_member_replica WHERE user_id = ANY(\(users)) ORDER BY user_id, circle_id"
        )
        return try rows.reduce(into: [:]) { circles, row in
            let (user, circle) = try row.decode(as: (UserID.self, CircleID.self))
            circles[user, default: []].append(circle)
        }
    }

    static func isLoaded(_ sql: any QueryExecutor) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM circle_snapshot").isEmpty
    }

    static func noteLoaded(_ database: Database) async throws {
        try await database.execute("INSERT INTO circle_snapshot (loaded_at) VALUES (clock_timestamp()) ON CONFLICT DO NOTHING")
    }
}
