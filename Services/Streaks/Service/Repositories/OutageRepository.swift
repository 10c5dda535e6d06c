internal import Database
internal import Kernel
internal import StreaksDomain

/// An outage whose streaks are being looked at.
struct OutageWork: Sendable {
    /// Which streaks are found next.
    enum Phase: Int32, Sendable {
        /// Broken ones, by their ids: the outage may undo the break.
        case broken = 1
        /// Running ones, by their deadline: the outage may take them out of danger.
        case running = 2
    }

    let id: OutageID
    let from: Instant
    let until: Instant
    var phase: Phase
    /// The last one looked at in this phase, and its deadline.
    var reached: (at: Instant, id: StreakID)?
}

/// The next streaks of a phase.
struct OutagePage: Sendable {
    /// Those that the outage may touch.
    let touched: [StreakID]
    /// Where to go on after them; nil at the end of the phase.
    let reached: (at: Instant, id: StreakID)?
}

enum OutageTag {}
typealias OutageID = ID<OutageTag>

/// Declared outages (SD-7), and how far their streaks have been looked at.
enum OutageRepository {
    /// A date may be shown somewhere for so long after an instant it is shown at: two days for the zones, the rest for travel.
    private static let reach = Interval.days(4)

    /// Those that ledgers know.
    static func declared(_ sql: some QueryExecutor) async throws -> [StreakLedger.Outage] {
        try await sql.query(
            "SELECT from_at, until_at, declared_at FROM outage WHERE declared_at IS NOT NULL ORDER BY declared_at"
        ).map { row in
            StreakLedger.Outage(from: try row.get(at: 0), until: try row.get(at: 1), declaredAt: try row.get(at: 2))
        }
    }

    /// Records what an operator declares; a running replica does the rest. - Returns: false when it was declared before.
    static func insert(_ id: OutageID, from: Instant, until: Instant, _ sql: some QueryExecutor) async throws -> Bool {
        try await sql.execute(
            "INSERT INTO outage (id, from_at, until_at) VALUES (\(id), \(from), \(until)) ON CONFLICT DO NOTHING"
        ) == 1
    }

    /// One line for each, newest first: what an operator sees.
    static func list(_ sql: some QueryExecutor) async throws -> [String] {
        try await sql.query(
            """
            SELECT from_at, until_at, CASE WHEN finished_at IS NOT NULL THEN 'done' WHEN declared_at IS NULL THEN 'waiting'
                ELSE 'under way' END, looked_at_streaks
            FROM outage ORDER BY from_at DESC LIMIT 1000
            """
        ).map { row in
            let (from, until, standing, streaks) = try row.decode(as: (Instant.self, Instant.self, String.self, Int32.self))
            return "\(from)\t\(until)\t\(standing)\t\(streaks)"
        }
    }

    static func isAnyWaiting(_ sql: some QueryExecutor) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM outage WHERE declared_at IS NULL LIMIT 1").isEmpty
    }

    /// Waits until nobody works on a ledger that was loaded without the outages that are about to be declared.
    static func lockLedgers(_ sql: Transaction) async throws {
        _ = try await sql.execute("LOCK TABLE outage IN ACCESS EXCLUSIVE MODE")
    }

    /// From `instant` on every ledger knows what waits. - Returns: how many.
    static func declareWaiting(at instant: Instant, _ sql: Transaction) async throws -> Int {
        try await sql.execute("UPDATE outage SET declared_at = \(instant) WHERE declared_at IS NULL")
    }

    /// The oldest whose streaks have not all been looked at; nil also while another replica is at it.
    static func lockUnfinished(at now: Instant, _ sql: Transaction) async throws -> OutageWork? {
        let rows = try await sql.query(
            """
            SELECT id, from_at, until_at, phase, reached_at, reached_id FROM outage
            WHERE declared_at <= \(now) AND finished_at IS NULL ORDER BY declared_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
            """
        )
        return try rows.first.map { row in
            let at: Instant? = try row.get(at: 4)
            let id: StreakID? = try row.get(at: 5)
            return OutageWork(
                id: try row.get(at: 0),
                from: try row.get(at: 1),
                until: try row.get(at: 2),
                phase: OutageWork.Phase(rawValue: try row.get(at: 3)) ?? .broken,
                reached: at.flatMap { at in id.map { (at, $0) } }
            )
        }
    }

    /// The next streaks of the phase, `limit` at most of those that the outage may touch.
    static func page(of outage: OutageWork, limit: Int, _ sql: Transaction) async throws -> OutagePage {
        switch outage.phase {
        case .broken: try await brokenPage(of: outage, limit: limit, sql)
        case .running: try await runningPage(of: outage, limit: limit, sql)
        }
    }

    /// Every streak is read, some thousands at once: an index of breaks would be written at every midnight for what hardly ever happens.
    private static func brokenPage(of outage: OutageWork, limit: Int, _ sql: Transaction) async throws -> OutagePage {
        let start = outage.reached?.id ?? StreakID(high: 0, low: 0)
        let rows = try await sql.query(
            """
            WITH read AS MATERIALIZED (
                SELECT id, status = 2 AND broken_at > \(outage.from) AND broken_at <= \(outage.until + Self.reach) AS is_touched
                FROM streak WHERE id > \(start) ORDER BY id LIMIT 5000)
            (SELECT id, true FROM read WHERE is_touched ORDER BY id LIMIT \(limit))
            UNION ALL (SELECT id, false FROM read ORDER BY id DESC LIMIT 1)
            """
        ).map { try $0.decode(as: (StreakID.self, Bool.self)) }
        let touched = rows.filter(\.1).map(\.0).sorted()
        let last = touched.count == limit ? touched.last : rows.first { !$0.1 }?.0
        return OutagePage(touched: touched, reached: last.map { (outage.from, $0) })
    }

    private static func runningPage(of outage: OutageWork, limit: Int, _ sql: Transaction) async throws -> OutagePage {
        let start = outage.reached?.at ?? outage.from
        let startID = outage.reached?.id ?? StreakID(high: .max, low: .max)
        let rows = try await sql.query(
            """
            SELECT next_due, id FROM streak
            WHERE status = 1 AND (next_due, id) > (\(start), \(startID)) AND next_due <= \(outage.until + Self.reach)
            ORDER BY next_due, id LIMIT \(limit)
            """
        ).map { try $0.decode(as: (Instant.self, StreakID.self)) }
        return OutagePage(touched: rows.map(\.1), reached: rows.count == limit ? rows.last : nil)
    }

    /// Stores how far it has come; `now` when nothing is left.
    static func store(_ outage: OutageWork, looked: Int, finishedAt now: Instant?, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE outage SET phase = \(outage.phase.rawValue), reached_at = \(outage.reached?.at), reached_id = \(outage.reached?.id),
                looked_at_streaks = looked_at_streaks + \(Int32(looked)), finished_at = \(now)
            WHERE id = \(outage.id)
            """
        )
    }
}
