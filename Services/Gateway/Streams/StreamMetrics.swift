internal import Runtime

/// What an operator sees of the streams (D11).
struct StreamMetrics: Sendable {
    let open: Gauge
    let events: Counter
    let questions: Counter
    private let ends: [StreamHub.End: Counter]

    init(_ metrics: Metrics) {
        open = metrics.gauge("streaksnap_streams_open", help: "Streams of server-sent events that are open.")
        events = metrics.counter("streaksnap_stream_events_total", help: "Events sent on streams.")
        questions = metrics.counter(
            "streaksnap_stream_questions_total",
            help: "Questions for what an open stream has missed on the bus."
        )
        ends = Dictionary(
            uniqueKeysWithValues: StreamHub.End.allCases.map { reason in
                let help = "Streams that have ended, by the reason."
                return (reason, metrics.counter("streaksnap_streams_ended_total", [("reason", reason.rawValue)], help: help))
            }
        )
    }

    func ended(_ reason: StreamHub.End) { ends[reason]?.increment() }
}
