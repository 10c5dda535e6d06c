package import CommonAPI
package import Database
package import Kernel

/// Events for open apps (NO-7).
package struct LiveEventRepository: Sendable {
    /// An event with its user.
    struct Stored: Sendable {
        let user: UserID
        let event: StreamEvent
    }

    let database: Database

    package init(database: Database) { self.database = database }

    /// Appends events, each with the next id of its user. The counters stay locked until the commit, so ids become visible in their order;
    /// they are locked in the order of the users' ids, so that no two calls wait for each other.
    static func append(_ events: [LiveEvent], now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            WITH event AS (
                SELECT user_id, name, data, row_number() OVER (PARTITION BY user_id ORDER BY place) AS number
                FROM unnest(\(events.map(\.user)), \(events.map(\.name)), \(events.map(\.data)))
                    WITH ORDINALITY AS event (user_id, name, data, place)
            ), total AS (
                SELECT user_id, count(*) AS events FROM event GROUP BY user_id
            ), counter AS (
                INSERT INTO live_user AS known (user_id, last_id) SELECT user_id, events FROM total ORDER BY user_id
                ON CONFLICT (user_id) DO UPDATE SET last_id = known.last_id + EXCLUDED.last_id
                RETURNING user_id, last_id
            )
            INSERT INTO live_event (user_id, id, name, data, created_at)
            SELECT user_id, last_id - events + number, name, data, \(now)
            FROM event JOIN total USING (user_id) JOIN counter USING (user_id)
            """
        )
    }

    /// Takes so many ids of each user's, and locks the users' counters until the transaction ends, in the order of the users' ids.
    ///
    /// - Returns: the last id of each before these.
    static func reserve(_ numbers: [UserID: Int], _ sql: Transaction) async throws -> [UserID: Int64] {
        let sorted = numbers.sorted { $0.key < $1.key }
        let rows = try await sql.query(
            """
            INSERT INTO live_user AS known (user_id, last_id)
            SELECT user_id, events FROM unnest(\(sorted.map(\.key)), \(sorted.map(\.value))) AS wanted (user_id, events) ORDER BY user_id
            ON CONFLICT (user_id) DO UPDATE SET last_id = known.last_id + EXCLUDED.last_id
            RETURNING user_id, last_id
            """
        )
        return Dictionary(
            try rows.map { row in
                let (user, last) = try row.decode(as: (UserID.self, Int64.self))
                return (user, last - Int64(numbers[user] ?? 0))
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Inserts events under ids that `reserve` has taken.
    static func insert(_ events: [NumberedLiveEvent], now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO live_event (user_id, id, name, data, created_at)
            SELECT user_id, id, name, data, \(now)
            FROM unnest(\(events.map(\.event.user)), \(events.map(\.id)), \(events.map(\.event.name)), \(events.map(\.event.data)))
                AS event (user_id, id, name, data)
            """
        )
    }

    /// The user's newest id, locked: no event is appended, and no other stream of the user opened, until the transaction ends.
    package static func lock(_ user: UserID, _ sql: Transaction) async throws -> Int64 {
        try await sql.query(
            """
            INSERT INTO live_user AS known (user_id, last_id) VALUES (\(user), 0)
            ON CONFLICT (user_id) DO UPDATE SET last_id = known.last_id RETURNING last_id
            """
        ).first?.decode(as: Int64.self) ?? 0
    }

    /// A user's events after an id, in order.
    ///
    /// - Parameter limit: most rows.
    package static func events(of user: UserID, after id: Int64, limit: Int, _ sql: Transaction) async throws -> [StreamEvent] {
        try await sql.query(
            "SELECT id, name, data FROM live_event WHERE user_id = \(user) AND id > \(id) ORDER BY id LIMIT \(limit)"
        ).map { row in
            let (id, name, data) = try row.decode(as: (Int64.self, String.self, String.self))
            return StreamEvent(id: id, name: name, data: data)
        }
    }

    /// Events that the bus may not have, those of a user in their order.
    func unpublished(limit: Int) async throws -> [Stored] {
        try await database.query(
            "SELECT user_id, id, name, data FROM live_event WHERE NOT is_published ORDER BY user_id, id LIMIT \(limit)"
        ).map { row in
            let (user, id, name, data) = try row.decode(as: (UserID.self, Int64.self, String.self, String.self))
            return Stored(user: user, event: StreamEvent(id: id, name: name, data: data))
        }
    }

    /// The bus has these.
    ///
    /// `IS NOT TRUE`, so that they are found by their key: by `NOT is_published` all that are not published would be read each time.
    func published(_ events: [Stored]) async throws {
        _ = try await database.execute(
            """
            UPDATE live_event SET is_published = true
            FROM unnest(\(events.map(\.user)), \(events.map(\.event.id))) AS sent (user_id, id)
            WHERE live_event.user_id = sent.user_id AND live_event.id = sent.id AND is_published IS NOT TRUE
            """
        )
    }

    /// Deletes old events, up to 5,000. - Returns: how many.
    package func purge(before limit: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM live_event WHERE (user_id, id) IN
                (SELECT user_id, id FROM live_event WHERE created_at < \(limit) ORDER BY created_at LIMIT 5000
                    FOR UPDATE SKIP LOCKED)
            """
        )
    }
}

/// An event with its place in its user's stream.
struct NumberedLiveEvent: Sendable {
    let id: Int64
    let event: LiveEvent
}
