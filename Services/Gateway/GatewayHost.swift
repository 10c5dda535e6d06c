internal import BlobConfiguration
internal import BlobStore
internal import Bus
internal import HTTPServer
internal import Kernel
public import Logging
internal import NIOCore
public import Runtime
private import Synchronization
internal import Tokens
internal import Transcoding

/// One running gateway: HTTP in, bus requests out. Start: bus → services' routes, keys and revocations → port. Stop: port → requests → bus.
public final class GatewayHost: Program {
    public static let name = "gateway"
    public static let about = "HTTP in, bus requests out"
    public static let settings: [any AnySetting] = CommonSettings.process + GatewaySettings.all

    private let settings: Settings
    private let logger: Logger
    private let metrics: Metrics
    private let clock: any Clock
    private let descriptors: DescriptorCache?
    private let crossOrigin: CrossOrigin
    private let drainTimeout: Duration
    private let parts = Mutex(Parts())
    private let draining = Draining()

    private struct Parts {
        var bus: BusConnection?
        var health: HealthRoutes?
        var revocations: BusSubscription?
        var listener: HTTPListener?
        var helpers: [Task<Void, Never>] = []
        var streams: StreamHub?
        var spans: Task<Void, Never>?
        var port = 0
    }

    /// A gateway that is not started yet.
    ///
    /// - Throws: `Settings.Invalid`.
    public convenience init(settings: Settings, logger: Logger, metrics: Metrics) throws {
        try self.init(settings: settings, logger: logger, metrics: metrics, clock: nil)
    }

    /// - Parameters:
    ///   - clock: the development clock of the process that moves it, so that both show the same; nil for one of its own, where the
    ///     settings ask for one.
    ///   - descriptors: those that gateways of this process have had.
    public init(
        settings: Settings,
        logger: Logger,
        metrics: Metrics,
        clock: DevelopmentClock?,
        descriptors: DescriptorCache? = nil
    ) throws {
        self.descriptors = descriptors
        self.settings = settings
        self.logger = logger
        self.metrics = metrics.labelled([("service", "gateway")])
        let isDevelopment = try settings.get(CommonSettings.developmentClock)
        self.clock = isDevelopment ? clock ?? DevelopmentClock() : SystemClock()
        self.drainTimeout = .seconds(try settings.get(GatewaySettings.drainTimeout))
        self.crossOrigin = try CrossOrigin(try settings.get(GatewaySettings.corsOrigins))
    }

    /// The port it listens on; 0 unless it does.
    public var port: Int { parts.withLock { $0.port } }

    /// Connections that are served now.
    var openConnections: Int { parts.withLock { $0.listener }?.openConnections ?? 0 }

    /// Memory that heads of requests take which have not arrived whole.
    var headBytes: Int { parts.withLock { $0.listener }?.headBytes ?? 0 }

    /// Brings the gateway up: it listens when it knows its routes, signing keys and revocations, or when `gateway.ready-timeout` is over.
    ///
    /// - Throws: `Settings.Invalid`; the bus's or the operating system's error when it cannot connect or listen.
    public func start() async throws {
        let place = try place()
        let zones = try ZoneDataWatch(settings, logger: logger, metrics: metrics)
        let tracer = try Tracer(settings, service: "gateway", logger: logger, metrics: metrics)
        var broker = try BusConfiguration(settings, name: "gateway")
        broker.sealer = try Sealer(settings, logger)
        let bus = try await BusConnection.waiting(
            broker,
            logger: logger,
            metrics: metrics,
            tracer: tracer
        )
        let services = try settings.get(GatewaySettings.services).settingEntries
        let publicKeys = try settings.get(ServiceKeySettings.publicKeys)
        let catalog = ServiceCatalog(
            bus: bus,
            expected: services,
            logger: logger,
            rules: try GatewayRules.routes(settings),
            keys: publicKeys,
            cache: descriptors,
            fingerprints: settings.fingerprints
        )
        catalog.show(in: metrics)
        if publicKeys.isEmpty {
            logger.warning("descriptors and signing keys are not checked: service.public-keys is not set")
        }
        let verifier = TokenVerifier(clock: clock)
        let revocations = Revocations()
        let feed = RevocationFeed(bus: bus, revocations: revocations, logger: logger)
        let subscription = try feed.listen()
        let health = HealthRoutes(
            bus: bus,
            catalog: catalog,
            expected: Set(services),
            canJudgeTokens: { verifier.hasKeys && feed.isReady },
            isDraining: { [draining] in draining.hasBegun },
            clock: clock
        )
        let authenticator = Authenticator(verifier: verifier, revocations: revocations)
        let responder = try await makeResponder(bus, catalog, authenticator, health, tracer)
        let keys = KeyRefresher(
            bus: bus,
            catalog: catalog,
            verifier: verifier,
            service: try settings.get(GatewaySettings.tokenService),
            keys: publicKeys,
            logger: logger
        )
        parts.withLock { parts in
            parts.bus = bus
            parts.health = health
            parts.revocations = subscription
            parts.spans = Task { await tracer.run() }
            parts.streams = responder.streams
            parts.helpers = [
                Task { await catalog.run() }, Task { await keys.run() }, Task { await feed.run() },
                Task { await responder.streams.run() }, Task { await zones.run() },
            ]
        }
        if let clock = clock as? DevelopmentClock {
            clock.show(in: metrics)
            let follower = DevelopmentClockFollower(clock: clock, bus: bus, logger: logger, restoresState: true)
            parts.withLock { $0.helpers.append(Task { await follower.run() }) }
        }
        try await untilReady(health)
        try await listen(responder, on: place)
    }

