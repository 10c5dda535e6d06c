internal import Bus
internal import Database
internal import CommonAPI
public import Kernel
public import Logging
internal import Outbox
private import Synchronization

/// One running replica of a service. Starts its parts in the order of their dependencies and stops them in reverse.
///
/// Start: database and migrations → bus and event stream → relay → requests → events and jobs. Stop: requests drain first, then jobs and
/// events end, then what is in the outbox leaves, and the connections close last.
public final class ServiceHost<Module: ServiceModule>: Sendable {
    private let settings: Settings
    private let logger: Logger
    private let metrics: Metrics
    private let clock: any Clock
    private let ids: any IDSource
    private let parts = Mutex(Parts())

    private struct Parts {
        var database: Database?
        var bus: BusConnection?
        var service: BusService?
        var relay: OutboxRelay?
        var tasks: [Task<Void, Never>] = []
        var isReady = false
    }

    /// A replica that is not started yet.
    ///
    /// - Parameter clock: nil means the machine's clock, or the development clock when the settings ask for it.
    public init(settings: Settings, logger: Logger, metrics: Metrics = Metrics(), clock: (any Clock)? = nil) throws {
        self.settings = settings
        self.logger = logger
        self.metrics = metrics
        let isDevelopment = try settings.get(CommonSettings.developmentClock)
        self.clock = clock ?? (isDevelopment ? DevelopmentClock() : SystemClock())
        self.ids = UUIDv7Source(clock: self.clock)
    }

