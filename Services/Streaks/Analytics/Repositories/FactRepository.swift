internal import Database
internal import Kernel
internal import Outbox
internal import StreaksDomain

/// What events said and the figures do not have yet.
struct Fact: Sendable {
    /// nil: of no kind.
    var kind: StreakKind?
    var metric: AnalyticsMetric
    var day: CalendarDate
    var bucket: Int32 = 0
    var amount: Int64 = 1
    var streak: StreakID?
    /// Of a date that grew a run, its first date; of a break and its undoing, the missed date.
    var runDate: CalendarDate?
    /// Of `activeUser` alone: who did something for the day.
    var user: UserID?

    /// A user did something that counts for a date.
    static func activity(of user: UserID, on date: CalendarDate) -> Fact {
        Fact(metric: .activeUser, day: date, user: user)
    }
}

extension Fact {
    /// What a break adds.
    ///
    /// - Parameter reason: the bucket of `broken`: by a missed date unless it says otherwise.
    static func ofBreak(
        _ kind: StreakKind?,
        _ streak: StreakID,
        missed: CalendarDate,
        at instant: Instant,
        count: Int32,
        reason: Int32 = missedDate
    ) -> [Fact] {
        func fact(_ metric: AnalyticsMetric, _ bucket: Int32 = 0) -> Fact {
            Fact(kind: kind, metric: metric, day: missed, bucket: bucket, streak: streak)
        }
        var broken = fact(.broken, reason)
        broken.runDate = missed
        let hour = Int32(max(0, instant.seconds) / 3_600 % 24)
        return [broken, fact(.brokenWeekday, Int32(missed.isoWeekday)), fact(.brokenHour, hour)]
            + (count >= 7 ? [fact(.brokenAt7)] : [])
    }

    /// The date from which it changes the streak's count; nil: it changes none.
    var dateOfCount: CalendarDate? {
        switch metric {
        case .started, .broken: day
        case .active, .filled, .freezeUsed: runDate == nil && amount > 0 ? nil : day
        case .freezeReturned: day
        // What fills the missed date counts there, a repair from when it was made.
        case .restored: bucket == RestoredBy.repair.rawValue ? day : runDate
        default: nil
        }
    }

    /// Adds what it says of that date.
    func note(in day: inout StreakGauge.Day) {
        switch metric {
        case .broken where amount == 0: day.isEnd = true
        case .broken: day.isBroken = true
        case .restored: day.isRestored = true
        case .started: break
        // What came back had extended it.
        case .freezeReturned: day.extended -= 1
        case .filled where amount < 0: day.extended -= 1
        default: day.extended += 1
        }
    }

    /// The buckets of breaks by a missed date, and by a moderator.
    static let missedDate: Int32 = 1
    static let moderation: Int32 = 2

    /// All events share one: at a midnight many streaks change, and each emits some events.
    static let batch = EventBatch<Fact> { facts, work in
        // A kind that this build does not know is counted by none.
        try await FactRepository.add(facts.filter { $0.user == nil && ($0.streak == nil || $0.kind != nil) }, work.sql)
        try ActiveUserRepository.add(facts.compactMap { fact in fact.user.map { ($0, fact.day) } }, work.sql)
    }
}

enum FactRepository {
    static func add(_ facts: [Fact], _ sql: Transaction) async throws {
        guard !facts.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO analytics_fact (kind, metric, day, bucket, amount, streak_id, run_date)
            SELECT * FROM unnest(\(facts.map { $0.kind?.rawValue ?? 0 }), \(facts.map(\.metric.rawValue)), \(facts.map(\.day)),
                \(facts.map(\.bucket)), \(facts.map(\.amount)), \(facts.map(\.streak)), \(facts.map(\.runDate)))
            """
        )
    }

    /// Takes the oldest, all up to a position: PostgreSQL believes the table to be as empty as it mostly is, and would read it whole for each of
    /// many positions. - Returns: them, in the order of their events.
    static func take(_ limit: Int, _ sql: Transaction) async throws -> [Fact] {
        try await sql.query(
            """
            WITH taken AS (DELETE FROM analytics_fact WHERE position <=
                (SELECT max(position) FROM (SELECT position FROM analytics_fact ORDER BY position LIMIT \(limit)) AS oldest)
                RETURNING position, kind, metric, day, bucket, amount, streak_id, run_date)
            SELECT kind, metric, day, bucket, amount, streak_id, run_date FROM taken ORDER BY position
            """
        ).mapInSlices { row -> Fact? in
            guard let metric = AnalyticsMetric(rawValue: try row.get(at: 1)) else { return nil }
            return Fact(
                kind: StreakKind(rawValue: try row.get(at: 0)),
                metric: metric,
                day: try row.get(at: 2),
                bucket: try row.get(at: 3),
                amount: try row.get(at: 4),
                streak: try row.get(at: 5),
                runDate: try row.get(at: 6)
            )
        }.compactMap(\.self)
    }
}
