package import Database
package import Kernel
package import StreaksDomain

/// An outage whose streaks are being settled.
struct OutageWork: Sendable {
    let id: OutageID
    let from: Instant
    let until: Instant
    /// The last streak that was settled, in the order of ids.
    var reached: StreakID?
}

/// The next streaks of an outage.
struct OutagePage: Sendable {
    /// Those that the outage may touch.
    let touched: [StreakID]
    /// Where the next page begins; nil when none is left.
    let reached: StreakID?
}

/// Declared outages (SD-7), and how far their streaks have been settled.
package enum OutageRepository {
    /// A date may be shown in some zone for so long after an instant it is shown at: two days for the zones, the rest for travel.
    private static let reach = Interval.days(4)

    /// Those that are part of ledgers.
    static func declared(_ sql: some QueryExecutor) async throws -> [StreakLedger.Outage] {
        try outages(try await sql.query(declaredQuery))
    }

    /// The statement of `declared`, for who reads more at the same time.
    static let declaredQuery: Query =
        "SELECT from_at, until_at, declared_at FROM outage WHERE declared_at IS NOT NULL ORDER BY declared_at"

    /// - Parameter rows: of `declaredQuery`.
    static func outages(_ rows: [Row]) throws -> [StreakLedger.Outage] {
        try rows.map { row in
            StreakLedger.Outage(from: try row.get(at: 0), until: try row.get(at: 1), declaredAt: try row.get(at: 2))
        }
    }

    /// The declared ones of which a part lies between two instants.
    package static func declared(from start: Instant, until end: Instant, _ sql: some QueryExecutor) async throws
        -> [StreakLedger.Outage]
    {
        try await sql.query(
            """
            SELECT from_at, until_at, declared_at FROM outage
            WHERE declared_at IS NOT NULL AND from_at < \(end) AND until_at > \(start)
            """
        ).map { StreakLedger.Outage(from: try $0.get(at: 0), until: try $0.get(at: 1), declaredAt: try $0.get(at: 2)) }
    }

    /// Records what is declared; a running replica does the rest. - Returns: false when it was declared before.
    package static func insert(_ id: OutageID, from: Instant, until: Instant, reason: String = "", _ sql: some QueryExecutor)
        async throws -> Bool
    {
        try await sql.execute(
            "INSERT INTO outage (id, from_at, until_at, reason) VALUES (\(id), \(from), \(until), \(reason)) ON CONFLICT DO NOTHING"
        ) == 1
    }

    /// The one with these ends.
    static func find(from: Instant, until: Instant, _ sql: some QueryExecutor) async throws -> DeclaredOutage? {
        let rest: Query = "WHERE from_at = \(from) AND until_at = \(until)"
        return try await sql.query("\(shown) \(rest)").first.map(outage)
    }

    /// The one that began last first.
    ///
    /// - Parameter place: of the last one of the page before.
    package static func list(before place: (from: Instant, id: OutageID)? = nil, limit: Int, _ sql: some QueryExecutor)
        async throws -> [DeclaredOutage]
    {
        let rest: Query = place.map { "WHERE (from_at, id) < (\($0.from), \($0.id))" } ?? ""
        return try await sql.query("\(shown) \(rest) ORDER BY from_at DESC, id DESC LIMIT \(limit)").map(outage)
    }

    private static let shown: Query = """
        SELECT id, from_at, until_at, reason, CASE WHEN finished_at IS NOT NULL THEN 'done' WHEN declared_at IS NULL THEN 'waiting'
            ELSE 'under way' END, settled_streaks
        FROM outage
        """

    private static func outage(_ row: Row) throws -> DeclaredOutage {
        let (id, from, until, reason, standing, streaks) = try row.decode(
            as: (OutageID.self, Instant.self, Instant.self, String.self, String.self, Int32.self)
        )
        return DeclaredOutage(
            id: id,
            from: from,
            until: until,
            reason: reason,
            standing: DeclaredOutage.Standing(rawValue: standing) ?? .waiting,
            settledStreaks: streaks
        )
    }

    static func isAnyWaiting(_ sql: some QueryExecutor) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM outage WHERE declared_at IS NULL LIMIT 1").isEmpty
    }

    /// Waits until no transaction works on a ledger that was loaded without the outages that are about to be declared.
    static func lockLedgers(_ sql: Transaction) async throws {
        _ = try await sql.execute("LOCK TABLE outage IN ACCESS EXCLUSIVE MODE")
    }

    /// From `instant` on every ledger has what waits. - Returns: how many.
    static func declareWaiting(at instant: Instant, _ sql: Transaction) async throws -> Int {
        try await sql.execute("UPDATE outage SET declared_at = \(instant) WHERE declared_at IS NULL")
    }

    /// The oldest whose streaks have not all been settled; nil also while another replica works on it.
    static func lockUnfinished(at now: Instant, _ sql: Transaction) async throws -> OutageWork? {
        let rows = try await sql.query(
            """
            SELECT id, from_at, until_at, reached_id FROM outage
            WHERE declared_at <= \(now) AND finished_at IS NULL ORDER BY declared_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
            """
        )
        return try rows.first.map { row in
            let (id, from, until, reached) = try row.decode(as: (OutageID.self, Instant.self, Instant.self, StreakID?.self))
            return OutageWork(id: id, from: from, until: until, reached: reached)
        }
    }

    /// The next streaks that the outage may touch, at most `limit`: broken ones whose break it may undo, running ones that it may keep.
    ///
    /// Every streak is read, some thousands at once: an index of breaks would be written at every midnight for what hardly ever happens.
    static func page(of outage: OutageWork, limit: Int, _ sql: Transaction) async throws -> OutagePage {
        let start = outage.reached ?? StreakID(high: 0, low: 0)
        let rows = try await sql.query(
            """
            WITH read AS MATERIALIZED (
                SELECT id, coalesce(CASE status WHEN 1 THEN next_due WHEN 2 THEN broken_at END > \(outage.from)
                    AND CASE status WHEN 1 THEN next_due WHEN 2 THEN broken_at END <= \(outage.until + Self.reach), false) AS is_touched
                FROM streak WHERE id > \(start) ORDER BY id LIMIT 5000)
            (SELECT id, true FROM read WHERE is_touched ORDER BY id LIMIT \(limit))
            UNION ALL (SELECT id, false FROM read ORDER BY id DESC LIMIT 1)
            """
        ).map { try $0.decode(as: (StreakID.self, Bool.self)) }
        let touched = rows.filter(\.1).map(\.0).sorted()
        let last = touched.count == limit ? touched.last : rows.first { !$0.1 }?.0
        return OutagePage(touched: touched, reached: last)
    }

    /// Stores how far it has come; `now` when no streak is left.
    static func store(_ outage: OutageWork, settled: Int, finishedAt now: Instant?, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE outage SET reached_id = \(outage.reached), settled_streaks = settled_streaks + \(Int32(settled)),
                finished_at = \(now)
            WHERE id = \(outage.id)
            """
        )
    }
}
