internal import Database
internal import Runtime

/// How long statements take, how many fail, and how much of the pool is in use (D11).
struct DatabaseMetrics: DatabaseObserver {
    private let metrics: Metrics
    private let durations: [StatementKind: Histogram]

    init(_ metrics: Metrics) {
        self.metrics = metrics
        durations = Dictionary(
            StatementKind.allCases.map { kind in
                (
                    kind,
                    metrics.histogram(
                        "streaksnap_database_statement_duration_seconds",
                        [("kind", kind.rawValue)],
                        help: "Time from asking for a statement to its answer, waiting for a connection included."
                    )
                )
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    func statementEnded(_ kind: StatementKind, error: DatabaseError.Code?, duration: Duration) {
        durations[kind]?.record(duration)
        guard let error else { return }
        metrics.counter(
            "streaksnap_database_errors_total",
            [("code", error.rawValue)],
            help: "Statements that failed, by the kind of failure."
        ).increment()
    }

    /// Shows the state of the pool for as long as it exists.
    func watch(_ database: Database) {
        func gauge(_ name: String, _ help: String, isCounter: Bool = false, _ value: @escaping @Sendable (DatabaseHealth) -> Int)
        {
            metrics.measured("streaksnap_database_\(name)", isCounter: isCounter, help: help) { [weak database] in
                database.map { Double(value($0.health)) }
            }
        }
        gauge("connections", "Connections that are up.") { $0.connections }
        gauge("connections_busy", "Connections with a transaction or statements on their way.") { $0.busy }
        gauge("connections_leased", "Connections that a transaction holds.") { $0.leased }
        gauge("statements_in_flight", "Statements sent and not yet answered.") { $0.inFlight }
        gauge("waiting", "Statements and transactions that wait for a connection.") { $0.waiting }
        gauge("connections_lost_total", "Connections that died.", isCounter: true) { $0.connectionsLost }
    }
}
