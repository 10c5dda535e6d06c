internal import Bus
internal import Database
internal import CommonAPI
public import Kernel
public import Logging
internal import Loop
internal import Outbox
public import Runtime
private import Synchronization

/// One running replica of a service. Starts its parts in the order of their dependencies and stops them in reverse.
///
/// Start: spans → database and migrations → bus → relay → events and jobs → requests. Stop: requests drain first, then
/// jobs and events end, then what is in the outbox leaves, and the connections close. What fails at the start stops what was started.
public final class ServiceHost<Module: ServiceModule>: Program {
    /// The service's.
    public static var name: String { Module.name }
    /// The service's.
    public static var about: String { Module.about }
    /// The service's.
    public static var version: String { Module.version }
    /// Those of every service, and those of all features.
    public static var settings: [any AnySetting] { Module.settings }
    /// What an operator does with parked events, and the service's own.
    public static var commands: [ProgramCommand] {
        [EventsCommand.command(schema: Module.name, replay: Module.replay)] + Module.commands
    }

    private let settings: Settings
    private let logger: Logger
    private let metrics: Metrics
    private let clock: any Clock
    private let ids: any IDSource
    private let lifecycle: Lifecycle
    private let quotas: Quotas
    private let state = Mutex(State())

    private struct State {
        var database: Database?
        var bus: BusConnection?
        var time: ClockCheck?
        var isServing = false
    }

    /// A replica that is not started yet.
    ///
    /// - Parameters:
    ///   - metrics: Takes this replica's, each with the label `service`.
    ///   - clock: nil means the machine's clock, or the development clock when the settings ask for it.
    /// - Throws: `Settings.Invalid`.
    public init(settings: Settings, logger: Logger, metrics: Metrics = Metrics(), clock: (any Clock)?) throws {
        self.settings = settings
        self.logger = logger
        self.metrics = metrics.labelled([("service", Module.name)])
        let isDevelopment = try settings.get(CommonSettings.developmentClock)
        self.clock = clock ?? (isDevelopment ? DevelopmentClock() : SystemClock())
        self.ids = UUIDv7Source(clock: self.clock)
        // Before anything is connected to: a limit that would hold for nothing ends the start.
        self.quotas = try Quotas(settings, of: Module.quotaNames)
        self.lifecycle = Lifecycle(logger: logger)
    }

    /// A replica with the machine's clock, or the development clock when the settings ask for it.
    public convenience init(settings: Settings, logger: Logger, metrics: Metrics) throws {
        try self.init(settings: settings, logger: logger, metrics: metrics, clock: nil)
    }

    /// Brings the replica up; returns when it answers requests.
    ///
    /// - Throws: `Settings.Invalid` for unusable settings, `BusConnectionError` when the bus refuses the credentials, and whatever the
    ///   service needs and does not get. A database or broker that is away is waited for, visibly.
    public func start() async throws {
        do { try await bringUp() } catch {
            await stop()
            throw error
        }
        logger.info("ready", metadata: ["service": "\(Module.name)"])
    }

    /// Takes no more requests, finishes what runs, and closes everything in the reverse order of the start.
    public func stop() async {
        state.withLock { $0.isServing = false }
        await lifecycle.stop()
        state.withLock { $0 = State() }
        logger.info("stopped", metadata: ["service": "\(Module.name)"])
    }

    /// Whether the replica answers, its database is reachable and not full, its bus connected, and its clock not far ahead.
    public var isReady: Bool {
        isTimely && state.withLock { $0.isServing && ($0.bus?.isConnected ?? false) && ($0.database?.health.isWell ?? false) }
    }

    private var isTimely: Bool { state.withLock { $0.time?.isRight ?? true } }

