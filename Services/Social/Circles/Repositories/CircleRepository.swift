internal import Database
internal import Kernel
internal import ServiceRuntime
internal import SocialDomain

/// A circle as it is stored.
struct StoredCircle: Sendable {
    let id: CircleID
    var name: String
    var description: String?
    var version: Int64
    let createdAt: Instant
    var changedAt: Instant
    var isDeleted: Bool
    var members: CircleMembers
}

/// An entry of a user's list of circles.
struct ListedCircle: Sendable {
    let circle: StoredCircle
    let memberCount: Int32
    let role: CircleMembers.Role
    let joinedAt: Instant
}

/// Circles and who is in them (SO-10).
struct CircleRepository: Sendable {
    let database: Database

    private static let columns: Query =
        "c.id, c.name, c.description, c.version, c.created_at, c.changed_at, c.deleted_at IS NOT NULL"
    private static let columnCount = 7

    /// One change of a user's memberships at a time, so that their limit holds across replicas. Before any circle is locked.
    func lockUser(_ user: UserID, _ sql: Transaction) async throws {
        try await sql.lock(named: "circles of \(user)")
    }

    /// How many circles a user is in.
    func count(of user: UserID, _ sql: Transaction) async throws -> Int {
        try await sql.query("SELECT count(*) FROM circle_member WHERE user_id = \(user)").first?.decode(as: Int.self) ?? 0
    }

    /// Counts one more circle that a user, who is locked, makes or joins on a date. - Returns: how many of the date it makes.
    func enter(_ user: UserID, on date: CalendarDate, _ sql: Transaction) async throws -> Int {
        try await sql.query(
            """
            INSERT INTO circle_entry AS known (user_id, on_date, entries) VALUES (\(user), \(date), 1)
            ON CONFLICT (user_id) DO UPDATE SET on_date = EXCLUDED.on_date,
                entries = CASE WHEN known.on_date = EXCLUDED.on_date THEN known.entries + 1 ELSE 1 END
            RETURNING entries
            """
        ).first?.get(at: 0) ?? 0
    }

    /// The circles that a user is in, in the order in which they are locked.
    func ids(of user: UserID, _ sql: Transaction) async throws -> [CircleID] {
        try await sql.query("SELECT circle_id FROM circle_member WHERE user_id = \(user) ORDER BY circle_id")
            .map { try $0.decode(as: CircleID.self) }
    }

