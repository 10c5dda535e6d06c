internal import Database
internal import Kernel
internal import StreaksDomain

/// Where folding a streak's ledger goes on from (SD-5). Of mutual streaks: what only other kinds have (freezes, graces) is not kept.
enum CheckpointRepository {
    static func find(_ streaks: [StreakID], _ sql: some QueryExecutor) async throws -> [StreakID: Checkpoint] {
        var found: [StreakID: Checkpoint] = [:]
        let rows = try await sql.query(
            """
            SELECT streak_id, settled_through, current_count, longest_count, last_completed_date, run_start, closed_from, closed_until
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
            found[try row.get(at: 0)] = checkpoint
        }
        return found
    }

    static func store(_ checkpoint: Checkpoint, of streak: StreakID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO streak_checkpoint (streak_id, settled_through, current_count, longest_count, last_completed_date, run_start,
                closed_from, closed_until)
            VALUES (\(streak), \(checkpoint.settledThrough), \(Int32(checkpoint.count)), \(Int32(checkpoint.longest)),
                \(checkpoint.lastCompletedDate), \(checkpoint.runStart), \(checkpoint.closures.map(\.from)),
                \(checkpoint.closures.map(\.until)))
            ON CONFLICT (streak_id) DO UPDATE SET settled_through = EXCLUDED.settled_through,
                current_count = EXCLUDED.current_count, longest_count = EXCLUDED.longest_count,
                last_completed_date = EXCLUDED.last_completed_date, run_start = EXCLUDED.run_start,
                closed_from = EXCLUDED.closed_from, closed_until = EXCLUDED.closed_until
            """
        )
    }

    static func delete(of streaks: [StreakID], _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM streak_checkpoint WHERE streak_id = ANY(\(streaks))")
    }
}
