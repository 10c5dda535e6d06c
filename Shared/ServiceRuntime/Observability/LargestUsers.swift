internal import Database
internal import Runtime

/// How many rows the largest users have in the tables with a quota (D22), without saying who they are.
///
/// PostgreSQL's statistics know the most frequent values of each column: reading them costs nothing, however large the tables are. They are as old as
/// the last `ANALYZE` of the table, and about right.
struct LargestUsers: Sendable {
    private static let shown = 10

    private let quotas: [Quota]
    private let database: Database
    private let limits: Quotas
    private let metrics: Metrics

    init(_ quotas: [Quota], _ environment: ServiceEnvironment) {
        self.quotas = quotas.filter { if case .rows = $0.measure { true } else { false } }
        (database, limits, metrics) = (environment.database, environment.quotas, environment.metrics)
    }

    var job: Job {
        Job("largest_users", every: .seconds(600)) { _ in
            try await measure()
            return 0
        }
    }

    private func measure() async throws {
        guard !quotas.isEmpty else { return }
        let rows = try await database.query(
            """
            SELECT s.tablename::text, (f.frequency * greatest(c.reltuples, 0))::bigint
            FROM unnest(\(quotas.map(\.table)), \(quotas.map(\.user))) AS q (name, person)
            JOIN pg_stats s ON s.schemaname = current_schema() AND s.tablename = q.name AND s.attname = q.person AND NOT s.inherited
            JOIN pg_class c ON c.relname = q.name AND c.relnamespace = current_schema()::regnamespace
            CROSS JOIN LATERAL unnest(s.most_common_freqs) WITH ORDINALITY AS f (frequency, rank)
            WHERE f.rank <= \(Self.shown) ORDER BY q.name, f.rank
            """
        )
        var found: [String: [Int]] = [:]
        for row in rows { found[try row.get(at: 0), default: []].append(try row.get(at: 1)) }
        for quota in quotas {
            let counts = found[quota.table] ?? []
            for rank in 0..<Self.shown {
                metrics.gauge(
                    "streaksnap_user_rows_largest",
                    [("table", quota.table), ("rank", "\(rank + 1)")],
                    help: "Rows of the users who have the most in a table, by PostgreSQL's statistics."
                ).set(counts.indices.contains(rank) ? counts[rank] : 0)
            }
            metrics.gauge("streaksnap_user_rows_limit", [("table", quota.table)], help: "Rows that one user may have in a table.")
                .set(limits.limit(of: quota))
        }
    }
}
