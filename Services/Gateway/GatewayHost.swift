internal import BlobConfiguration
internal import BlobStore
internal import Bus
internal import Hummingbird
internal import HummingbirdCore
internal import Kernel
public import Logging
public import Runtime
internal import ServiceLifecycle
private import Synchronization
internal import Tokens
internal import Transcoding

/// One running gateway: HTTP in, bus requests out. Start: bus → services' routes and keys → port. Stop: port → requests → bus.
public final class GatewayHost: Program {
    public static let name = "gateway"
    public static let about = "HTTP in, bus requests out"
    public static let settings: [any AnySetting] = CommonSettings.process + GatewaySettings.all

    private let settings: Settings
    private let logger: Logger
    private let metrics: Metrics
    private let clock: any Clock
    private let crossOrigin: CrossOrigin
    private let parts = Mutex(Parts())

    private struct Parts {
        var bus: BusConnection?
        var health: HealthRoutes?
        var revocations: BusSubscription?
        var group: ServiceGroup?
        var server: Task<Void, any Error>?
        var helpers: [Task<Void, Never>] = []
        var spans: Task<Void, Never>?
        var port = 0
    }

    /// A gateway that is not started yet.
    ///
    /// - Throws: `Settings.Invalid`.
    public init(settings: Settings, logger: Logger, metrics: Metrics) throws {
        self.settings = settings
        self.logger = logger
        self.metrics = metrics.labelled([("service", "gateway")])
        self.clock = try settings.get(CommonSettings.developmentClock) ? DevelopmentClock() : SystemClock()
        self.crossOrigin = try CrossOrigin(try settings.get(GatewaySettings.corsOrigins))
    }

    /// The port it listens on; 0 unless it does.
    public var port: Int { parts.withLock { $0.port } }

    /// Brings the gateway up.
    ///
    /// - Throws: `Settings.Invalid`; the bus's or the operating system's error when it cannot connect or listen.
    public func start() async throws {
        let tracer = try Tracer(settings, service: "gateway", logger: logger, metrics: metrics)
        let bus = try await BusConnection.waiting(
            try BusConfiguration(settings, name: "gateway"),
            logger: logger,
            metrics: metrics,
            tracer: tracer
        )
        let catalog = ServiceCatalog(bus: bus, logger: logger)
        let verifier = TokenVerifier(clock: clock)
        let revocations = Revocations()
        let feed = RevocationFeed(bus: bus, catalog: catalog, revocations: revocations, clock: clock, logger: logger)
        let subscription = try feed.listen()
        let expected = Set(try settings.get(GatewaySettings.services).split(separator: ",").map(String.init))
        let health = HealthRoutes(
            bus: bus,
            catalog: catalog,
            expected: expected,
            canJudgeTokens: { verifier.hasKeys && revocations.isComplete },
            clock: clock
        )
        let authenticator = Authenticator(verifier: verifier, revocations: revocations)
        let responder = try await makeResponder(bus, catalog, authenticator, health, tracer)
        let keys = KeyRefresher(bus: bus, catalog: catalog, verifier: verifier, logger: logger)
        parts.withLock { parts in
            parts.bus = bus
            parts.health = health
            parts.revocations = subscription
            parts.spans = Task { await tracer.run() }
            parts.helpers = [
                Task { await catalog.run(expecting: expected) }, Task { await keys.run() }, Task { await feed.run() },
            ]
        }
        let port = try await listen(responder)
        parts.withLock { $0.port = port }
    }

    /// Whether every service answers and tokens can be verified.
    public var isReady: Bool { parts.withLock { $0.health }?.isReady ?? false }

    /// Takes no more connections, finishes what runs, closes the bus.
    public func stop() async {
        let parts = parts.withLock { parts -> Parts in
            defer { parts = Parts() }
            return parts
        }
        // Graceful: no new connections, and every request that runs gets its answer.
        await parts.group?.triggerGracefulShutdown()
        _ = try? await parts.server?.value
        for task in parts.helpers { task.cancel() }
        parts.revocations?.cancel()
        await parts.bus?.close()
        // The last requests' spans too.
        parts.spans?.cancel()
        await parts.spans?.value
        logger.info("stopped", metadata: ["service": "gateway"])
    }

