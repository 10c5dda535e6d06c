import Bus
import Database
import Foundation
import Kernel
import TestSupport
import Testing

@testable import Outbox

@Suite("A broker that has lost events gets them again by itself", .serialized, .timeLimit(.minutes(10)))
struct LostDiskTests {
    private func loseDisk(_ world: World) async throws {
        await world.nats.kill()
        try FileManager.default.removeItem(at: world.nats.files.appendingPathComponent("store"))
        try await world.nats.start()
    }

    private func nothingWaits(_ replica: Replica) async throws {
        try await eventually("all left") { try await replica.relay.backlog() == 0 }
    }

    /// Each aggregate's events from 0 on, each once, in order.
    private func expectAll(_ world: World, _ names: [String], upTo count: Int) async throws {
        try await eventually("everything is consumed", within: .seconds(60)) {
            try await world.consumedCount() >= names.count * count
        }
        for name in names { #expect(try await world.consumed(name) == Array(0..<count), "\(name)") }
    }

    @Test func `also those that no service had consumed, before what is emitted afterwards`() async throws {
        try await withWorld { world in
            let emitters = [try await world.emitter(), try await world.emitter()]
            for name in ["a", "b"] { try await emitters[0].emit(name, 0..<50) }
            try await nothingWaits(emitters[0])
            try await loseDisk(world)
            for name in ["a", "b"] { try await emitters[1].emit(name, 50..<80) }
            _ = try await world.sink()
            _ = try await world.sink()
            try await expectAll(world, ["a", "b"], upTo: 80)
            try await nothingWaits(emitters[0])
        }
    }

    @Test func `also while nothing is emitted`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            try await emitter.emit("a", 0..<20)
            try await nothingWaits(emitter)
            try await loseDisk(world)
            _ = try await world.sink()
            try await expectAll(world, ["a"], upTo: 20)
        }
    }

    @Test func `also under traffic, again and again, with two replicas of each service`() async throws {
        try await withWorld { world in
            let emitters = [try await world.emitter(), try await world.emitter()]
            for _ in 0..<2 { _ = try await world.sink() }
            let names = (0..<4).map { "a\($0)" }
            let emitting = Task {
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for (index, name) in names.enumerated() {
                        tasks.addTask {
                            for number in 0..<200 {
                                try await emitters[index % 2].emit(name, [number])
                                try await Task.sleep(for: .milliseconds(10))
                            }
                        }
                    }
                    try await tasks.waitForAll()
                }
            }
            for round in 1...3 {
                try await eventually("some are consumed") { try await world.consumedCount() >= round * 100 }
                try await loseDisk(world)
            }
            try await emitting.value
            try await expectAll(world, names, upTo: 200)
        }
    }

    @Test func `also when a stream was deleted under a broker that stays`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            try await emitter.emit("a", 0..<20)
            try await nothingWaits(emitter)
            try await world.ask("STREAM.DELETE.EVT_SOURCE")
            _ = try await world.sink()
            try await expectAll(world, ["a"], upTo: 20)
        }
    }

    @Test func `also when the broker comes back with an older disk`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            try await emitter.emit("a", 0..<20)
            try await nothingWaits(emitter)
            await world.nats.stop()
            let store = world.nats.files.appendingPathComponent("store")
            let copy = world.nats.files.appendingPathComponent("copy")
            try FileManager.default.copyItem(at: store, to: copy)
            try await world.nats.start()
            try await emitter.emit("a", 20..<50)
            try await nothingWaits(emitter)
            await world.nats.kill()
            try FileManager.default.removeItem(at: store)
            try FileManager.default.moveItem(at: copy, to: store)
            try await world.nats.start()
            try await emitter.emit("a", 50..<60)
            _ = try await world.sink()
            try await expectAll(world, ["a"], upTo: 60)
        }
    }

    @Test func `and a stream made anew gets no event before those that it has lost`() async throws {
        try await withWorld(keepsStreams: false) { world in
            let emitter = try await world.emitter(relays: false)
            try await emitter.emit("a", 0..<10)
            #expect(try await emitter.relay.relayBatch() == 10)
            // Over the same connection, and a moment after it was checked: only the broker's refusal shows that it is another stream.
            try await world.ask("STREAM.DELETE.EVT_SOURCE")
            try await world.provision()
            try await emitter.emit("a", [10])
            try await eventually("all left") {
                _ = try? await emitter.relay.relayBatch()
                return try await emitter.relay.backlog() == 0
            }
            let jetStream = JetStream(connection: world.bus)
            let messages = try await jetStream.messages(in: "EVT_SOURCE", at: 1...11, atMost: 11)
            #expect(messages.map { String(decoding: $0.body, as: UTF8.self) } == (0...10).map { "a:\($0)" })
        }
    }

    @Test func `and what was sent before the loss is not noted as published after it`() async throws {
        try await withWorld(keepsStreams: false) { world in
            let emitter = try await world.emitter(relays: false)
            try await emitter.emit("a", 0..<3)
            #expect(try await emitter.relay.relayBatch() == 3)
            let jetStream = JetStream(connection: world.bus)
            let late = OutboxStream(
                service: "source",
                database: world.source,
                jetStream: jetStream,
                logger: PostgresServer.silence
            )
            #expect(try await late.check())
            let generation = try #require(late.end).generation
            try await emitter.emit("a", [3])
            let rows = try await world.source.query("SELECT id FROM outbox")
            let ids = try rows.map { try $0.decode(as: EventID.self) }
            // While this replica sleeps with acknowledgements of the old stream, another one finds that it is gone.
            try await world.ask("STREAM.DELETE.EVT_SOURCE")
            try await world.provision()
            let other = OutboxStream(
                service: "source",
                database: world.source,
                jetStream: jetStream,
                logger: PostgresServer.silence
            )
            #expect(try await !other.check())
            #expect(try await other.recover { true } == 3)
            try await late.note(ids, upTo: 4, generation: generation)
            #expect(try await emitter.relay.backlog() == 4)
            #expect(try await other.check() && other.end?.generation == generation + 1)
            try await other.note(ids, upTo: 4, generation: generation + 1)
            #expect(try await emitter.relay.backlog() == 0)
        }
    }

    @Test func `and a replay that was interrupted goes on before anything leaves`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter(relays: false)
            try await emitter.emit("a", 0..<5)
            try await eventually("they left") { try await emitter.relay.relayBatch() == 5 }
            // The process that found the loss was killed after it had marked some.
            try await world.source.execute("UPDATE outbox_stream SET generation = generation + 1, is_replaying = true")
            try await world.source.execute(
                "UPDATE outbox SET published_at = NULL, replays = 1 WHERE convert_from(body, 'UTF8') IN ('a:0', 'a:1')"
            )
            try await emitter.emit("a", [5])
            let survivor = try await world.emitter()
            try await nothingWaits(survivor)
            let jetStream = JetStream(connection: world.bus)
            let messages = try await jetStream.messages(in: "EVT_SOURCE", at: 6...11, atMost: 6)
            #expect(messages.map { String(decoding: $0.body, as: UTF8.self) } == (0...5).map { "a:\($0)" })
        }
    }
}

