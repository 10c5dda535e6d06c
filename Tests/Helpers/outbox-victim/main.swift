import Bus
import Database
import Foundation
import Kernel
import Logging
import Outbox
import Wire

// Commits events and relays them until it is killed. Arguments: connection string, schema, broker, aggregate.

struct Ping: Event {
    static let fullName = "test.v1.Ping"
    static let subject = "evt.source.v1.Ping"
    var aggregateID = ""
    var number = 0

    init() {}
    init(_ aggregate: String, _ number: Int) { (aggregateID, self.number) = (aggregate, number) }
    init(serialized bytes: UnsafeRawBufferPointer) throws { throw WireError.malformed }
    func serialized() throws -> [UInt8] { Array("\(aggregateID):\(number)".utf8) }
    func collectViolations(into violations: inout Violations, path: FieldPath) {}
}

func live(_ arguments: [String]) async throws {
    let logger = Logger(label: "victim") { _ in SwiftLogNoOpLogHandler() }
    let database = Database(
        DatabaseConfiguration(connectionString: arguments[1], schema: arguments[2], poolSize: 2),
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
        logger: logger
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

guard CommandLine.arguments.count == 5 else { exit(64) }
do { try await live(CommandLine.arguments) } catch { exit(1) }
