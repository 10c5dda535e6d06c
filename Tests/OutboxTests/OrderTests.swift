import Kernel
import Outbox
import Synchronization
import TestSupport
import Testing
import Wire

/// A `Ping` of many bytes.
private struct LargePing: Event {
    static let fullName = "test.v1.Ping"
    static let subject = "evt.source.v1.Ping"
    var ping = Ping()
    var aggregateID: String { ping.aggregateID }
    init() {}
    init(_ ping: Ping) { self.ping = ping }
    init(serialized bytes: UnsafeRawBufferPointer) throws { ping = try Ping(serialized: bytes) }
    func serialized() throws -> [UInt8] { try ping.serialized() + Array((":" + String(repeating: "x", count: 600_000)).utf8) }
    func collectViolations(into violations: inout Violations, path: FieldPath) {}
}

/// What a body has done so far.
private final class Seen: Sendable {
    let number = Atomic(0)
}

@Suite("Events of one unit of work", .timeLimit(.minutes(10)))
struct OrderTests {
    @Test func `are published in the order they were emitted, however many and however large`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            // Some are so large that they take several statements.
            let pings = (0..<1_400).map { number -> any Event in
                let ping = Ping("a\(number % 7)", number)
                return number.isMultiple(of: 150) ? LargePing(ping) : ping
            }
            try await emitter.work.run(trace: "", requestID: "") { try await $0.emit(pings) }
            let emitted = try await world.source.query("SELECT body FROM outbox ORDER BY position").map {
                try Ping(serialized: try $0.decode(as: [UInt8].self)).number
            }
            #expect(emitted == Array(0..<1_400))
            let traces = try await world.source.query("SELECT DISTINCT trace, request_id FROM outbox")
            #expect(traces.count == 1)
        }
    }

    @Test func `emitted last are made of what the whole body did, and come after all others`() async throws {
        struct Undone: Error {}
        try await withWorld { world in
            let emitter = try await world.emitter()
            try await emitter.work.run(trace: "", requestID: "") { work in
                let seen = Seen()
                work.emitLast { Ping("last", seen.number.load(ordering: .relaxed)) }
                for number in 1...3 {
                    try await work.emit(Ping("a", number))
                    seen.number.store(number, ordering: .relaxed)
                }
            }
            try await emitter.work.run(trace: "", requestID: "") { $0.emitLast { nil } }
            await #expect(throws: Undone.self) {
                try await emitter.work.run(trace: "", requestID: "") { work in
                    work.emitLast { Ping("last", 9) }
                    throw Undone()
                }
            }
            let emitted = try await world.source.query("SELECT body FROM outbox ORDER BY position").map {
                try Ping(serialized: try $0.decode(as: [UInt8].self))
            }
            #expect(emitted.map(\.aggregateID) == ["a", "a", "a", "last"] && emitted.last?.number == 3)
        }
    }

    @Test func `that cannot be encoded are not emitted at all`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            await #expect(throws: ServiceError.self) {
                try await emitter.work.run(trace: "", requestID: "") { work in
                    try await work.emit([Ping("good", 1), Ping("line\nbreak", 2), Ping("good", 3)])
                }
            }
            #expect(try await world.source.query("SELECT 1 FROM outbox").isEmpty)
            try await emitter.work.run(trace: "", requestID: "") { try await $0.emit([]) }
        }
    }
}
