internal import Database
internal import Kernel
internal import StreaksDomain

/// The sums by day.
enum FigureRepository {
    static func add(_ sums: [AnalyticsFigures.Sum], _ sql: Transaction) async throws {
        guard !sums.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO analytics_daily AS known (day, kind, metric, bucket, value)
            SELECT day, kind, metric, bucket, sum(value) FROM unnest(\(sums.map(\.day)), \(sums.map { $0.kind?.rawValue ?? 0 }),
                \(sums.map(\.metric.rawValue)), \(sums.map(\.bucket)), \(sums.map(\.value)))
                AS new (day, kind, metric, bucket, value)
            GROUP BY day, kind, metric, bucket
            ON CONFLICT (day, kind, metric, bucket) DO UPDATE SET value = known.value + EXCLUDED.value
            """
        )
    }

    /// The figures of a range; what lies before it comes as sums of the day before.
    static func figures(of kinds: [StreakKind], in range: ClosedRange<CalendarDate>, _ database: Database) async throws
        -> AnalyticsFigures
    {
        let wanted = kinds.map(\.rawValue) + [0]
        let (first, last) = (range.lowerBound, range.upperBound)
        let rows = try await database.query(
            """
            SELECT greatest(day, \(first.advanced(by: -1))) AS shown, kind::integer, metric::integer, bucket, sum(value)::bigint
            FROM analytics_daily WHERE day <= \(last) AND kind = ANY(\(wanted)) GROUP BY shown, kind, metric, bucket
            """
        )
        let sums = try rows.compactMap { row -> AnalyticsFigures.Sum? in
            let (day, kind, metric, bucket, value) = try row.decode(
                as: (CalendarDate.self, Int32.self, Int32.self, Int32.self, Int64.self)
            )
            guard let metric = AnalyticsMetric(rawValue: metric) else { return nil }
            return AnalyticsFigures.Sum(day: day, kind: StreakKind(rawValue: kind), metric, bucket: bucket, value: value)
        }
        return AnalyticsFigures(sums, range: range)
    }

    struct Sale: Sendable {
        let day: CalendarDate
        let item: String
        let purchases: Int64
        let coins: Int64
        let usdMilli: Int64
        let firstPurchases: Int64
    }

    static func add(_ sale: Sale, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO analytics_sale AS known (day, item, purchases, coins, usd_milli, first_purchases)
            VALUES (\(sale.day), \(sale.item), \(sale.purchases), \(sale.coins), \(sale.usdMilli), \(sale.firstPurchases))
            ON CONFLICT (day, item) DO UPDATE SET purchases = known.purchases + EXCLUDED.purchases,
                coins = known.coins + EXCLUDED.coins, usd_milli = known.usd_milli + EXCLUDED.usd_milli,
                first_purchases = known.first_purchases + EXCLUDED.first_purchases
            """
        )
    }

    /// Notes that a user has bought an item. - Returns: whether it is the first time.
    static func noteBuyer(_ user: UserID, of item: String, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            "INSERT INTO analytics_buyer (user_id, item) VALUES (\(user), \(item)) ON CONFLICT DO NOTHING"
        ) == 1
    }

    static func sales(in range: ClosedRange<CalendarDate>, _ database: Database) async throws -> [Sale] {
        try await database.query(
            """
            SELECT day, item, purchases, coins, usd_milli, first_purchases FROM analytics_sale
            WHERE day BETWEEN \(range.lowerBound) AND \(range.upperBound) ORDER BY day, item
            """
        ).map { row in
            let (day, item, purchases, coins, usd, first) = try row.decode(
                as: (CalendarDate.self, String.self, Int64.self, Int64.self, Int64.self, Int64.self)
            )
            return Sale(day: day, item: item, purchases: purchases, coins: coins, usdMilli: usd, firstPurchases: first)
        }
    }
}

/// Who is premium, as far as the figures know, and the streaks of a user.
enum SubscriberRepository {
    /// Notes a user's plan. - Returns: whether the user was not premium before and is now.
    static func note(_ user: UserID, isPremium: Bool, version: Int64, _ sql: Transaction) async throws -> Bool {
        let before = try await sql.query(
            "SELECT version, is_premium FROM analytics_subscriber WHERE user_id = \(user) FOR UPDATE"
        ).first?.decode(as: (Int64.self, Bool.self))
        if let before, before.0 >= version { return false }
        _ = try await sql.execute(
            """
            INSERT INTO analytics_subscriber (user_id, version, is_premium) VALUES (\(user), \(version), \(isPremium))
            ON CONFLICT (user_id) DO UPDATE SET version = EXCLUDED.version, is_premium = EXCLUDED.is_premium
            """
        )
        return isPremium && before?.1 != true
    }

    /// The kinds of which a user has streaks that run, of their own and with friends, each with the highest count.
    static func running(_ user: UserID, _ sql: Transaction) async throws -> [(kind: StreakKind, count: Int)] {
        let kinds = [StreakKind.mutual] + StreakKind.solo
        return try await sql.query(
            """
            SELECT kind, max(current_count) FROM streak JOIN streak_member ON streak_id = id
            WHERE user_id = \(user) AND left_at IS NULL AND status = 1 AND current_count > 0
                AND kind = ANY(\(kinds.map(\.rawValue)))
            GROUP BY kind
            """
        ).compactMap { row in
            let (kind, count) = try row.decode(as: (Int32.self, Int32.self))
            return StreakKind(rawValue: kind).map { ($0, Int(count)) }
        }
    }
}
