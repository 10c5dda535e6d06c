internal import Bus
internal import Kernel
internal import Logging
internal import Outbox
internal import Runtime

/// Says in the log and in `/metrics` when JetStream does not answer although the broker does, and what to do.
///
/// nats-server 2.9 is like that once its disk was full, until it is restarted, and says nothing itself. Requests are served meanwhile, as far
/// as the broker gets them; events wait in the outbox.
struct JetStreamMonitor: Sendable {
    private let jetStream: JetStream
    private let bus: BusConnection
    private let stream: String
    private let logger: Logger
    private let metrics: Metrics
    private let interval: Duration

    /// - Parameters:
    ///   - service: whose stream is asked about: the one question of the API that each service may ask of any broker.
    ///   - timeout: how long an answer may take.
    ///   - interval: between two questions.
    init(
        service: String,
        bus: BusConnection,
        logger: Logger,
        metrics: Metrics,
        timeout: Interval = .seconds(5),
        interval: Duration = .seconds(5)
    ) {
        self.jetStream = JetStream(connection: bus, timeout: timeout)
        self.bus = bus
        self.stream = EventConsumer.streamName(ofService: service)
        self.logger = logger
        self.metrics = metrics
        self.interval = interval
    }

    func run() async {
        let answers = metrics.gauge("streaksnap_jetstream_answers", [], help: "1 when JetStream answers, else 0.")
        answers.set(1)
        var silences = 0
        while !Task.isCancelled {
            switch await look() {
            case .answers:
                if silences > 1 { logger.notice("JetStream answers again") }
                silences = 0
                answers.set(1)
            case .away: answers.set(0)
            case .silent:
                silences += 1
                answers.set(0)
                // One may be a broker that was away for a moment. Then at once, and about every two minutes.
                if silences % 12 == 2 {
                    logger.error(
                        "JetStream does not answer although the broker does: events wait in the outbox",
                        metadata: [
                            "stream": "\(stream)",
                            "wayOut":
                                "Make space on the broker's disk and restart the broker (after a full disk 2.9 also ignores SIGTERM). If only some services say this, its nats.conf is older than they are.",
                        ]
                    )
                }
            }
            try? await Task.sleep(for: interval)
        }
    }

    private enum Observation { case answers, silent, away }

    private func look() async -> Observation {
        do {
            _ = try await jetStream.streamInfo(stream)
            return .answers
        } catch is JetStreamError {
            return .answers
        } catch let error as ServiceError where error.code == .deadlineExceeded && bus.isConnected {
            return .silent
        } catch { return .away }
    }
}