    /// Whether every service answers and tokens can be verified.
    public var isReady: Bool { parts.withLock { $0.health }?.isReady ?? false }

    /// Takes no more connections, answers what the open ones ask (`http.drain-timeout`), finishes what runs, closes the bus.
    public func stop() async {
        draining.begin()
        let parts = parts.withLock { parts -> Parts in
            defer { parts = Parts() }
            return parts
        }
        // Beside the draining of connections, which waits for those of the streams too.
        let streams = Task { await parts.streams?.drain() }
        await parts.listener?.drain(within: drainTimeout)
        await streams.value
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
        let secret = Array(try BlobSettings.linkSecret(settings).utf8)
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
                uploads: UploadRoute(
                    blobs: blobs,
                    signer: SignedUpload(secret: secret),
                    clock: clock,
                    ids: ids,
                    logger: logger,
                    bodyTimeout: bodyTimeout
                ),
                documentation: DocumentationRoutes(catalog: catalog, developmentClock: clockRoutes != nil, clock: clock),
                pages: PageRoutes(isDevelopment: clockRoutes != nil),
                session: ConsoleSession(bodyTimeout: bodyTimeout),
                clock: clockRoutes
            ),
            uploads: UploadReceiver(blobs: blobs, ids: ids, logger: logger, bodyTimeout: bodyTimeout),
            limiter: RequestLimiter(
                limit: try settings.get(GatewaySettings.maxInFlight),
                isShared: try settings.get(GatewaySettings.addressRate) > 0
            ),
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
            contentPolicy: try ContentPolicy(settings),
            bodyTimeout: bodyTimeout,
            streams: StreamHub(
                bus: bus,
                revocations: authenticator.revocations,
                clock: clock,
                ids: ids,
                most: try settings.get(GatewaySettings.maxStreams),
                metrics: StreamMetrics(metrics),
                logger: logger
            )
        )
    }

    /// What heads may take: one address has an eighth, as of the places of bodies.
    private func heads(_ addresses: ClientAddresses) throws -> HTTPHeads {
        let memory = try settings.get(GatewaySettings.headMemory) << 20
        return HTTPHeads(
            inAll: memory,
            share: try settings.get(GatewaySettings.addressRate) > 0 ? memory / 8 : memory,
            timeout: .seconds(try settings.get(GatewaySettings.headTimeout)),
            client: { addresses.holder(of: $0?.ip) }
        )
    }

    private func place() throws -> HTTPListener.Place {
        if let descriptor = try InheritedSocket.take() { return .inherited(descriptor) }
        return .address(host: try settings.get(GatewaySettings.host), port: try settings.get(GatewaySettings.port))
    }

    private func untilReady(_ health: HealthRoutes) async throws {
        let started = ContinuousClock.now
        let deadline = started.advanced(by: .seconds(try settings.get(GatewaySettings.readyTimeout)))
        var readiness = Readiness(expecting: health.expected, now: started)
        while !readiness.isReached(health.view, now: .now) {
            guard ContinuousClock.now < deadline else {
                let missing = health.reasons.joined(separator: ", ")
                return logger.warning("listening before everything is known", metadata: ["missing": "\(missing)"])
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func listen(_ responder: GatewayResponder, on place: HTTPListener.Place) async throws {
        // A client that is refused as too slow gets the time to read that.
        let closing = Duration.seconds(Int64(try settings.get(GatewaySettings.bodyTimeout)) + 5)
        let channel = GatewayChannel(
            responder: responder,
            refusals: Refusals(ids: responder.ids, crossOrigin: responder.crossOrigin, metrics: responder.metrics),
            heads: try heads(responder.addresses),
            bodyLimit: closing,
            idleTimeout: .seconds(Int64(try settings.get(GatewaySettings.idleTimeout)))
        )
        let wanted = try settings.get(GatewaySettings.maxConnections)
        let most = OpenFiles.connections(atMost: wanted)
        if most < wanted {
            let message: Logger.Message = "fewer connections than http.max-connections: too few files may be open"
            logger.notice(message, metadata: ["most": "\(most)"])
        }
        let share =
            try settings.get(GatewaySettings.addressRate) > 0 ? try settings.get(GatewaySettings.addressConnections) : most
        let shares = ConnectionShares(share: share) { [addresses = responder.addresses] in addresses.holder(of: $0?.ip) }
        let listener = HTTPListener(channel, most: most, shares, logger: logger)
        let port: Int
        do { port = try await listener.listen(on: place) } catch {
            guard case .address(let host, let wanted) = place else { throw error }
            throw Settings.Invalid.address("\(host):\(wanted)", of: GatewaySettings.host, and: GatewaySettings.port, "\(error)")
        }
        parts.withLock { parts in
            parts.listener = listener
            parts.port = port
        }
        logger.info("listening", metadata: ["port": "\(port)", "inherited": "\(place.isInherited)"])
    }
}
