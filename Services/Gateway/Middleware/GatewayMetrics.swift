internal import Runtime
private import Synchronization

/// Counts HTTP requests by route and status, and their duration by route (D11).
final class GatewayMetrics: Sendable {
    private struct Key: Hashable {
        let template: String
        let status: Int
    }

    private let metrics: Metrics
    private let counters = Mutex<[Key: Counter]>([:])
    private let durations = Mutex<[String: Histogram]>([:])

    init(_ metrics: Metrics) { self.metrics = metrics }

    func completed(_ template: String, status: Int, _ duration: Duration) {
        let counter = counters.withLock { counters -> Counter in
            let key = Key(template: template, status: status)
            if let known = counters[key] { return known }
            let made = metrics.counter(
                "streaksnap_http_requests_total",
                [("route", template), ("status", String(status))],
                help: "HTTP requests by outcome."
            )
            counters[key] = made
            return made
        }
        counter.increment()
        let histogram = durations.withLock { durations -> Histogram in
            if let known = durations[template] { return known }
            let made = metrics.histogram(
                "streaksnap_http_duration_seconds",
                [("route", template)],
                help: "Time from request to reply."
            )
            durations[template] = made
            return made
        }
        histogram.record(duration)
    }
}
