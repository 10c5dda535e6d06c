internal import Database
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI

/// A medal that was asked for.
struct StoredMedal: Sendable {
    let id: MedalID
    let user: UserID
    var status: MedalStatus
    var address: MedalAddress
    var requestedAt: Instant
    var decidedAt: Instant?
    var decidedBy: UserID?
    var trackingCode: String?
    var note: String?
}

/// Medals that users have asked for: one each.
enum MedalRepository {
    private static let columns: Query = """
        id, user_id, status, name, line1, line2, city, region, postal_code, country, requested_at, decided_at, decided_by,
        tracking_code, note
        """

    static func find(of user: UserID, _ sql: some QueryExecutor) async throws -> StoredMedal? {
        try await sql.query("SELECT \(columns) FROM medal WHERE user_id = \(user)").first.map(medal)
    }

    /// A user's, locked.
    static func lock(of user: UserID, _ sql: Transaction) async throws -> StoredMedal? {
        try await sql.query("SELECT \(columns) FROM medal WHERE user_id = \(user) FOR UPDATE").first.map(medal)
    }

    /// One, locked.
    static func lock(_ id: MedalID, _ sql: Transaction) async throws -> StoredMedal? {
        try await sql.query("SELECT \(columns) FROM medal WHERE id = \(id) FOR UPDATE").first.map(medal)
    }

    /// Those of a status, oldest first.
    static func list(_ status: MedalStatus, after position: PageCursor?, limit: Int, _ sql: some QueryExecutor) async throws
        -> [StoredMedal]
    {
        try await sql.query(listQuery(status, after: position, limit: limit)).map(medal)
    }

    static func listQuery(_ status: MedalStatus, after position: PageCursor?, limit: Int) -> Query {
        guard let position else {
            return "SELECT \(columns) FROM medal WHERE status = \(status.rawValue) ORDER BY requested_at, id LIMIT \(limit)"
        }
        return """
            SELECT \(columns) FROM medal
            WHERE status = \(status.rawValue) AND (requested_at, id) > (\(position.instant), \(position.id() as MedalID))
            ORDER BY requested_at, id LIMIT \(limit)
            """
    }

    static func store(_ medal: StoredMedal, _ sql: Transaction) async throws {
        let address = medal.address
        _ = try await sql.execute(
            """
            INSERT INTO medal (\(columns))
            VALUES (\(medal.id), \(medal.user), \(medal.status.rawValue), \(address.name), \(address.line1), \(address.line2),
                \(address.city), \(address.region), \(address.postalCode), \(address.country), \(medal.requestedAt),
                \(medal.decidedAt), \(medal.decidedBy), \(medal.trackingCode), \(medal.note))
            ON CONFLICT (id) DO UPDATE SET status = EXCLUDED.status, name = EXCLUDED.name, line1 = EXCLUDED.line1,
                line2 = EXCLUDED.line2, city = EXCLUDED.city, region = EXCLUDED.region, postal_code = EXCLUDED.postal_code,
                country = EXCLUDED.country, requested_at = EXCLUDED.requested_at, decided_at = EXCLUDED.decided_at,
                decided_by = EXCLUDED.decided_by, tracking_code = EXCLUDED.tracking_code, note = EXCLUDED.note
            """
        )
    }

    private static func medal(_ row: Row) throws -> StoredMedal {
        StoredMedal(
            id: try row.get("id"),
            user: try row.get("user_id"),
            status: MedalStatus(rawValue: try row.get("status", as: Int32.self)),
            address: MedalAddress(
                name: try row.get("name"),
                line1: try row.get("line1"),
                line2: try row.get("line2", as: String?.self),
                city: try row.get("city"),
                region: try row.get("region", as: String?.self),
                postalCode: try row.get("postal_code", as: String?.self),
                country: try row.get("country")
            ),
            requestedAt: try row.get("requested_at"),
            decidedAt: try row.get("decided_at", as: Instant?.self),
            decidedBy: try row.get("decided_by", as: UserID?.self),
            trackingCode: try row.get("tracking_code", as: String?.self),
            note: try row.get("note", as: String?.self)
        )
    }
}