    /// Brings the replica up; returns when it answers requests.
    ///
    /// - Throws: `Settings.Invalid` for unusable settings, `ServiceError` when the bus refuses the credentials. A database or broker that
    ///   is away is waited for, visibly.
    public func start() async throws {
        let database = try await startDatabase()
        let bus = try await connectBus()
        let jetStream = JetStream(connection: bus)
        try await prepareClock(bus)
        let stream = StreamConfiguration(
            name: EventConsumer.streamName(ofService: Module.name),
            subjects: ["evt.\(Module.name).>"],
            replicas: try settings.get(CommonSettings.streamReplicas)
        )
        try await jetStream.ensureStream(stream)
        let relay = OutboxRelay(
            database: database,
            jetStream: jetStream,
            bus: bus,
            service: Module.name,
            ids: ids,
            logger: logger,
            stream: stream
        )
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: ids, relay: relay)
        let mutations = Mutations(work: work, database: database)
        let assembly = try await Module.assemble(
            ServiceEnvironment(
                settings: settings,
                clock: clock,
                ids: ids,
                database: database,
                bus: bus,
                work: work,
                mutations: mutations,
                logger: logger,
                metrics: metrics
            )
        )
        let consumer = EventConsumer(
            service: Module.name,
            handlers: assembly.consumers,
            database: database,
            work: work,
            jetStream: jetStream,
            logger: logger
        )
        let jobs = JobRunner(
            jobs: assembly.jobs + housekeeping(relay: relay, mutations: mutations, consumer: consumer),
            clock: clock,
            logger: logger,
            metrics: metrics
        )
        let lag = EventMetrics(metrics, service: Module.name, relay: relay, consumer: consumer)
        let service = try await startService(assembly, on: bus)
        parts.withLock { parts in
            parts.relay = relay
            parts.service = service
            parts.tasks = [
                Task { await relay.run() }, Task { await jobs.run() }, Task { await consumer.run() }, Task { await lag.run() },
            ]
            parts.isReady = true
        }
        try listenForClock(bus, jobs: jobs, relay: relay, consumer: consumer)
        logger.info("ready", metadata: ["service": "\(Module.name)"])
    }

    /// Takes no more requests, finishes what runs, and closes everything in the reverse order of the start.
    public func stop() async {
        let parts = parts.withLock { parts -> Parts in
            defer { parts = Parts() }
            return parts
        }
        await parts.service?.drain()
        for task in parts.tasks { task.cancel() }
        for task in parts.tasks { await task.value }
        // What was committed a moment ago leaves now rather than at the next start.
        await parts.relay?.finish()
        await parts.bus?.close()
        await parts.database?.stop()
        logger.info("stopped", metadata: ["service": "\(Module.name)"])
    }

    /// Whether the replica answers, its database is reachable and its bus connected.
    public var isReady: Bool {
        parts.withLock { $0.isReady && ($0.bus?.isConnected ?? false) && ($0.database?.health.isAvailable ?? false) }
    }

    private func startDatabase() async throws -> Database {
        let database = Database(
            DatabaseConfiguration(
                connectionString: try settings.get(CommonSettings.databaseURL),
                schema: Module.name,
                poolSize: try settings.get(CommonSettings.databasePool),
                statementTimeout: .milliseconds(Int64(try settings.get(CommonSettings.statementTimeout)))
            ),
            logger: logger
        )
        try await database.start()
        parts.withLock { $0.database = database }
        let sets =
            [MigrationSet("outbox", OutboxMigrations.all), MigrationSet("runtime", RuntimeMigrations.all)] + Module.migrations
        var waits = 0
        while true {
            do {
                for set in sets { try await Migrator(scope: set.scope, migrations: set.migrations).run(on: database) }
                return database
            } catch let error as DatabaseError where error.isConnectionFailure {
                waits += 1
                if waits == 1 || waits % 20 == 0 { logger.warning("waiting for the database", metadata: ["error": "\(error)"]) }
                try await Task.sleep(for: .milliseconds(250))
            }
        }
    }

    private func connectBus() async throws -> BusConnection {
        let bus = try await BusConnection.connect(try BusConfiguration(settings, name: Module.name), logger: logger)
        parts.withLock { $0.bus = bus }
        return bus
    }

    private func startService(_ assembly: ServiceAssembly, on bus: BusConnection) async throws -> BusService {
        let descriptor = Module.descriptor
        let reply = DescriptorReply(descriptorSet: descriptor.bytes, sha256: descriptor.hash)
        let describe = Endpoint(
            Method<Empty, DescriptorReply>(service: Module.name, version: "v1", name: "Descriptor", isIdempotent: true)
        ) { _, _ in reply }
        let service = BusService(
            connection: bus,
            name: Module.name,
            version: BuildInfo.version,
            description: Module.about,
            metadata: clock is DevelopmentClock
                ? ["descriptor": descriptor.hash, DevelopmentClockAgent.mark: "development"]
                : ["descriptor": descriptor.hash],
            endpoints: assembly.endpoints + [describe],
            limits: BusService.Limits(maxInFlight: try settings.get(CommonSettings.maxInFlight)),
            logger: logger,
            observer: MetricsObserver(metrics, role: "server")
        )
        try await service.start()
        return service
    }

    private func housekeeping(relay: OutboxRelay, mutations: Mutations, consumer: EventConsumer) -> [Job] {
        [
            Job("event_retry", every: .milliseconds(200)) { _ in try await consumer.retryDue() },
            Job("purge", every: .seconds(600)) { _ in
                try await relay.purge()
                try await mutations.purge()
                return 0
            },
        ]
    }

    private func prepareClock(_ bus: BusConnection) async throws {
        guard let clock = clock as? DevelopmentClock else { return }
        clock.shift(to: try await DevelopmentClockState(bus: bus).load())
    }

    private func listenForClock(_ bus: BusConnection, jobs: JobRunner, relay: OutboxRelay, consumer: EventConsumer) throws {
        guard let clock = clock as? DevelopmentClock else { return }
        let agent = DevelopmentClockAgent(
            service: Module.name,
            clock: clock,
            bus: bus,
            logger: logger,
            settle: {
                var rows = try await jobs.runAllDue()
                while true {
                    let sent = try await relay.relayBatch()
                    rows += sent
                    if sent == 0 { break }
                }
                return rows + (try await relay.backlog()) + (try await consumer.backlog())
            }
        )
        try agent.listen()
    }
}
