import Bus
import Database
import Foundation
import Kernel
import Logging
import Synchronization
import TestSupport
import Wire

@testable import Outbox

/// An event for tests: its bytes are its text, `aggregate:number`.
struct Ping: Event {
    static let fullName = "test.v1.Ping"
    static let subject = "evt.source.v1.Ping"
    var aggregateID: String
    var number: Int

    init() { (aggregateID, number) = ("", 0) }
    init(_ aggregate: String, _ number: Int) { (aggregateID, self.number) = (aggregate, number) }
    init(serialized bytes: UnsafeRawBufferPointer) throws {
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: ":")
        guard parts.count >= 2, let number = Int(parts[1]) else { throw WireError.malformed }
        (aggregateID, self.number) = (String(parts[0]), number)
    }
    func serialized() throws -> [UInt8] { Array("\(aggregateID):\(number)".utf8) }
    func collectViolations(into violations: inout Violations, path: FieldPath) {}
}

/// The same subject, but bytes that no handler can read.
struct Garbage: Event {
    static let fullName = "test.v1.Ping"
    static let subject = "evt.source.v1.Ping"
    var aggregateID = ""
    init() {}
    init(_ aggregate: String) { aggregateID = aggregate }
    init(serialized bytes: UnsafeRawBufferPointer) throws {}
    func serialized() throws -> [UInt8] { Array("garbage".utf8) }
    func collectViolations(into violations: inout Violations, path: FieldPath) {}
}

struct BrokerRefused: Error, CustomStringConvertible { let description: String }

/// A broker, a database, a service that emits and one that consumes.
final class World: Sendable {
    let nats: NatsServer
    let postgres: PostgresServer
    let source: Database
    let sink: Database
    let bus: BusConnection
    private let running = Mutex<[Replica]>([])
    /// What the operator's process does.
    private let provisioning: Task<Void, Never>

    /// - Parameter keepsStreams: whether what the broker loses is made again.
    init(ownPostgres: Bool = false, keepsStreams: Bool = true) async throws {
        nats = try await NatsServer.start()
        postgres = ownPostgres ? try await PostgresServer.start() : try await PostgresServer.shared()
        source = try await Self.database(postgres)
        sink = try await Self.database(postgres)
        try await sink.execute(
            "CREATE TABLE consumed (position bigint GENERATED ALWAYS AS IDENTITY, aggregate text NOT NULL, number integer NOT NULL)"
        )
        bus = try await Self.connect(nats)
        let provisioner = StreamProvisioner(Self.topology, jetStream: JetStream(connection: bus), logger: PostgresServer.silence)
        try await provisioner.provision()
        provisioning = keepsStreams ? Task { await provisioner.watch(every: .milliseconds(200)) } : Task {}
    }

    static let topology = EventTopology(services: ["source"], sources: ["sink": ["all": ["source"]]])
    static let stream = StreamConfiguration.events(ofService: "source")

    /// Makes what is missing, once.
    func provision() async throws {
        try await StreamProvisioner(Self.topology, jetStream: JetStream(connection: bus), logger: PostgresServer.silence)
            .provision()
    }

    static func connect(_ nats: NatsServer) async throws -> BusConnection {
        try await BusConnection.connect(
            BusConfiguration(url: nats.url, reconnectWait: .milliseconds(50)),
            logger: PostgresServer.silence
        )
    }

    private static func database(_ server: PostgresServer) async throws -> Database {
        var configuration = DatabaseConfiguration(
            connectionString: server.connectionString,
            schema: PostgresServer.freshSchemaName(),
            poolSize: 6
        )
        // As in `PostgresServer.withDatabase`. A server that is killed is known to be away at once.
        configuration.probeTimeout = .seconds(60)
        let database = Database(configuration, logger: PostgresServer.silence)
        try await database.start()
        try await Migrator(scope: "outbox", migrations: OutboxMigrations.all).run(on: database)
        return database
    }

    /// By which replicas show that they live.
    private func presence(_ database: Database) -> ReplicaPresence {
        var configuration = DatabaseConfiguration(connectionString: postgres.connectionString, schema: database.schema)
        configuration.probeTimeout = .seconds(60)
        return ReplicaPresence(
            configuration,
            ids: UUIDv7Source(clock: SystemClock()),
            logger: PostgresServer.silence,
            // A busy machine may keep this process from its heartbeats.
            mostSilence: .seconds(60)
        )
    }

