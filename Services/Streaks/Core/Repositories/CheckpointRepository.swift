internal import Database
internal import Kernel
internal import StreaksDomain

/// Where the fold of a streak's ledger begins (SD-5).
enum CheckpointRepository {
    static func find(_ streaks: [StreakID], _ sql: some QueryExecutor) async throws -> [StreakID: Checkpoint] {
        try checkpoints(try await sql.query(query(of: streaks)))
    }

    /// The statement of `find`, for who reads more at the same time.
    static func query(of streaks: [StreakID]) -> Query {
        "SELECT \(columns) FROM streak_checkpoint WHERE streak_id = ANY(\(streaks))"
    }

    /// - Parameter rows: of `query`.
    static func checkpoints(_ rows: [Row]) throws -> [StreakID: Checkpoint] {
        Dictionary(try rows.map { (try $0.get(at: 0), try checkpoint($0)) }) { first, _ in first }
    }

    /// In the order `checkpoint` reads them, the streak first.
    static let columns: Query = """
        streak_id, settled_through, current_count, longest_count, last_completed_date, run_start, closed_from, closed_until,
        broken_on, broken_at, broken_by, freezes, grants_through, last_grace, break_date, break_at, break_count,
        spent_protections, last_premium_insurance, free_dates_month, free_dates_used, longest_weeks
        """

    /// - Parameter first: the column at which `columns` begin.
    static func checkpoint(_ row: Row, at first: Int = 0) throws -> Checkpoint {
        var checkpoint = Checkpoint(settledThrough: try row.get(at: first + 1))
        checkpoint.count = Int(try row.get(at: first + 2, as: Int32.self))
        checkpoint.longest = Int(try row.get(at: first + 3, as: Int32.self))
        checkpoint.lastCompletedDate = try row.get(at: first + 4)
        checkpoint.runStart = try row.get(at: first + 5)
        checkpoint.closures = zip(try row.get(at: first + 6, as: [Instant].self), try row.get(at: first + 7, as: [Instant].self))
            .map { Checkpoint.Closure(from: $0, until: $1) }
        checkpoint.brokenOn = try row.get(at: first + 8)
        checkpoint.brokenAt = try row.get(at: first + 9)
        checkpoint.brokenBy = try row.get(at: first + 10)
        checkpoint.freezes = Int(try row.get(at: first + 11, as: Int32.self))
        checkpoint.grantsThrough = try row.get(at: first + 12)
        checkpoint.lastGrace = try row.get(at: first + 13)
        let lost: (date: CalendarDate?, at: Instant?, count: Int32?) = (
            try row.get(at: first + 14), try row.get(at: first + 15), try row.get(at: first + 16)
        )
        if case (let date?, let at?, let count?) = lost {
            checkpoint.lastBreak = StreakState.Break(date: date, at: at, count: Int(count))
        }
        checkpoint.spentProtections = Set(try row.get(at: first + 17, as: [OperationID].self))
        checkpoint.lastPremiumInsurance = try row.get(at: first + 18)
        checkpoint.freeDatesMonth = try row.get(at: first + 19)
        checkpoint.freeDatesUsed = Int(try row.get(at: first + 20, as: Int32.self))
        checkpoint.longestWeeks = Int(try row.get(at: first + 21, as: Int32.self))
        return checkpoint
    }

