import Bus
import Foundation
import Kernel
import Logging
import Synchronization
import TestSupport
import Testing
import Wire

/// A message for tests: its bytes are its text.
struct Note: Message, ExpressibleByStringLiteral {
    static let fullName = "test.v1.Note"
    var text: String

    init() { text = "" }
    init(_ text: String) { self.text = text }
    init(stringLiteral value: String) { text = value }

    init(serialized bytes: UnsafeRawBufferPointer) throws {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw WireError.invalidUTF8(field: "text") }
        self.text = text
    }

    func serialized() throws -> [UInt8] {
        guard !text.utf8.contains(0) else { throw WireError.nulInString(field: "text") }
        return Array(text.utf8)
    }

    func collectViolations(into violations: inout Violations, path: FieldPath) {
        if text == "invalid" { violations.add("must be something else", at: path, "text") }
    }
}

/// The methods of the service that tests call.
enum Notes {
    static let echo = method("Echo", isIdempotent: true)
    static let change = method("Change", isIdempotent: false)

    static func method(_ name: String, isIdempotent: Bool, timeout: Interval = .minutes(1)) -> Method<Note, Note> {
        Method(service: "notes", version: "v1", name: name, isIdempotent: isIdempotent, timeout: timeout)
    }
}

/// Makes a durable consumer whose messages must be acknowledged: the services make none.
func makeAcknowledgingConsumer(of stream: String, _ durable: String, _ bus: BusConnection) async throws {
    let configuration = #"{"durable_name":"\#(durable)","deliver_policy":"all","ack_policy":"explicit"}"#
    let reply = try await bus.request(
        "$JS.API.CONSUMER.DURABLE.CREATE.\(stream).\(durable)",
        body: Array(#"{"stream_name":"\#(stream)","config":\#(configuration)}"#.utf8),
        deadline: SystemClock.now() + .seconds(10)
    )
    #expect(!String(decoding: reply.body, as: UTF8.self).contains(#""error""#))
}

/// A logger that keeps quiet.
let quiet: Logger = {
    var logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    logger.logLevel = .critical
    return logger
}()

/// A logger that keeps its messages.
func recording(_ lines: Shared<[String]>) -> Logger { Logger(label: "tests") { _ in RecordingHandler(lines: lines) } }

private struct RecordingHandler: LogHandler {
    let lines: Shared<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.update { $0.append("\(event.message)") } }
}

/// A gate that handlers wait at until the test opens it.
final class Gate: Sendable {
    private let state = Mutex<(isOpen: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

/// Something that tasks write and the test reads.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value { state.withLock { $0 } }

    @discardableResult
    func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result { state.withLock { change(&$0) } }
}

extension NatsServer {
    /// A connection to this server; the caller closes it.
    func connect(_ name: String = "test", change: (inout BusConfiguration) -> Void = { _ in }) async throws -> BusConnection {
        var configuration = BusConfiguration(url: url, name: name, connectTimeout: .seconds(10), reconnectWait: .milliseconds(50))
        change(&configuration)
        return try await BusConnection.connect(configuration, logger: quiet)
    }
}

/// Runs `body` with a server and a connection to it.
func withBus<Result>(
    configuration: String = "",
    _ body: (NatsServer, BusConnection) async throws -> Result
) async throws -> Result {
    let server = try await NatsServer.start(configuration: configuration)
    let bus = try await server.connect()
    do {
        let result = try await body(server, bus)
        await bus.close()
        return result
    } catch {
        await bus.close()
        throw error
    }
}

/// A started service called `notes`.
func startNotes(
    _ bus: BusConnection,
    limit: Int = 256,
    drainTimeout: Interval = .seconds(15),
    observer: (any RPCObserver)? = nil,
    logger: Logger = quiet,
    _ endpoints: [Endpoint]
) async throws -> BusService {
    let service = BusService(
        connection: bus,
        name: "notes",
        version: "1.2.3",
        description: "Keeps notes.",
        metadata: ["descriptor": "abc"],
        endpoints: endpoints,
        limits: .init(maxInFlight: limit, drainTimeout: drainTimeout),
        logger: logger,
        observer: observer
    )
    try await service.start()
    return service
}

/// The code of the `ServiceError` that `body` throws; nil when it succeeds.
func failureCode(_ body: () async throws -> some Sendable) async throws -> ServiceError.Code? {
    do {
        _ = try await body()
        return nil
    } catch let error as ServiceError {
        return error.code
    }
}

/// Expects `body` to fail with a `ServiceError` of this code.
func expectFailure(
    _ expected: ServiceError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> some Sendable
) async throws {
    let actual = try await failureCode(body)
    #expect(actual == expected, sourceLocation: sourceLocation)
}
