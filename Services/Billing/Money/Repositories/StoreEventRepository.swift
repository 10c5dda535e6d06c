internal import Database
internal import Kernel

/// A stored event of RevenueCat.
struct StoredStoreEvent: Sendable {
    let id: String
    let body: [UInt8]
    let names: [String]
    let receivedAt: Instant
    let attempts: Int32
    /// Whose it is, once it was applied.
    let user: UserID?
}

/// Events of RevenueCat as they came, and how far they were applied (BI-1).
struct StoreEventRepository: Sendable {
    let database: Database

    private static let columns: Query = "id, body, names, received_at, attempts, user_id"

    /// Stores one that is to be applied. - Returns: whether its id was new.
    func insert(_ event: ReceivedEvent, body: [UInt8], now: Instant, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            INSERT INTO store_event (id, kind, happened_at, received_at, body, names, due_at)
            VALUES (\(event.event.id), \(event.kind), \(event.event.at), \(now), \(body), \(event.names), \(now))
            ON CONFLICT (id) DO NOTHING
            """
        ) > 0
    }

    /// Some that are to be applied, oldest first.
    func due(now: Instant, limit: Int) async throws -> [StoredStoreEvent] {
        try await database.query(
            "SELECT \(Self.columns) FROM store_event WHERE state = 1 AND due_at <= \(now) ORDER BY due_at, id LIMIT \(limit)"
        ).map(Self.event)
    }

    /// Since when the oldest is due.
    func oldestDue() async throws -> Instant? {
        try await database.query("SELECT min(due_at) FROM store_event WHERE state = 1").first?.decode(as: Instant?.self)
    }

    /// Locks one that is to be applied; nil when it has been.
    func lock(_ id: String, _ sql: Transaction) async throws -> StoredStoreEvent? {
        try await sql.query("SELECT \(Self.columns) FROM store_event WHERE id = \(id) AND state = 1 FOR UPDATE").first.map(
            Self.event
        )
    }

    /// All applied events of an original transaction, or of a pack.
    func history(_ store: String, _ key: String, _ sql: some QueryExecutor) async throws -> [StoredStoreEvent] {
        try await sql.query(
            "SELECT \(Self.columns) FROM store_event WHERE store = \(store) AND transaction_key = \(key) AND state = 2"
        ).map(Self.event)
    }

    /// It counts from now on.
    func setApplied(_ id: String, user: UserID?, store: String?, key: String?, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE store_event SET state = 2, user_id = \(user), store = \(store), transaction_key = \(key), note = NULL
            WHERE id = \(id)
            """
        )
    }

    /// The transactions that events of these users are about.
    func transactions(of users: [UserID], _ sql: Transaction) async throws -> [(store: String, key: String)] {
        try await sql.query(
            """
            SELECT DISTINCT store, transaction_key FROM store_event
            WHERE user_id = ANY(\(users)) AND state = 2 AND store IS NOT NULL AND transaction_key IS NOT NULL
            ORDER BY store, transaction_key
            """
        ).map { row in
            let (store, key) = try row.decode(as: (String.self, String.self))
            return (store: store, key: key)
        }
    }

    /// It waits until one of its names is a user.
    func setWaiting(_ id: String, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE store_event SET state = 3, note = 'no user is known by these names' WHERE id = \(id)")
    }

    /// It has no effect, for a reason.
    func setIgnored(_ id: String, note: String, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE store_event SET state = 4, note = \(note) WHERE id = \(id)")
    }

    /// It is tried again later.
    func postpone(_ id: String, until due: Instant, note: String) async throws {
        _ = try await database.execute(
            """
            UPDATE store_event SET due_at = \(due), attempts = attempts + 1, note = \(note) WHERE id = \(id) AND state = 1
            """
        )
    }

    /// Those that wait for one of these names are to be applied. - Returns: how many.
    func wake(_ names: [String], now: Instant, _ sql: Transaction) async throws -> Int {
        try await sql.execute("UPDATE store_event SET state = 1, due_at = \(now) WHERE state = 3 AND names && \(names)")
    }

    /// What REST said before about an original transaction: the newest answer says all.
    func deleteSnapshots(_ store: String, _ key: String, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "DELETE FROM store_event WHERE store = \(store) AND transaction_key = \(key) AND state = 2 AND kind = 'SNAPSHOT'"
        )
    }

    /// Deletes all that names a user, applied or not.
    static func deleteAll(naming user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            DELETE FROM store_event WHERE names && (SELECT array_agg(name) || \([user.description])
                FROM store_alias WHERE user_id = \(user))
            """
        )
    }

    /// Has one event, or all, applied again. - Returns: how many.
    static func replay(_ id: String?, now: Instant, _ database: Database) async throws -> Int {
        var condition: Query = "state <> 1"
        if let id { condition = "id = \(id) AND state <> 1" }
        return try await database.execute("UPDATE store_event SET state = 1, due_at = \(now), attempts = 0 WHERE \(condition)")
    }

    private static func event(_ row: Row) throws -> StoredStoreEvent {
        let (id, body, names, receivedAt, attempts, user) = try row.decode(
            as: (String.self, [UInt8].self, [String].self, Instant.self, Int32.self, UserID?.self)
        )
        return StoredStoreEvent(id: id, body: body, names: names, receivedAt: receivedAt, attempts: attempts, user: user)
    }
}

/// Names of users at RevenueCat, and what was moved between users.
enum StoreNameRepository {
    /// The users that these names belong to.
    static func users(_ names: [String], _ sql: some QueryExecutor) async throws -> [String: UserID] {
        var users: [String: UserID] = [:]
        for row in try await sql.query("SELECT name, user_id FROM store_alias WHERE name = ANY(\(names))") {
            let (name, user) = try row.decode(as: (String.self, UserID.self))
            users[name] = user
        }
        return users
    }

    /// Notes that names belong to a user. - Returns: those that were new.
    static func add(_ names: [String], of user: UserID, _ sql: Transaction) async throws -> [String] {
        try await sql.query(
            """
            INSERT INTO store_alias (name, user_id) SELECT name, \(user)::uuid FROM unnest(\(names)) AS n (name)
            ON CONFLICT (name) DO NOTHING RETURNING name
            """
        ).map { try $0.decode(as: String.self) }
    }

    /// Notes how RevenueCat writes ids of users.
    static func addSpellings(_ spellings: [(name: String, user: UserID)], _ sql: Transaction) async throws {
        guard !spellings.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO store_alias (name, user_id)
            SELECT s.name, s.user_id FROM unnest(\(spellings.map(\.name)), \(spellings.map(\.user))) AS s (name, user_id)
            ON CONFLICT (name) DO NOTHING
            """
        )
    }

    /// A user's id as RevenueCat writes it, each spelling once: each is a customer there. The plain one when none was seen.
    static func customers(of user: UserID, _ sql: some QueryExecutor) async throws -> [String] {
        let seen = try await sql.query(
            "SELECT name FROM store_alias WHERE user_id = \(user) AND lower(name) = \(user.description) ORDER BY name"
        ).map { try $0.decode(as: String.self) }
        return seen.isEmpty ? [user.description] : seen
    }

    /// Notes that what a user had was moved.
    static func move(_ event: String, from: UserID, to: UserID?, at: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO store_transfer (event_id, from_user, to_user, happened_at)
            VALUES (\(event), \(from), \(to), \(at))
            ON CONFLICT (event_id, from_user) DO UPDATE SET to_user = EXCLUDED.to_user
            """
        )
    }

    /// From whom something was moved to these users.
    static func sources(of users: [UserID], _ sql: some QueryExecutor) async throws -> [UserID] {
        try await sql.query("SELECT DISTINCT from_user FROM store_transfer WHERE to_user = ANY(\(users))").map {
            try $0.decode(as: UserID.self)
        }
    }

    /// What was moved away from these users.
    static func transfers(from users: [UserID], _ sql: some QueryExecutor) async throws -> [(
        event: String, from: UserID, to: UserID?, at: Instant
    )] {
        try await sql.query(
            "SELECT event_id, from_user, to_user, happened_at FROM store_transfer WHERE from_user = ANY(\(users))"
        ).map { row in
            let (event, from, to, at) = try row.decode(as: (String.self, UserID.self, UserID?.self, Instant.self))
            return (event, from, to, at)
        }
    }
}