@Suite("Whether a stream has what was published") struct StreamRecordTests {
    private let then = Instant(seconds: 1_000)
    private let now = Instant(seconds: 2_000)

    private func stream(_ created: Instant, last: Int) -> StreamInfo {
        StreamInfo(created: created, messages: last, bytes: 0, firstSequence: 1, lastSequence: last)
    }

    private func record(_ made: Instant?, last: Int, isReplaying: Bool = false) -> StreamRecord {
        StreamRecord(made: made, last: last, generation: 0, isReplaying: isReplaying)
    }

    @Test func `the same stream, as long or longer, has it`() {
        for last in [7, 8] { #expect(!record(then, last: 7).isLost(in: stream(then, last: last), hasPublished: true)) }
    }

    @Test func `one that is shorter or was made at another time has lost it`() {
        #expect(record(then, last: 7).isLost(in: stream(then, last: 6), hasPublished: true))
        #expect(record(then, last: 7).isLost(in: stream(now, last: 9), hasPublished: true))
    }

    @Test func `one that is seen for the first time has it, unless it is empty and something was published`() {
        #expect(!record(nil, last: 0).isLost(in: stream(then, last: 5), hasPublished: true))
        #expect(!record(nil, last: 0).isLost(in: stream(then, last: 0), hasPublished: false))
        #expect(record(nil, last: 0).isLost(in: stream(then, last: 0), hasPublished: true))
    }

    @Test func `a loss lasts until everything is marked`() {
        #expect(record(then, last: 7, isReplaying: true).isLost(in: stream(then, last: 7), hasPublished: false))
    }
}
