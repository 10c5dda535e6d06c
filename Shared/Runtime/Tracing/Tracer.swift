public import Bus
internal import Kernel
public import Logging
private import Synchronization

/// Decides which traces are recorded, and sends their spans to the collector that the settings name (D11).
///
/// Recording is an append to a bounded buffer: a collector that is slow or away costs spans, never a request.
public final class Tracer: Sendable {
    /// Spans that may wait; the oldest give way.
    static let capacity = 4_096
    private static let batch = 512
    private static let pause = Duration.milliseconds(200)

    private let ratio: Double
    private let collector: Collector?
    private let encoder: OTLPEncoder
    private let logger: Logger
    private let exported: Counter
    private let dropped: Counter
    private let refused: Counter
    private let buffer = Mutex(SpanBuffer(capacity: Tracer.capacity))

    /// A tracer for one service of this process; `run` sends what it records.
    ///
    /// - Throws: `Settings.Invalid`.
    public init(_ settings: Settings, service: String, logger: Logger, metrics: Metrics) throws {
        let endpoint = try settings.get(CommonSettings.otlpEndpoint)
        ratio = try settings.get(CommonSettings.sampleRatio)
        guard (0...1).contains(ratio) else { throw Settings.Invalid("--trace-sample-ratio must be from 0 to 1.") }
        collector = Collector(endpoint: endpoint)
        guard endpoint.isEmpty || collector != nil else {
            throw Settings.Invalid("--otlp-endpoint must be http://HOST:PORT; for TLS put a collector in between.")
        }
        encoder = OTLPEncoder(
            resource: [
                ("service.namespace", "streaksnap"), ("service.name", service), ("service.version", BuildInfo.version),
                ("service.instance.id", TraceContext.random().traceID),
            ]
        )
        self.logger = logger
        let help = "Spans that the collector never got: overflow (too many waited) or refused (it would not have them)."
        exported = metrics.counter("streaksnap_spans_exported_total", help: "Spans that the collector has taken.")
        dropped = metrics.counter("streaksnap_spans_dropped_total", [("reason", "overflow")], help: help)
        refused = metrics.counter("streaksnap_spans_dropped_total", [("reason", "refused")], help: help)
    }

    /// Whether anything is recorded at all.
    public var isOn: Bool { collector != nil }

    /// The root of a trace that begins here: recorded as often as the settings say.
    public func root() -> TraceContext { .random(recorded: isOn ? ratio : 0) }

    /// Keeps a span for the collector; does nothing when its trace is not recorded.
    public func record(_ context: TraceContext, _ make: () -> Span) {
        guard isOn, context.isSampled else { return }
        let span = make()
        buffer.withLock { $0.append(span) }
    }

    /// Sends until cancelled, and then once more what is left.
    public func run() async {
        guard let collector else { return }
        var failures = 0
        while !Task.isCancelled {
            // A collector that is away is asked ever more rarely, at most every 30 s.
            try? await Task.sleep(for: failures == 0 ? Self.pause : .milliseconds(min(30_000, 250 << min(failures, 7))))
            if Task.isCancelled { break }
            while await send(to: collector, &failures) {}
        }
        var last = failures
        while await send(to: collector, &last), last == 0 {}
    }

    /// Sends one batch.
    ///
    /// - Returns: whether there may be more to send now.
    private func send(to collector: Collector, _ failures: inout Int) async -> Bool {
        let (batch, lost) = buffer.withLock { ($0.take(atMost: Self.batch), $0.takeDropped()) }
        dropped.increment(by: lost)
        guard !batch.isEmpty else { return false }
        let problem: String
        do {
            let status = try await collector.post(encoder.encode(batch))
            switch status {
            case 200..<300:
                exported.increment(by: batch.count)
                failures = 0
                return true
            case 429, 502, 503, 504:
                problem = "status \(status)"
                buffer.withLock { $0.putBack(batch) }
            default:
                problem = "status \(status)"
                refused.increment(by: batch.count)
            }
        } catch {
            problem = "\(error)"
            buffer.withLock { $0.putBack(batch) }
        }
        failures += 1
        // The first, and then ever more rarely.
        if failures & (failures - 1) == 0 {
            logger.warning(
                "spans are not taken by the collector",
                metadata: ["problem": "\(problem)", "failures": "\(failures)"]
            )
        }
        return false
    }
}