    /// A replica of the service that emits.
    func emitter(relays: Bool = true, leaseLength: Duration = Replica.leaseLength) async throws -> Replica {
        let bus = try await Self.connect(nats)
        let replica = Replica(
            database: source,
            bus: bus,
            service: "source",
            handlers: [],
            leaseLength: leaseLength,
            presence: presence(source)
        )
        if relays { replica.relayInBackground() }
        running.withLock { $0.append(replica) }
        return replica
    }

    /// A replica of the service that consumes. `before` runs inside the transaction, before the effect.
    func sink(
        maxAttempts: Int = 10,
        leaseLength: Duration = Replica.leaseLength,
        before: @escaping @Sendable (Ping, UnitOfWork) async throws -> Void = { _, _ in }
    ) async throws -> Replica {
        let bus = try await Self.connect(nats)
        let handler = EventHandler(Ping.self) { ping, work in
            try await before(ping, work)
            let (aggregate, number) = (ping.aggregateID, ping.number)
            _ = try await work.sql.execute("INSERT INTO consumed (aggregate, number) VALUES (\(aggregate), \(number))")
        }
        let replica = Replica(
            database: sink,
            bus: bus,
            service: "sink",
            handlers: [handler],
            maxAttempts: maxAttempts,
            leaseLength: leaseLength,
            presence: presence(sink)
        )
        replica.consumeInBackground()
        running.withLock { $0.append(replica) }
        return replica
    }

    /// The same with a handler that takes many events at once. `before` and `after` run inside the transaction, around the effect.
    func batchSink(
        maxAttempts: Int = 10,
        before: @escaping @Sendable ([Ping]) async throws -> Void = { _ in },
        after: @escaping @Sendable ([Ping], UnitOfWork) async throws -> Void = { _, _ in }
    ) async throws -> Replica {
        let batch = EventBatch<Ping> { pings, work in
            try await before(pings)
            _ = try await work.sql.execute(
                """
                INSERT INTO consumed (aggregate, number)
                SELECT aggregate, number FROM unnest(\(pings.map(\.aggregateID)), \(pings.map(\.number)))
                    WITH ORDINALITY AS ping (aggregate, number, place) ORDER BY place
                """
            )
            try await after(pings, work)
        }
        let replica = Replica(
            database: sink,
            bus: try await Self.connect(nats),
            service: "sink",
            handlers: [EventHandler(Ping.self, in: batch) { ping, _ in ping.number < 0 ? [] : [ping] }],
            maxAttempts: maxAttempts,
            leaseLength: Replica.leaseLength,
            presence: presence(sink)
        )
        replica.consumeInBackground()
        running.withLock { $0.append(replica) }
        return replica
    }

