import Bus
import DevEnvironment
import FoundationEssentials
import Kernel
import Logging
import Outbox
import OutgoingHTTP
import Synchronization

/// All worlds of a test environment: those that tests use, and those that are kept warm for the next test.
actor Worlds {
    /// Worlds at once, the warm ones included.
    static let most = 32
    /// Worlds that are started at once.
    private static let starters = 3
    /// Worlds that were ended and whose databases, streams and files are still there, at most: they take some 20 MB each.
    private static let mostEnded = 12
    /// Each world, also one that was ended, has an account on the broker.
    static let accounts = most + mostEnded
    /// So long must no test have asked for a world before what ended is removed: until then the processor is the tests'.
    private static let rest = Duration.seconds(2)

    private let endpoints: Endpoints
    private let folder: String
    private let keptWarm: Int
    private let logLevel: String
    private let control: String
    private let databases: WorldDatabases
    private let logger: Logger
    private let registry: StandInRegistry
    private let http = OutgoingHTTP(threads: 6, queueLimit: 4_096, keepsConnections: true)
    private let provisioning = OneAtATime()
    private var accounts = Array((1...accounts).reversed())
    /// Those that have had a world in this run.
    private var usedAccounts: Set<Int> = []
    private var number = 0
    private var live: [String: World] = [:]
    private var warm: [World] = []
    private var waiting: [CheckedContinuation<World, any Error>] = []
    private var starting = 0
    private var ended: [World] = []
    private var isRemoving = false
    private var lastAsked = ContinuousClock.now

    /// - Parameters:
    ///   - control: address of the control API, which has the stand-ins too.
    ///   - keptWarm: how many are started before a test asks.
    init(
        _ endpoints: Endpoints,
        _ databases: WorldDatabases,
        _ registry: StandInRegistry,
        folder: String,
        control: String,
        keptWarm: Int,
        logger: Logger
    ) {
        (self.endpoints, self.databases, self.registry, self.folder) = (endpoints, databases, registry, folder)
        (self.control, self.keptWarm, self.logger) = (control, keptWarm, logger)
        logLevel = logger.logLevel.rawValue
    }

    /// Has the services make their tables in the database that is copied for each world.
    ///
    /// - Throws: what a service needs and does not get.
    func prepare() async throws {
        // Of an earlier run on a folder that lasts.
        try await databases.removeAll()
        try? FileManager.default.removeItem(atPath: "\(folder)/worlds")
        let world = try await assemble(PostgresRoles.database, account: 1, given: [:])
        try await world.start(hasGateway: false)
        await world.end()
        await world.removeStreams()
        registry.remove(PostgresRoles.database)
        try await databases.waitUntilTemplateIsFree()
    }

    /// Starts worlds until as many are warm as should be.
    func fill() {
        while starting < Self.starters, warm.count + starting < keptWarm + waiting.count, !isFull {
            starting += 1
            Task { await startOne() }
        }
        if starting == 0, isFull { refuseAll(Self.full) }
    }

    private var isFull: Bool { live.count + warm.count + starting >= Self.most }

    private static let full = ControlError.conflict("There are \(most) worlds already: end one first (DELETE /worlds/{id}).")

    private func startOne() async {
        do {
            let world = try await start([:])
            starting -= 1
            if waiting.isEmpty { warm.append(world) } else { waiting.removeFirst().resume(returning: world) }
            fill()
        } catch {
            starting -= 1
            logger.error("a world cannot be started", metadata: ["error": "\(error)"])
            refuseAll(error)
        }
    }

    private func refuseAll(_ error: any Error) {
        let refused = waiting
        waiting = []
        for one in refused { one.resume(throwing: error) }
    }

    /// A world for a test.
    ///
    /// - Parameters:
    ///   - clock: what it shows at first; nil for the present.
    ///   - settings: what its services should have besides their defaults, by key.
    /// - Throws: `ControlError`, or what a service needs and does not get.
    func create(clock: Instant?, settings: [String: String]) async throws -> World {
        try WorldPlan.check(settings)
        lastAsked = .now
        let world: World
        if !settings.isEmpty {
            guard !isFull else { throw Self.full }
            starting += 1
            defer { starting -= 1 }
            world = try await start(settings)
        } else if let first = warm.first {
            warm.removeFirst()
            world = first
            fill()
        } else {
            world = try await withCheckedThrowingContinuation { continuation in
                waiting.append(continuation)
                fill()
            }
        }
        live[world.id] = world
        guard let clock else { return world }
        do { _ = try await world.setClock(clock) } catch {
            try? remove(world.id)
            guard let refusal = error as? ControlError, refusal.field == "now" else { throw error }
            throw ControlError.invalid("clock", String(refusal.message.dropFirst("now ".count)))
        }
        return world
    }

    /// A world that a test uses.
    ///
    /// - Throws: `NOT_FOUND`.
    func world(_ id: String) throws -> World {
        guard let world = live[id] else { throw ControlError.notFound("id", "There is no world \(id).") }
        return world
    }

    var list: (ids: [String], warm: Int) { (live.keys.sorted(), warm.count) }

    /// Ends a world in the background; what it has stored goes when the tests rest.
    ///
    /// - Throws: `NOT_FOUND`.
    func remove(_ id: String) throws {
        let world = try world(id)
        live[id] = nil
        Task { await end(world) }
    }

    private func end(_ world: World) async {
        await world.end()
        registry.remove(world.id)
        ended.append(world)
        guard !isRemoving else { return }
        isRemoving = true
        while let next = ended.first {
            guard ended.count > Self.mostEnded || accounts.isEmpty || lastAsked + Self.rest < .now else {
                try? await Task.sleep(for: .milliseconds(200))
                continue
            }
            ended.removeFirst()
            await removeStored(next)
        }
        isRemoving = false
    }

    private func removeStored(_ world: World) async {
        await world.removeStreams()
        do { try await databases.drop(world.id) } catch {
            logger.warning("the database of a world is still there", metadata: ["world": "\(world.id)", "error": "\(error)"])
        }
        try? FileManager.default.removeItem(atPath: world.plan.folder)
        // Used again when there is none that never was: its streams must be made anew.
        accounts.insert(world.plan.account, at: 0)
        fill()
    }

    private func start(_ given: [String: String]) async throws -> World {
        // Those of ended worlds are on their way.
        while accounts.isEmpty { try await Task.sleep(for: .milliseconds(20)) }
        let account = accounts.removeLast()
        number += 1
        let id = "w\(number)"
        let world: World
        do {
            try await databases.create(id)
            world = try await assemble(id, account: account, given: given)
        } catch {
            try? await databases.drop(id)
            accounts.append(account)
            throw error
        }
        do { try await world.start() } catch {
            await end(world)
            throw given.isEmpty ? error : ControlError.invalid("settings", "cannot be used: \(error)")
        }
        return world
    }

    /// Everything of a world but its services.
    private func assemble(_ id: String, account: Int, given: [String: String]) async throws -> World {
        let bus = try await provisioned(account)
        let folder = "\(self.folder)/worlds/\(id)"
        for name in ["blobs", "keys"] {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        let database = DatabaseProxy(to: endpoints.postgresAddress)
        let standIns = WorldStandIns(world: id)
        let plan = WorldPlan(
            id: id,
            account: account,
            folder: folder,
            endpoints: endpoints,
            database: try await database.listen(in: folder),
            reserved: try ReservedPort(),
            mailPort: try await standIns.mail.listen(),
            standIns: "\(control)/stand-ins/\(id)",
            logLevel: logLevel,
            given: given
        )
        let client = WorldClient(http: http, url: plan.url)
        let world = World(plan, standIns, database: database, bus: bus, client: client)
        registry.add(world)
        return world
    }

    /// A connection to an account that has all streams.
    private func provisioned(_ account: Int) async throws -> BusConnection {
        let configuration = BusConfiguration(
            url: endpoints.natsURL,
            name: "operator",
            user: NATSConfiguration.name(of: "operator", inAccount: account),
            password: endpoints.natsPassword(of: "operator"),
            inboxPrefix: "_INBOX.operator"
        )
        let bus = try await BusConnection.connect(configuration, logger: logger)
        let provisioner = StreamProvisioner(
            World.topology,
            jetStream: JetStream(connection: bus),
            logger: logger
        )
        // A folder that lasts has streams of worlds of an earlier run.
        let isUsed = !usedAccounts.insert(account).inserted
        do {
            try await provisioning.run {
                if !isUsed { await World.removeStreams(bus) }
                try await provisioner.provision()
            }
        } catch {
            await bus.close()
            throw error
        }
        return bus
    }
}

/// Where requests to stand-ins find their world.
final class StandInRegistry: Sendable {
    private let worlds = Mutex<[String: World]>([:])

    func add(_ world: World) { worlds.withLock { $0[world.id] = world } }
    func remove(_ id: String) { worlds.withLock { $0[id] = nil } }
    func world(_ id: String) -> World? { worlds.withLock { $0[id] } }
}

/// One piece of work after the other, in the order in which they came.
actor OneAtATime {
    private var last: Task<Void, Never>?

    /// - Throws: what the work throws.
    func run(_ work: @escaping @Sendable () async throws -> Void) async throws {
        let before = last
        let task = Task {
            await before?.value
            try await work()
        }
        last = Task { _ = await task.result }
        try await task.value
    }
}