    private func makeResponder(
        _ bus: BusConnection,
        _ catalog: ServiceCatalog,
        _ authenticator: Authenticator,
        _ health: HealthRoutes,
        _ tracer: Tracer
    ) async throws -> GatewayResponder {
        let blobs = try await BlobSettings.store(settings, logger: logger)
        let secret = Array(try settings.get(BlobSettings.signingKey).utf8)
        let bodyTimeout = Duration.seconds(try settings.get(GatewaySettings.bodyTimeout))
        var clockRoutes: ClockRoutes?
        if let clock = clock as? DevelopmentClock {
            let coordinator = DevelopmentClockCoordinator(bus: bus, clock: clock)
            try await coordinator.restore()
            clockRoutes = ClockRoutes(clock: clock, coordinator: coordinator, bodyTimeout: bodyTimeout)
        }
        let ids = UUIDv7Source(clock: clock)
        return GatewayResponder(
            catalog: catalog,
            authenticator: authenticator,
            bus: bus,
            own: OwnRoutes(
                health: health,
                media: MediaRoute(blobs: blobs, signer: SignedURL(secret: secret), clock: clock),
                documentation: DocumentationRoutes(catalog: catalog, developmentClock: clockRoutes != nil),
                clock: clockRoutes
            ),
            uploads: UploadReceiver(blobs: blobs, ids: ids, logger: logger, bodyTimeout: bodyTimeout),
            limiter: RequestLimiter(limit: try settings.get(GatewaySettings.maxInFlight)),
            ids: ids,
            logger: logger,
            metrics: GatewayMetrics(metrics, tracer: tracer),
            tracer: tracer,
            addresses: try ClientAddresses(trusted: try settings.get(GatewaySettings.trustedProxies)),
            limits: RateLimits(
                userRate: try settings.get(GatewaySettings.userRate),
                addressRate: try settings.get(GatewaySettings.addressRate)
            ),
            crossOrigin: crossOrigin,
            bodyTimeout: bodyTimeout
        )
    }

    private func listen(_ responder: GatewayResponder) async throws -> Int {
        var quiet = logger
        quiet.logLevel = .error
        let (ports, announce) = AsyncStream.makeStream(of: Int.self)
        // A client that is refused as too slow gets the time to read that.
        let closing = Duration.seconds(Int64(try settings.get(GatewaySettings.bodyTimeout)) + 5)
        let http = HTTP1Channel.Configuration(
            additionalChannelHandlers: [BodyDeadline(closing)],
            idleTimeout: .seconds(Int64(try settings.get(GatewaySettings.idleTimeout)))
        )
        let refusals = Refusals(ids: responder.ids, crossOrigin: responder.crossOrigin, metrics: responder.metrics)
        let application = Application(
            responder: responder,
            server: HTTPServerBuilder { responder in
                GatewayChannel(http: HTTP1Channel(responder: responder, configuration: http), refusals: refusals)
            },
            configuration: .init(
                address: .hostname(try settings.get(GatewaySettings.host), port: try settings.get(GatewaySettings.port)),
                serverName: nil,
                availableConnectionsDelegate: MaximumAvailableConnections(try settings.get(GatewaySettings.maxConnections))
            ),
            onServerRunning: { channel in
                announce.yield(channel.localAddress?.port ?? 0)
                announce.finish()
            },
            logger: quiet
        )
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: application, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: quiet
            )
        )
        let server = Task {
            defer { announce.finish() }
            try await group.run()
        }
        parts.withLock { parts in
            parts.group = group
            parts.server = server
        }
        for await port in ports {
            logger.info("listening", metadata: ["port": "\(port)"])
            return port
        }
        try await server.value
        throw Settings.Invalid("The HTTP server ended before it listened.")
    }
}