    /// A request to the broker's API; throws when it is refused.
    func ask(_ verb: String, _ body: String = "") async throws {
        let reply = try await bus.request("$JS.API." + verb, body: Array(body.utf8), deadline: SystemClock.now() + .seconds(5))
        let text = String(decoding: reply.body, as: UTF8.self)
        if text.contains(#""error""#) { throw BrokerRefused(description: text) }
    }

    /// Lets the broker take no event larger than that; -1 for any.
    func limitEvents(toBytes limit: Int) async throws {
        try await ask(
            "STREAM.UPDATE.EVT_SOURCE",
            """
            {"name":"EVT_SOURCE","subjects":["evt.source.>"],"storage":"file","retention":"limits","max_msg_size":\(limit),
            "deny_delete":true,"deny_purge":true}
            """
        )
    }

    /// What was consumed of an aggregate, in order.
    func consumed(_ aggregate: String) async throws -> [Int] {
        try await sink.query("SELECT number FROM consumed WHERE aggregate = \(aggregate) ORDER BY position").map {
            try $0.decode(as: Int.self)
        }
    }

    func consumedCount() async throws -> Int {
        try await sink.query("SELECT count(*) FROM consumed").first?.decode(as: Int.self) ?? 0
    }

    /// Commits one event per number, each exactly once, however often the database goes away meanwhile.
    func emitSurely(_ emitter: Replica, _ aggregate: String, _ numbers: some Sequence<Int> & Sendable) async throws {
        for number in numbers {
            while true {
                do {
                    try await emitter.emit(aggregate, [number])
                    break
                } catch {
                    // Whether it was committed is known only when the database answers again.
                    if try await isEmitted(Ping(aggregate, number)) { break }
                }
            }
        }
    }

    private func isEmitted(_ ping: Ping) async throws -> Bool {
        let body = try ping.serialized()
        var rows = 0
        // Asked twice: a server whose processes are just being killed may answer for a moment, and not know of a commit that the next
        // start will find in its log.
        try await eventually("the database answers, and goes on answering") {
            _ = try await source.query("SELECT 1")
            try await Task.sleep(for: .milliseconds(300))
            rows = try await source.query("SELECT 1 FROM outbox WHERE body = \(body)").count
            return true
        }
        return rows > 0
    }

    func stop() async {
        for replica in running.withLock({ $0 }) { await replica.stop() }
        provisioning.cancel()
        await provisioning.value
        await bus.close()
        await source.stop()
        await sink.stop()
    }
}

/// One process of a service, as far as events go.
final class Replica: Sendable {
    let relay: OutboxRelay
    let work: UnitOfWorkFactory
    let consumer: EventConsumer
    let bus: BusConnection
    let presence: ReplicaPresence
    private let tasks = Mutex<[Task<Void, Never>]>([])

    init(
        database: Database,
        bus: BusConnection,
        service: String,
        handlers: [EventHandler],
        maxAttempts: Int = 10,
        leaseLength: Duration,
        presence: ReplicaPresence
    ) {
        let ids = UUIDv7Source(clock: SystemClock())
        let jetStream = JetStream(connection: bus)
        let logger = PostgresServer.silence
        self.bus = bus
        self.presence = presence
        relay = OutboxRelay(
            database: database,
            jetStream: jetStream,
            bus: bus,
            service: service,
            ids: ids,
            logger: logger,
            pollInterval: .milliseconds(100),
            leaseLength: leaseLength,
            presence: presence
        )
        work = UnitOfWorkFactory(database: database, clock: SystemClock(), ids: ids, relay: relay)
        consumer = EventConsumer(
            service: service,
            feature: "all",
            handlers: handlers,
            database: database,
            work: work,
            jetStream: jetStream,
            logger: logger,
            maxAttempts: maxAttempts,
            leaseLength: leaseLength,
            presence: presence
        )
    }

    /// Holds the lock by which the others see that it lives; without that a replica's leases last for their time.
    func showPresence() async throws {
        start { [presence] in await presence.run() }
        try await eventually("it shows that it lives") { presence.shown != nil }
    }

    /// Long enough for a busy machine to prolong it, short enough to wait for.
    static let leaseLength = Duration.milliseconds(1_500)

    func relayInBackground() { start { [relay] in await relay.run() } }

    func consumeInBackground() {
        start { [consumer] in await consumer.run() }
        let retries = EventRetries([consumer])
        start {
            while !Task.isCancelled {
                _ = try? await retries.retryDue()
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    private func start(_ body: @escaping @Sendable () async -> Void) { tasks.withLock { $0.append(Task { await body() }) } }

    /// Commits one event per number.
    func emit(_ aggregate: String, _ numbers: some Sequence<Int>) async throws {
        for number in numbers {
            try await work.run(trace: "", requestID: "") { try await $0.emit(Ping(aggregate, number)) }
        }
    }

    func stop() async {
        let tasks = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        await bus.close()
    }

    /// As if killed: the connection is gone at once, nothing is finished, leases are kept.
    func vanish() async { await bus.close() }
}

/// Runs `body` in a world of its own.
func withWorld(ownPostgres: Bool = false, keepsStreams: Bool = true, _ body: (World) async throws -> Void) async throws {
    let world = try await World(ownPostgres: ownPostgres, keepsStreams: keepsStreams)
    do {
        try await body(world)
        await world.stop()
    } catch {
        await world.stop()
        throw error
    }
}