    /// Stores the checkpoints of these streaks; those of before are replaced.
    static func store(_ checkpoints: [(streak: StreakID, checkpoint: Checkpoint)], _ sql: Transaction) throws {
        guard !checkpoints.isEmpty else { return }
        let bases = checkpoints.map(\.checkpoint)
        // Arrays of arrays must be of one length: what is a list comes side by side, each with the place of its checkpoint.
        let closures = bases.indices.flatMap { place in bases[place].closures.map { (place: place + 1, closure: $0) } }
        let spent = bases.indices.flatMap { place in bases[place].spentProtections.sorted().map { (place: place + 1, id: $0) } }
        try sql.enqueue(
            """
            WITH closure AS (
                SELECT place, array_agg(closed_from ORDER BY n) AS closed_from, array_agg(closed_until ORDER BY n) AS closed_until
                FROM unnest(\(closures.map(\.place)), \(closures.map(\.closure.from)), \(closures.map(\.closure.until)))
                    WITH ORDINALITY AS c (place, closed_from, closed_until, n)
                GROUP BY place),
            spent AS (
                SELECT place, array_agg(id) AS ids FROM unnest(\(spent.map(\.place)), \(spent.map(\.id))) AS s (place, id)
                GROUP BY place)
            INSERT INTO streak_checkpoint (streak_id, settled_through, current_count, longest_count, last_completed_date, run_start,
                broken_on, broken_at, broken_by, freezes, grants_through, last_grace, break_date, break_at, break_count,
                last_premium_insurance, free_dates_month, free_dates_used, longest_weeks, closed_from, closed_until,
                spent_protections)
            SELECT base.streak_id, base.settled_through, base.current_count, base.longest_count, base.last_completed_date,
                base.run_start, base.broken_on, base.broken_at, base.broken_by, base.freezes, base.grants_through, base.last_grace,
                base.break_date, base.break_at, base.break_count, base.last_premium_insurance, base.free_dates_month,
                base.free_dates_used, base.longest_weeks, coalesce(closure.closed_from, '{}'), coalesce(closure.closed_until, '{}'),
                coalesce(spent.ids, '{}')
            FROM unnest(\(checkpoints.map(\.streak)), \(bases.map(\.settledThrough)), \(bases.map { Int32($0.count) }),
                    \(bases.map { Int32($0.longest) }), \(bases.map(\.lastCompletedDate)), \(bases.map(\.runStart)),
                    \(bases.map(\.brokenOn)), \(bases.map(\.brokenAt)), \(bases.map(\.brokenBy)),
                    \(bases.map { Int32($0.freezes) }), \(bases.map(\.grantsThrough)), \(bases.map(\.lastGrace)),
                    \(bases.map(\.lastBreak?.date)), \(bases.map(\.lastBreak?.at)),
                    \(bases.map { $0.lastBreak.map { Int32($0.count) } }), \(bases.map(\.lastPremiumInsurance)),
                    \(bases.map(\.freeDatesMonth)), \(bases.map { Int32($0.freeDatesUsed) }), \(bases.map { Int32($0.longestWeeks) }))
                WITH ORDINALITY AS base (streak_id, settled_through, current_count, longest_count, last_completed_date, run_start,
                    broken_on, broken_at, broken_by, freezes, grants_through, last_grace, break_date, break_at, break_count,
                    last_premium_insurance, free_dates_month, free_dates_used, longest_weeks, place)
                LEFT JOIN closure USING (place) LEFT JOIN spent USING (place)
            ON CONFLICT (streak_id) DO UPDATE SET settled_through = EXCLUDED.settled_through,
                current_count = EXCLUDED.current_count, longest_count = EXCLUDED.longest_count,
                last_completed_date = EXCLUDED.last_completed_date, run_start = EXCLUDED.run_start,
                broken_on = EXCLUDED.broken_on, broken_at = EXCLUDED.broken_at, broken_by = EXCLUDED.broken_by,
                freezes = EXCLUDED.freezes, grants_through = EXCLUDED.grants_through, last_grace = EXCLUDED.last_grace,
                break_date = EXCLUDED.break_date, break_at = EXCLUDED.break_at, break_count = EXCLUDED.break_count,
                last_premium_insurance = EXCLUDED.last_premium_insurance, free_dates_month = EXCLUDED.free_dates_month,
                free_dates_used = EXCLUDED.free_dates_used, longest_weeks = EXCLUDED.longest_weeks, spent_protections = EXCLUDED.spent_protections,
                closed_from = EXCLUDED.closed_from, closed_until = EXCLUDED.closed_until
            """
        )
    }

    static func delete(of streaks: [StreakID], _ sql: Transaction) throws {
        guard !streaks.isEmpty else { return }
        try sql.enqueue("DELETE FROM streak_checkpoint WHERE streak_id = ANY(\(streaks))")
    }
}
