internal import Database
internal import Kernel
internal import StreaksDomain

/// An outage whose streaks are being looked at.
struct OutageWork: Sendable {
    /// Which streaks are found next.
    enum Phase: Int32, Sendable {
        /// Broken ones, by the instant of the break: the outage may undo it.
        case broken = 1
        /// Running ones, by their deadline: the outage may take them out of danger.
        case running = 2
    }

    let id: OutageID
    let from: Instant
    let until: Instant
    var phase: Phase
    /// The last one found in this phase.
    var reached: (at: Instant, id: StreakID)?
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

    /// The next streaks of the phase that the outage may touch, with where to go on after each.
    static func touched(by outage: OutageWork, limit: Int, _ sql: Transaction) async throws -> [(at: Instant, id: StreakID)] {
        let column: Query = outage.phase == .broken ? "broken_at" : "next_due"
        let status: Query = outage.phase == .broken ? "2" : "1"
        let start = outage.reached?.at ?? outage.from
        let startID = outage.reached?.id ?? StreakID(high: .max, low: .max)
        return try await sql.query(
            """
            SELECT \(column), id FROM streak
            WHERE status = \(status) AND (\(column), id) > (\(start), \(startID)) AND \(column) <= \(outage.until + Self.reach)
            ORDER BY \(column), id LIMIT \(limit)
            """
        ).map { (try $0.get(at: 0), try $0.get(at: 1)) }
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
