import Bus
import Database
import Foundation
import Kernel
import Logging
import Outbox
import Runtime
import ServiceRuntime
import Wire

// Answers one kind of request with a change, and hangs between the commit and the reply. Arguments: connection string, schema, broker.

struct Note: Message {
    static let fullName = "test.v1.Note"
    var text = ""
    init() {}
    init(_ text: String) { self.text = text }
    init(serialized bytes: UnsafeRawBufferPointer) throws { text = String(decoding: bytes, as: UTF8.self) }
    func serialized() throws -> [UInt8] { Array(text.utf8) }
    func collectViolations(into violations: inout Violations, path: FieldPath) {}
}

func live(_ arguments: [String]) async throws {
    let logger = Logger(label: "victim") { _ in SwiftLogNoOpLogHandler() }
    let database = Database(
        DatabaseConfiguration(connectionString: arguments[1], schema: arguments[2], poolSize: 2),
        logger: logger
    )
    try await database.start()
    let bus = try await BusConnection.connect(
        BusConfiguration(url: arguments[3], inboxPrefix: "_INBOX.victim"),
        logger: logger
    )
    let ids = UUIDv7Source(clock: SystemClock())
    let relay = OutboxRelay(
        database: database,
        jetStream: JetStream(connection: bus),
        bus: bus,
        service: "victim",
        ids: ids,
        logger: logger
    )
    let mutations = Mutations(
        work: UnitOfWorkFactory(database: database, clock: SystemClock(), ids: ids, relay: relay),
        database: database
    )
    let change = Method<Note, Note>(service: "victim", version: "v1", name: "Change", isIdempotent: false, timeout: .minutes(2))
    let endpoint = Endpoint(change) { request, context in
        _ = try await mutations.once(context, request) { work in
            _ = try await work.sql.execute("INSERT INTO effects VALUES (\(request.text))")
            return Note("done by \(ProcessInfo.processInfo.processIdentifier)")
        }
        FileHandle.standardOutput.write(Data("committed".utf8))
        try await Task.sleep(for: .seconds(600))
        throw ServiceError.internal
    }
    let service = BusService(connection: bus, name: "victim", version: "1.0.0", endpoints: [endpoint], logger: logger)
    try await service.start()
    FileHandle.standardOutput.write(Data("ready ".utf8))
    try await Task.sleep(for: .seconds(600))
}

guard CommandLine.arguments.count == 4 else { exit(64) }
do { try await live(CommandLine.arguments) } catch { exit(1) }
