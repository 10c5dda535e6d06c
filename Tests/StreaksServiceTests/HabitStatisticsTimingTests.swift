import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore

/// How long statistics of the largest accounts take.
@Suite(.timeLimit(.minutes(5))) struct HabitStatisticsTimingTests {
    @Test func `ten years of fifty habits are shown within the budget`() async throws {
        try await withHabitStatistics { world in
            for number in 1...50 { _ = try await world.create("Habit \(number)") }
            try await world.fill(years: 10)
            let first = try #require(try await world.overview().habits.first?.habitID)
            let calls: [(name: String, call: () async throws -> Void)] = [
                ("overview of a year", { _ = try await world.overview("year") }),
                ("overview of all time", { #expect(try await world.overview("all").chart?.points.count ?? 0 > 120) }),
                ("detail", { _ = try await world.statistics(first, "all") }),
                ("insights", { #expect(try await world.insights().together.isEmpty) }),
                ("insights of one", { _ = try await world.insights(first) }),
                ("calendar", { _ = try await world.calendar(year: 2025) }),
            ]
            for (name, call) in calls {
                let best = try await Self.best(of: 7, call)
                #expect(best < .milliseconds(200), "\(name): \(best)")
            }
        }
    }

    private nonisolated(nonsending) static func best(of rounds: Int, _ call: () async throws -> Void) async throws -> Duration {
        let clock = ContinuousClock()
        var best = Duration.seconds(60)
        for _ in 0..<rounds {
            let start = clock.now
            try await call()
            best = min(best, clock.now - start)
        }
        return best
    }
}

extension HabitStatisticsWorld {
    /// Rows of all habits up to yesterday, as if they had been kept for years: done in three of five dates, each habit at its own.
    func fill(years: Int) async throws {
        let start = today.advanced(by: -years * 365)
        try await database.execute(
            """
            INSERT INTO habit_day (streak_id, on_date, status, value, completions, target, is_open, outcome, due_dates, broke_run)
            SELECT h.streak_id, d.on_date::date, CASE WHEN d.is_done THEN 1 ELSE 3 END, 1000, 1, NULL, false,
                CASE WHEN d.is_done THEN 1 ELSE 2 END, 1, false
            FROM habit h CROSS JOIN LATERAL (
                SELECT on_date, hashtext(h.id::text || on_date::text) % 5 < 3 AS is_done
                FROM generate_series(\(start)::date, \(today)::date - 1, interval '1 day') AS on_date) AS d
            ON CONFLICT DO NOTHING
            """
        )
        try await database.execute("UPDATE habit SET starts_on = \(start)")
        try await database.execute("ANALYZE habit_day")
    }
}
