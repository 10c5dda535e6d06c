internal import Hummingbird
public import Logging

/// `/metrics`, `/healthz` and `/readyz` of one executable, on a port that clients do not reach.
public struct AdminServer: Sendable {
    private let host: String
    private let port: Int
    private let metrics: Metrics
    private let logger: Logger
    private let isReady: @Sendable () -> Bool

    /// What it listens on.
    var address: String { "\(host):\(port)" }

    /// - Parameter isReady: asked for each `/readyz`.
    public init(host: String, port: Int, metrics: Metrics, logger: Logger, isReady: @escaping @Sendable () -> Bool) {
        self.host = host
        self.port = port
        self.metrics = metrics
        self.logger = logger
        self.isReady = isReady
    }

    /// Serves until cancelled.
    ///
    /// - Parameter isListening: called once the port is open.
    public func run(isListening: @escaping @Sendable () -> Void = {}) async throws {
        let router = Router()
        let (metrics, isReady) = (metrics, isReady)
        ProcessMetrics.add(to: metrics)
        metrics.measured("streaksnap_ready", help: "1 when /readyz says ready, else 0.") { isReady() ? 1 : 0 }
        router.get("/metrics") { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: .init(byteBuffer: ByteBuffer(string: metrics.text()))
            )
        }
        router.get("/healthz") { _, _ in "alive\n" }
        router.get("/readyz") { _, _ in
            isReady()
                ? Response(status: .ok, body: .init(byteBuffer: ByteBuffer(string: "ready\n")))
                : Response(status: .serviceUnavailable, body: .init(byteBuffer: ByteBuffer(string: "not ready\n")))
        }
        var quiet = logger
        // It calls its own end an error; that it cannot listen is thrown.
        quiet.logLevel = .critical
        let application = Application(
            router: router,
            configuration: .init(address: .hostname(host, port: port), serverName: nil),
            onServerRunning: { _ in isListening() },
            logger: quiet
        )
        try await application.run()
    }
}
