internal import Kernel
internal import Outbox

/// How far the events of one service are behind (D11): what has not left its outbox, what it has not heard, what it could not handle.
///
/// Looked at every few seconds, however often `/metrics` is asked. While the database or the broker is away the numbers that need it stay
/// as they were; `/readyz` and the logs tell.
struct EventMetrics: Sendable {
    private static let interval = Duration.seconds(5)

    private let metrics: Metrics
    private let relay: OutboxRelay
    private let consumer: EventConsumer

    init(_ metrics: Metrics, relay: OutboxRelay, consumer: EventConsumer) {
        self.metrics = metrics
        self.relay = relay
        self.consumer = consumer
    }

    func run() async {
        while !Task.isCancelled {
            _ = try? await withTimeLimit(.seconds(30), look)
            try? await Task.sleep(for: Self.interval)
        }
    }

    @Sendable func look() async {
        if let lag = try? await relay.lag() {
            set("streaksnap_outbox_backlog", lag.waiting, "Committed events that the broker does not have yet.")
            set(
                "streaksnap_outbox_oldest_age_seconds",
                Int(lag.oldestAge.seconds),
                "How long ago the oldest event that waits in the outbox was committed."
            )
        }
        for (stream, pending) in (try? await consumer.pending()) ?? [:] {
            set("streaksnap_consumer_pending", pending, "Messages of the stream that were not passed yet.", ("stream", stream))
        }
        if let lag = try? await consumer.retries() {
            set("streaksnap_events_retrying", lag.retrying, "Events that failed and are tried again, or wait behind such a one.")
            set("streaksnap_events_parked", lag.parked, "Events that were given up until an operator re-drives them.")
        }
    }

    private func set(_ name: String, _ value: Int, _ help: String, _ label: (String, String)...) {
        metrics.gauge(name, label, help: help).set(value)
    }
}
