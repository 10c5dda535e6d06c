internal import Database
internal import Kernel
internal import StreaksDomain

/// Where the fold of a streak's ledger begins (SD-5).
enum CheckpointRepository {
    static func find(_ streaks: [StreakID], _ sql: some QueryExecutor) async throws -> [StreakID: Checkpoint] {
        var found: [StreakID: Checkpoint] = [:]
        let rows = try await sql.query(
            """
            SELECT streak_id, settled_through, current_count, longest_count, last_completed_date, run_start, closed_from, closed_until,
                broken_on, broken_at, broken_by, freezes, grants_through, last_grace
            FROM streak_checkpoint WHERE streak_id = ANY(\(streaks))
            """
        )
        for row in rows {
            var checkpoint = Checkpoint(settledThrough: try row.get(at: 1))
            checkpoint.count = Int(try row.get(at: 2, as: Int32.self))
            checkpoint.longest = Int(try row.get(at: 3, as: Int32.self))
            checkpoint.lastCompletedDate = try row.get(at: 4)
            checkpoint.runStart = try row.get(at: 5)
            checkpoint.closures = zip(try row.get(at: 6, as: [Instant].self), try row.get(at: 7, as: [Instant].self))
                .map { Checkpoint.Closure(from: $0, until: $1) }
            checkpoint.brokenOn = try row.get(at: 8)
            checkpoint.brokenAt = try row.get(at: 9)
            checkpoint.brokenBy = try row.get(at: 10)
            checkpoint.freezes = Int(try row.get(at: 11, as: Int32.self))
            checkpoint.grantsThrough = try row.get(at: 12)
            checkpoint.lastGrace = try row.get(at: 13)
            found[try row.get(at: 0)] = checkpoint
        }
        return found
    }

    /// Stores the checkpoints of these streaks; those of before are replaced.
    static func store(_ checkpoints: [(streak: StreakID, checkpoint: Checkpoint)], _ sql: Transaction) async throws {
        guard !checkpoints.isEmpty else { return }
        let bases = checkpoints.map(\.checkpoint)
        // Arrays of arrays must be of one length: the closures come side by side, each with the place of its checkpoint.
        let closures = bases.indices.flatMap { place in bases[place].closures.map { (place: place + 1, closure: $0) } }
        _ = try await sql.execute(
            """
            WITH closure AS (
                SELECT place, array_agg(closed_from ORDER BY n) AS closed_from, array_agg(closed_until ORDER BY n) AS closed_until
                FROM unnest(\(closures.map(\.place)), \(closures.map(\.closure.from)), \(closures.map(\.closure.until)))
                    WITH ORDINALITY AS c (place, closed_from, closed_until, n)
                GROUP BY place)
            INSERT INTO streak_checkpoint (streak_id, settled_through, current_count, longest_count, last_completed_date, run_start,
                broken_on, broken_at, broken_by, freezes, grants_through, last_grace, closed_from, closed_until)
            SELECT base.streak_id, base.settled_through, base.current_count, base.longest_count, base.last_completed_date,
                base.run_start, base.broken_on, base.broken_at, base.broken_by, base.freezes, base.grants_through, base.last_grace,
                coalesce(closure.closed_from, '{}'), coalesce(closure.closed_until, '{}')
            FROM unnest(\(checkpoints.map(\.streak)), \(bases.map(\.settledThrough)), \(bases.map { Int32($0.count) }),
                    \(bases.map { Int32($0.longest) }), \(bases.map(\.lastCompletedDate)), \(bases.map(\.runStart)),
                    \(bases.map(\.brokenOn)), \(bases.map(\.brokenAt)), \(bases.map(\.brokenBy)),
                    \(bases.map { Int32($0.freezes) }), \(bases.map(\.grantsThrough)), \(bases.map(\.lastGrace)))
                WITH ORDINALITY AS base (streak_id, settled_through, current_count, longest_count, last_completed_date, run_start,
                    broken_on, broken_at, broken_by, freezes, grants_through, last_grace, place)
                LEFT JOIN closure USING (place)
            ON CONFLICT (streak_id) DO UPDATE SET settled_through = EXCLUDED.settled_through,
                current_count = EXCLUDED.current_count, longest_count = EXCLUDED.longest_count,
                last_completed_date = EXCLUDED.last_completed_date, run_start = EXCLUDED.run_start,
                broken_on = EXCLUDED.broken_on, broken_at = EXCLUDED.broken_at, broken_by = EXCLUDED.broken_by,
                freezes = EXCLUDED.freezes, grants_through = EXCLUDED.grants_through, last_grace = EXCLUDED.last_grace,
                closed_from = EXCLUDED.closed_from, closed_until = EXCLUDED.closed_until
            """
        )
    }

    static func delete(of streaks: [StreakID], _ sql: Transaction) async throws {
        guard !streaks.isEmpty else { return }
        _ = try await sql.execute("DELETE FROM streak_checkpoint WHERE streak_id = ANY(\(streaks))")
    }
}