    private func bringUp() async throws {
        let zones = try ZoneDataWatch(settings, logger: logger, metrics: metrics)
        start("zone data") { await zones.run() }
        let tracer = try Tracer(settings, service: Module.name, logger: logger, metrics: metrics)
        start("spans") { await tracer.run() }
        let configuration = try databaseConfiguration()
        let loop = try startLoop()
        let database = try await startDatabase(configuration, on: loop)
        let bus = try await connectBus(tracer, on: loop)
        let jetStream = JetStream(connection: bus)
        try await prepareClock(bus)
        let presence = try startPresence(configuration)
        let relay = OutboxRelay(
            database: database,
            jetStream: jetStream,
            bus: bus,
            service: Module.name,
            ids: ids,
            logger: logger,
            presence: presence
        )
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: ids, relay: relay)
        let barrier = EventBarrier(database: database, bus: bus)
        let mutations = Mutations(work: work, database: database, barrier: barrier, presence: presence)
        let features = try ServiceSettings.loaded(Module.features, settings)
        let environment = ServiceEnvironment(
            settings: settings,
            features: Set(features.map(\.name)),
            clock: clock,
            ids: ids,
            database: database,
            bus: bus,
            work: work,
            mutations: mutations,
            logger: logger,
            metrics: metrics,
            quotas: quotas
        )
        let personalData = PersonalDataFeature.feature(service: Module.name, Module.features, Module.personalData)
        let loaded = try await load(features + [personalData].compactMap { $0 }, environment, jetStream, presence)
        let consumers = loaded.consumers
        environment.events.follow(consumers)
        let all = loaded.jobs + housekeeping(relay: relay, mutations: mutations, consumers: consumers)
        let standings = JobStandings()
        let jobs = JobRunner(jobs: all, clock: clock, logger: logger, metrics: metrics, standings: standings) { self.isTimely }
        let lag = JobLag(jobs: all, clock: clock, logger: logger, metrics: metrics, standings: standings)
        // What was committed a moment ago leaves now rather than at the next start.
        start("relay", finally: { await relay.finish() }) { await relay.run() }
        start("events") { await consumers.run() }
        start("jobs") { await jobs.run() }
        start("job lag") { await lag.run() }
        startMeasuring(EventMetrics(metrics, database: database, relay: relay, consumers: consumers), bus)
        let operations = ServiceOperations(
            service: Module.name,
            database: database,
            relay: relay,
            consumers: consumers,
            jobs: all,
            standings: standings,
            logger: logger
        )
        for prepare in loaded.preparations { await prepare() }
        let service = try await startService(loaded, operations, on: bus, barrier, tracer)
        lifecycle.started("requests") { await service.drain() }
        try listenForClock(bus, DueWork(jobs: jobs, relay: relay, consumers: consumers))
        state.withLock { $0.isServing = true }
    }

    /// Shows other replicas that this one lives; nil when the settings do not want it.
    private func startPresence(_ configuration: DatabaseConfiguration) throws -> ReplicaPresence? {
        guard try settings.get(ServiceSettings.databasePresence) else { return nil }
        let presence = ReplicaPresence(configuration, ids: ids, logger: logger)
        start("presence") { await presence.run() }
        return presence
    }

    private func startMeasuring(_ events: EventMetrics, _ bus: BusConnection) {
        start("event lag") { await events.run() }
        let monitor = JetStreamMonitor(service: Module.name, bus: bus, logger: logger, metrics: metrics)
        start("jetstream") { await monitor.run() }
    }

    /// What the loaded features come to.
    private struct Loaded: Sendable {
        var (features, endpoints): ([String], [Endpoint]) = ([], [])
        var consumers: [EventConsumer] = []
        var jobs: [Job] = []
        var protections: [@Sendable () async throws -> Void] = []
        var preparations: [@Sendable () async -> Void] = []
    }

    private func load(
        _ features: [ServiceFeature],
        _ environment: ServiceEnvironment,
        _ jetStream: JetStream,
        _ presence: ReplicaPresence?
    ) async throws -> Loaded {
        var loaded = Loaded()
        for feature in features {
            let parts = try await feature.assemble(environment)
            loaded.features.append(feature.name)
            loaded.endpoints += parts.endpoints
            loaded.jobs += parts.jobs
            if let protection = parts.protection { loaded.protections.append(protection) }
            if let preparation = parts.preparation { loaded.preparations.append(preparation) }
            guard !parts.consumers.isEmpty else { continue }
            let consumer = EventConsumer(
                service: Module.name,
                feature: feature.name,
                handlers: parts.consumers,
                database: environment.database,
                work: environment.work,
                jetStream: jetStream,
                logger: logger,
                presence: presence
            )
            if let problem = ProtectiveEvents.problem(service: Module.name, feature: feature.name, handling: consumer.subjects) {
                throw Settings.Invalid(problem)
            }
            loaded.consumers.append(consumer)
        }
        return loaded
    }

    /// Runs a part as a task of its own that ends when it is cancelled.
    private func start(
        _ name: String,
        finally: @escaping @Sendable () async -> Void = {},
        _ body: @escaping @Sendable () async -> Void
    ) {
        let task = Task { await body() }
        lifecycle.started(name) {
            task.cancel()
            await task.value
            await finally()
        }
    }

    private func databaseConfiguration() throws -> DatabaseConfiguration {
        var pool = DatabaseConfiguration(
            connectionString: try settings.get(ServiceSettings.databaseURL),
            schema: Module.name,
            poolSize: try settings.get(ServiceSettings.databasePool),
            statementTimeout: .milliseconds(Int64(try settings.get(ServiceSettings.statementTimeout)))
        )
        pool.applicationName = "streaksnap-\(Module.name)"
        return pool
    }

    /// The thread of the bus, the database and the handlers.
    private func startLoop() throws -> IOLoop {
        guard let loop = IOLoop(name: "\(Module.name) loop"), loop.start() else {
            throw Settings.Invalid("The system has no more threads or file descriptors.")
        }
        lifecycle.started("loop") { loop.stop() }
        return loop
    }

    private func startDatabase(_ configuration: DatabaseConfiguration, on loop: IOLoop) async throws -> Database {
        let observer = DatabaseMetrics(metrics)
        let database = Database(configuration, logger: logger, observer: observer)
        observer.watch(database)
        do { try await database.start(on: loop) } catch let error as DatabaseError where error.code == .configuration {
            throw Settings.Invalid("\(ServiceSettings.databaseURL.argument) is no connection string of PostgreSQL.")
        }
        lifecycle.started("database") { await database.stop() }
        state.withLock { $0.database = database }
        try await migrate(database, pool: configuration.poolSize)
        let time = await ClockCheck.begin(database, logger, metrics)
        state.withLock { $0.time = time }
        start("clock check") { await time.run() }
        return database
    }

    private func migrate(_ database: Database, pool: Int) async throws {
        let sets =
            [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)] + Module.migrations
        try await insist("waiting for the database", while: { ($0 as? DatabaseError)?.isConnectionFailure ?? false }) {
            let hasPresence = try settings.get(ServiceSettings.databasePresence)
            let budget = try await ConnectionBudget.read(pool: pool, hasPresence: hasPresence, from: database)
            if let problem = budget.problem { throw Settings.Invalid(problem) }
            if let warning = budget.warning { logger.warning("\(warning)", metadata: ["service": "\(Module.name)"]) }
            do { try await Migrator(sets).run(on: database) } catch let error as DatabaseError
                where error.code == .insufficientPrivilege
            {
                let what = "may not use the schema \(Module.name): is it the role of this service, and was roles.sql run?"
                throw ServiceError(
                    .failedPrecondition,
                    "DATABASE_RIGHTS",
                    "The role of \(ServiceSettings.databaseURL.argument) \(what)"
                )
            }
        }
    }

    private func connectBus(_ tracer: Tracer, on loop: IOLoop) async throws -> BusConnection {
        let bus = try await BusConnection.waiting(
            try BusConfiguration(settings, name: Module.name),
            loop: loop,
            logger: logger,
            metrics: metrics,
            tracer: tracer
        )
        lifecycle.started("bus") { await bus.close() }
        state.withLock { $0.bus = bus }
        return bus
    }

    /// Does something again and again while it fails in a way that passes, and says so: at first, and then every 5 s.
    private func insist(_ what: Logger.Message, while isPassing: (any Error) -> Bool, _ body: () async throws -> Void)
        async throws
    {
        var waits = 0
        while true {
            do { return try await body() } catch  where isPassing(error) {
                waits += 1
                if waits % 20 == 1 { logger.warning(what, metadata: ["error": "\(error)"]) }
                try await Task.sleep(for: .milliseconds(250))
            }
        }
    }

    private func startService(
        _ loaded: Loaded,
        _ operations: ServiceOperations,
        on bus: BusConnection,
        _ barrier: EventBarrier,
        _ tracer: Tracer
    ) async throws -> BusService {
        let database = operations.database
        let descriptor = Module.descriptor
        let reply = DescriptorReply(descriptorSet: descriptor.bytes, sha256: descriptor.hash)
        let describe = Endpoint.descriptor(service: Module.name, sha256: descriptor.hash, reply: try reply.serialized())
        let awaitEvents = AwaitEvents(
            service: Module.name,
            database: database,
            barrier: barrier,
            protections: loaded.protections
        )
        let waiting = Endpoint(EventBarrier.method(of: Module.name)) { try await awaitEvents.handle($0, $1) }
        let consumes = loaded.consumers.flatMap { consumer in consumer.sources.map { "\(consumer.feature):\($0)" } }
        var metadata = [
            "descriptor": descriptor.hash, "idempotency-keys": "honoured", "features": loaded.features.joined(separator: ","),
            "consumes": consumes.joined(separator: ","),
        ]
        metadata.merge(try settings.signature(of: Module.self)) { $1 }
        for (key, fingerprint) in settings.fingerprints { metadata["setting " + key] = fingerprint }
        if clock is DevelopmentClock { metadata[DevelopmentClockAgent.mark] = "development" }
        let service = BusService(
            connection: bus,
            name: Module.name,
            version: Module.version,
            description: Module.about,
            metadata: metadata,
            // It goes on answering without its database, if only with UNAVAILABLE: `/api/health` says which service it is (D2).
            condition: {
                ["database": database.health.isWell ? "available" : "unavailable"].merging(ZoneDataWatch.metadata) { $1 }
            },
            endpoints: loaded.endpoints + [describe, waiting] + operations.endpoints,
            seals: try SealCheck.of(Module.name, settings, metrics, logger),
            limits: BusService.Limits(maxInFlight: try settings.get(ServiceSettings.maxInFlight)),
            logger: logger,
            observer: metrics.observer(ofRequestsAs: .server, tracer)
        )
        try await service.start()
        return service
    }

    private func housekeeping(relay: OutboxRelay, mutations: Mutations, consumers: [EventConsumer]) -> [Job] {
        let retries = EventRetries(consumers)
        return [
            Job("event_retry", every: .seconds(1), expecting: { retries.isBusy }) { _ in try await retries.retryDue() },
            Job("purge", every: .seconds(600)) { now in
                try await relay.purge()
                try await mutations.purge(now: now)
                return 0
            },
        ]
    }

    private func prepareClock(_ bus: BusConnection) async throws {
        guard let clock = clock as? DevelopmentClock else { return }
        clock.shift(to: try await DevelopmentClockState(bus: bus, logger: logger).load())
        clock.show(in: metrics)
        let follower = DevelopmentClockFollower(clock: clock, bus: bus, logger: logger)
        start("clock") { await follower.run() }
    }

    private func listenForClock(_ bus: BusConnection, _ work: DueWork) throws {
        guard let clock = clock as? DevelopmentClock else { return }
        let agent = DevelopmentClockAgent(
            service: Module.name,
            clock: clock,
            bus: bus,
            logger: logger,
            settle: { try await work.settle() }
        )
        try agent.listen()
    }
}
