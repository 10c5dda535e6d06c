internal import HTTPServer
internal import Runtime
private import Synchronization

/// Counts HTTP requests by route and status, and their duration by route; makes a span of each whose trace is recorded (D11).
final class GatewayMetrics: Sendable {
    private struct Key: Hashable {
        let template: String
        let status: Int
    }

    private let metrics: Metrics
    private let tracer: Tracer
    private let refused: Counter
    /// Requests without their reply yet.
    let inFlight: Gauge
    private let counters = Mutex<[Key: Counter]>([:])
    private let durations = Mutex<[String: Histogram]>([:])

    init(_ metrics: Metrics, tracer: Tracer) {
        self.metrics = metrics
        self.tracer = tracer
        refused = metrics.counter("streaksnap_http_refused_total", help: "Requests refused because as much ran as may.")
        inFlight = metrics.gauge("streaksnap_http_in_flight", help: "Requests without their reply yet.")
    }

    /// A request was turned away at the door.
    func refusedOne() { refused.increment() }

    /// What arrived did not become a request, and was answered with this status.
    func malformed(status: Int) { count("none", status: status) }

    /// A request has its reply.
    ///
    /// - Parameter template: The route as declared, so that neither series nor names of spans depend on what clients send.
    func completed(_ exchange: Exchange, _ request: HTTPRequest, _ template: String, status: Int, _ duration: Duration) {
        count(template, status: status)
        time(template, duration)
        tracer.record(exchange.trace) {
            Span(
                exchange.trace,
                parent: exchange.parent,
                name: "\(Self.method(request)) \(template)",
                kind: .server,
                duration: duration,
                attributes: [
                    ("http.request.method", .text(Self.method(request))), ("http.route", .text(template)),
                    ("http.response.status_code", .number(status)), ("streaksnap.request_id", .text(exchange.requestID)),
                ],
                failure: status >= 500 ? "\(status)" : nil
            )
        }
    }

    /// Clients may send any word.
    private static func method(_ request: HTTPRequest) -> String {
        let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        return known.contains(request.method.rawValue) ? request.method.rawValue : "_OTHER"
    }

    private func count(_ template: String, status: Int) {
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
    }

    private func time(_ template: String, _ duration: Duration) {
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