    /// Stores a new circle.
    func insert(_ circle: StoredCircle, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO circle (id, name, description, version, created_at, changed_at)
            VALUES (\(circle.id), \(circle.name), \(circle.description), \(circle.version), \(circle.createdAt), \(circle.changedAt))
            """
        )
        try await storeMembers(circle.members.all, of: circle.id, sql)
    }

    /// A circle with its members, locked; nil when there is none, or none any more. Everything that changes a circle, its members or its
    /// invites locks it first.
    func lock(_ id: CircleID, _ sql: Transaction) async throws -> StoredCircle? {
        let rows = try await sql.query(
            "SELECT \(Self.columns) FROM circle c WHERE c.id = \(id) AND c.deleted_at IS NULL FOR UPDATE"
        )
        return try await withMembers(rows, sql).first
    }

    /// A circle with its members; nil when there is none, or none any more.
    func find(_ id: CircleID) async throws -> StoredCircle? {
        let rows = try await database.query("SELECT \(Self.columns) FROM circle c WHERE c.id = \(id) AND c.deleted_at IS NULL")
        return try await withMembers(rows, database).first
    }

    /// Stores what a locked circle has become.
    func save(_ circle: StoredCircle, before: CircleMembers, _ sql: Transaction) async throws {
        let deletedAt = circle.isDeleted ? circle.changedAt : nil
        _ = try await sql.execute(
            """
            UPDATE circle SET name = \(circle.name), description = \(circle.description), version = \(circle.version),
                changed_at = \(circle.changedAt), deleted_at = \(deletedAt) WHERE id = \(circle.id)
            """
        )
        let (old, new) = (Set(before.all), Set(circle.members.all))
        let gone = before.all.map(\.user).filter { circle.members[$0] == nil }
        if !gone.isEmpty {
            _ = try await sql.execute("DELETE FROM circle_member WHERE circle_id = \(circle.id) AND user_id = ANY(\(gone))")
        }
        // Who is the owner no longer first: a circle has one at a time.
        try await storeMembers(new.subtracting(old).sorted { $0.role.rawValue > $1.role.rawValue }, of: circle.id, sql)
        if circle.isDeleted { _ = try await sql.execute("DELETE FROM circle_invite WHERE circle_id = \(circle.id)") }
    }

    private func storeMembers(_ members: [CircleMembers.Member], of id: CircleID, _ sql: Transaction) async throws {
        for member in members {
            _ = try await sql.execute(
                """
                INSERT INTO circle_member (circle_id, user_id, role, joined_at)
                VALUES (\(id), \(member.user), \(member.role.rawValue), \(member.joinedAt))
                ON CONFLICT (circle_id, user_id) DO UPDATE SET role = EXCLUDED.role, joined_at = EXCLUDED.joined_at
                """
            )
        }
    }

    /// The circles that a user is in, the one joined last first; without their members.
    func list(of user: UserID, before cursor: PageCursor?, limit: Int) async throws -> [ListedCircle] {
        let start = cursor?.instant ?? Instant(microseconds: Int64.max / 1_000_000 * 1_000)
        let startID: CircleID = cursor?.id() ?? CircleID(high: .max, low: .max)
        return try await database.query(
            """
            SELECT \(Self.columns), m.role, m.joined_at,
                (SELECT count(*) FROM circle_member o WHERE o.circle_id = m.circle_id)::int
            FROM circle_member m JOIN circle c ON c.id = m.circle_id
            WHERE m.user_id = \(user) AND (m.joined_at, m.circle_id) < (\(start), \(startID))
            ORDER BY m.joined_at DESC, m.circle_id DESC LIMIT \(limit)
            """
        ).map { row in
            ListedCircle(
                circle: try Self.circle(row, []),
                memberCount: try row.get(at: Self.columnCount + 2),
                role: try Self.role(try row.get(at: Self.columnCount)),
                joinedAt: try row.get(at: Self.columnCount + 1)
            )
        }
    }

    /// The members that a reader may see, in the order of joining: none whom a block hides, either way (SO-7).
    func members(of id: CircleID, seenBy reader: UserID, after cursor: PageCursor?, limit: Int) async throws
        -> [CircleMembers.Member]
    {
        let start = cursor?.instant ?? Instant.writable.lowerBound
        let startID: UserID = cursor?.id() ?? UserID(high: 0, low: 0)
        return try await database.query(
            """
            SELECT m.user_id, m.role, m.joined_at FROM circle_member m
            WHERE m.circle_id = \(id) AND (m.joined_at, m.user_id) > (\(start), \(startID))
              AND NOT EXISTS (SELECT 1 FROM block b WHERE b.active AND b.blocker = \(reader) AND b.blocked = m.user_id)
              AND NOT EXISTS (SELECT 1 FROM block b WHERE b.active AND b.blocker = m.user_id AND b.blocked = \(reader))
            ORDER BY m.joined_at, m.user_id LIMIT \(limit)
            """
        ).map(Self.member)
    }

    /// Circles after an id, deleted ones too, in the order of ids, or only one.
    func page(after: CircleID, limit: Int, only id: CircleID?) async throws -> [StoredCircle] {
        let condition: Query = id.map { "c.id = \($0)" } ?? "c.id > \(after)"
        let rows = try await database.query(
            "SELECT \(Self.columns) FROM circle c WHERE \(condition) ORDER BY c.id LIMIT \(limit)"
        )
        return try await withMembers(rows, database)
    }

    private func withMembers(_ rows: [Row], _ sql: some QueryExecutor) async throws -> [StoredCircle] {
        guard !rows.isEmpty else { return [] }
        let ids = try rows.map { try $0.get(at: 0, as: CircleID.self) }
        var members: [CircleID: [CircleMembers.Member]] = [:]
        for row in try await sql.query(
            "SELECT user_id, role, joined_at, circle_id FROM circle_member WHERE circle_id = ANY(\(ids))"
        ) {
            members[try row.get(at: 3), default: []].append(try Self.member(row))
        }
        return try rows.map { row in try Self.circle(row, members[try row.get(at: 0)] ?? []) }
    }

    private static func circle(_ row: Row, _ members: [CircleMembers.Member]) throws -> StoredCircle {
        StoredCircle(
            id: try row.get(at: 0),
            name: try row.get(at: 1),
            description: try row.get(at: 2),
            version: try row.get(at: 3),
            createdAt: try row.get(at: 4),
            changedAt: try row.get(at: 5),
            isDeleted: try row.get(at: 6),
            members: CircleMembers(members)
        )
    }

    private static func member(_ row: Row) throws -> CircleMembers.Member {
        CircleMembers.Member(user: try row.get(at: 0), role: try role(try row.get(at: 1)), joinedAt: try row.get(at: 2))
    }

    private static func role(_ stored: Int32) throws -> CircleMembers.Role {
        guard let role = CircleMembers.Role(rawValue: stored) else { throw ServiceError.internal }
        return role
    }
}
