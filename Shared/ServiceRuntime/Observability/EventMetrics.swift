internal import Database
internal import Kernel
internal import Outbox
internal import Runtime

/// How far the events of one service are behind (D11): what has not left its outbox, what
/// its features have not consumed, and what they could not handle.
///
/// Measured every few seconds, however often `/metrics` is asked. While the database or the broker is away the numbers that need it stay
/// as they were; `/readyz` and the logs say that it is away.
struct EventMetrics: Sendable {
    private static let interval = Duration.seconds(10)

    private let metrics: Metrics
    private let relay: OutboxRelay
    private let consumers: [EventConsumer]
    private let database: Database

    init(_ metrics: Metrics, database: Database, relay: OutboxRelay, consumers: [EventConsumer]) {
        self.metrics = metrics
        self.database = database
        self.relay = relay
        self.consumers = consumers
    }

    func run() async {
        while !Task.isCancelled {
            _ = try? await withTimeLimit(.seconds(30), measure)
            try? await Task.sleep(for: Self.interval)
        }
    }

    @Sendable func measure() async {
        if let lag = try? await relay.lag() {
            set("streaksnap_outbox_backlog", lag.waiting, "Committed events that the broker does not have yet.")
            set(
                "streaksnap_outbox_oldest_age_seconds",
                Int(lag.oldestAge.seconds),
                "How long ago the oldest event that waits in the outbox was committed."
            )
        }
        for (feature, streams) in (try? await EventConsumer.pending(of: consumers)) ?? [:] {
            for (stream, pending) in streams {
                set(
                    "streaksnap_consumer_pending",
                    pending,
                    "Messages of the stream that the feature has not passed yet.",
                    ("feature", feature),
                    ("stream", stream)
                )
            }
        }
        await showRetries()
    }

    private func showRetries() async {
        guard let lags = try? await EventConsumer.retries(in: database) else { return }
        for consumer in consumers {
            let lag = lags[consumer.feature] ?? RetryLag()
            let feature = ("feature", consumer.feature)
            set(
                "streaksnap_events_retrying",
                lag.retrying,
                "Events that failed and are tried again, or wait behind such a one.",
                feature
            )
            set("streaksnap_events_parked", lag.parked, "Events that were given up until an operator re-drives them.", feature)
        }
    }

    private func set(_ name: String, _ value: Int, _ help: String, _ label: (String, String)...) {
        metrics.gauge(name, label, help: help).set(value)
    }
}
