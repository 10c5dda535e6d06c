internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// What of each streak is in the figures, and what it is now.
enum GaugeRepository {
    struct Streak: Sendable {
        let kind: StreakKind
        let gauge: StreakGauge
        /// The first date of the run, while it runs.
        let runStart: CalendarDate?
    }

    /// The streaks as they are now; those that have ended or are gone are absent.
    static func present(_ ids: [StreakID], _ sql: Transaction) async throws -> [StreakID: Streak] {
        let rows = try await sql.query(
            """
            SELECT id, kind, status, current_count, longest_count, run_start FROM streak
            WHERE id = ANY(\(ids)) AND status <> \(StreakState.Status.ended.stored)
            """
        )
        var found: [StreakID: Streak] = [:]
        for row in rows {
            let (id, kind, status, count, longest, start) = try row.decode(
                as: (StreakID.self, Int32.self, Int32.self, Int32.self, Int32.self, CalendarDate?.self)
            )
            guard let kind = StreakKind(rawValue: kind) else { continue }
            let runs = status == StreakState.Status.active.stored && count > 0
            found[id] = Streak(
                kind: kind,
                gauge: StreakGauge(count: runs ? Int(count) : 0, longest: Int(longest)),
                runStart: runs ? start : nil
            )
        }
        return found
    }

    /// The kind of a streak, whatever its status; nil when there is none.
    static func kind(of streak: StreakID, _ sql: Transaction) async throws -> StreakKind? {
        let stored = try await sql.query("SELECT kind FROM streak WHERE id = \(streak)").first?.decode(as: Int32.self)
        return stored.flatMap { StreakKind(rawValue: $0) }
    }

    /// What of them is in the figures.
    static func counted(_ ids: [StreakID], _ sql: Transaction) async throws -> [StreakID: StreakGauge] {
        var found: [StreakID: StreakGauge] = [:]
        for row in try await sql.query(
            "SELECT streak_id, current_count, longest_count FROM analytics_streak WHERE streak_id = ANY(\(ids))"
        ) {
            let (id, count, longest) = try row.decode(as: (StreakID.self, Int32.self, Int32.self))
            found[id] = StreakGauge(count: Int(count), longest: Int(longest))
        }
        return found
    }

    /// Notes what is in the figures now.
    static func store(_ streaks: [StreakID: StreakGauge], gone: [StreakID], _ sql: Transaction) async throws {
        let (ids, gauges) = (streaks.map(\.key), streaks.map(\.value))
        if !ids.isEmpty {
            _ = try await sql.execute(
                """
                INSERT INTO analytics_streak (streak_id, current_count, longest_count)
                SELECT * FROM unnest(\(ids), \(gauges.map { Int32($0.count) }), \(gauges.map { Int32($0.longest) }))
                ON CONFLICT (streak_id) DO UPDATE
                    SET current_count = EXCLUDED.current_count, longest_count = EXCLUDED.longest_count
                """
            )
        }
        if !gone.isEmpty { _ = try await sql.execute("DELETE FROM analytics_streak WHERE streak_id = ANY(\(gone))") }
    }
}
