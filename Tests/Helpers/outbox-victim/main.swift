import Bus
import Database
import Foundation
import Kernel
import Logging
import Wire

@testable import Outbox

// Commits events and relays them until it is killed. Arguments: connection string, schema, broker, aggregate.
// Consumes events until it is killed, or its parent is gone. Arguments: connection string, schema, broker, "consume", milliseconds per event.

struct Ping: Event {
    static let fullName = "test.v1.Ping"
    static let subject = "evt.source.v1.Ping"
    var aggregateID = ""
    var number = 0

    init() {}
    init(_ aggregate: String, _ number: Int) { (aggregateID, self.number) = (aggregate, number) }
    init(serialized bytes: UnsafeRawBufferPointer) throws {
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: ":")
        guard parts.count == 2, let number = Int(parts[1]) else { throw WireError.malformed }
        (aggregateID, self.number) = (String(parts[0]), number)
    }
    func serialized() throws -> [UInt8] { Array("\(aggregateID):\(number)".utf8) }
    func collectViolations(into violations: inout Violations, path: FieldPath) {}
}

/// As in the tests that start this.
enum Lease { static let length = Duration.milliseconds(1_500) }

/// Shows that this process lives, so that its lease need not run out for another replica to take it over: from the first lease on, since it may be
/// killed before it renews that.
func showPresence(_ configuration: DatabaseConfiguration, _ ids: any IDSource, _ logger: Logger) async throws -> (
    ReplicaPresence, Task<Void, Never>
) {
    let presence = ReplicaPresence(configuration, ids: ids, logger: logger)
    let showing = Task { await presence.run() }
    while presence.shown == nil { try await Task.sleep(for: .milliseconds(5)) }
    return (presence, showing)
}

func live(_ arguments: [String]) async throws {
    let logger = Logger(label: "victim") { _ in SwiftLogNoOpLogHandler() }
    let database = Database(
        DatabaseConfiguration(
            connectionString: arguments[1],
            schema: arguments[2],
            applicationName: "outbox-victim",
            poolSize: 2
        ),
        logger: logger
    )
    try await database.start()
    let bus = try await BusConnection.connect(BusConfiguration(url: arguments[3]), logger: logger)
    let ids = UUIDv7Source(clock: SystemClock())
    let relay = OutboxRelay(
        database: database,
        jetStream: JetStream(connection: bus),
        bus: bus,
        service: "source",
        ids: ids,
        logger: logger,
        leaseLength: Lease.length
    )
    let work = UnitOfWorkFactory(database: database, clock: SystemClock(), ids: ids, relay: relay)
    // A life shorter than a lease would never relay otherwise.
    try await database.execute("UPDATE outbox_lease SET held_until = '-infinity'")
    let relaying = Task { await relay.run() }
    for number in 0..<100_000 {
        let aggregate = arguments[4]
        try await work.run(trace: "", requestID: "") { try await $0.emit(Ping(aggregate, number)) }
        if number == 0 { FileHandle.standardOutput.write(Data(".".utf8)) }
    }
    relaying.cancel()
}

func consume(_ arguments: [String], delay: Duration) async throws {
    let logger = Logger(label: "victim") { _ in SwiftLogNoOpLogHandler() }
    var configuration = DatabaseConfiguration(connectionString: arguments[1], schema: arguments[2], poolSize: 4)
    // Frozen inside a transaction it holds up its successor for so long.
    configuration.idleInTransactionTimeout = .seconds(3)
    let database = Database(configuration, logger: logger)
    try await database.start()
    let bus = try await BusConnection.connect(BusConfiguration(url: arguments[3]), logger: logger)
    let ids = UUIDv7Source(clock: SystemClock())
    let jetStream = JetStream(connection: bus)
    let relay = OutboxRelay(database: database, jetStream: jetStream, bus: bus, service: "sink", ids: ids, logger: logger)
    let work = UnitOfWorkFactory(database: database, clock: SystemClock(), ids: ids, relay: relay)
    let (presence, showing) = try await showPresence(configuration, ids, logger)
    defer { showing.cancel() }
    let handler = EventHandler(Ping.self) { ping, work in
        _ = try await work.sql.execute("INSERT INTO consumed (aggregate, number) VALUES (\(ping.aggregateID), \(ping.number))")
        try await Task.sleep(for: delay)
    }
    let consumer = EventConsumer(
        service: "sink",
        feature: "all",
        handlers: [handler],
        database: database,
        work: work,
        jetStream: jetStream,
        logger: logger,
        // No test waits for so long: only the lock frees it.
        leaseLength: .seconds(3_600),
        presence: presence
    )
    let consuming = Task { await consumer.run() }
    let parent = getppid()
    while getppid() == parent { try await Task.sleep(for: .milliseconds(200)) }
    consuming.cancel()
}

do {
    switch CommandLine.arguments.count {
    case 5: try await live(CommandLine.arguments)
    case 6: try await consume(CommandLine.arguments, delay: .milliseconds(Int(CommandLine.arguments[5]) ?? 0))
    default: exit(64)
    }
} catch { exit(1) }
