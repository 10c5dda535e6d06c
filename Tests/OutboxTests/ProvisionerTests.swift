import Bus
import Foundation
import Kernel
import Synchronization
import TestSupport
import Testing

@testable import Outbox

@Suite("The operator's process", .serialized, .timeLimit(.minutes(10)))
struct ProvisionerTests {
    private let topology = EventTopology(
        services: ["auth", "social"],
        sources: ["social": ["core": ["auth"]], "media": ["core": ["auth", "social"]]]
    )

    private func withBroker(_ body: (NatsServer, BusConnection, JetStream) async throws -> Void) async throws {
        let nats = try await NatsServer.start()
        let bus = try await World.connect(nats)
        try await body(nats, bus, JetStream(connection: bus))
        await bus.close()
    }

    private func provisioner(_ jetStream: JetStream) -> StreamProvisioner {
        StreamProvisioner(topology, jetStream: jetStream, logger: PostgresServer.silence)
    }

    /// Whether everything is there.
    private func isThere(_ jetStream: JetStream) async throws -> Bool {
        for (stream, readers) in [("EVT_AUTH", ["media-core", "social-core"]), ("EVT_SOCIAL", ["media-core"])] {
            for reader in readers { _ = try await jetStream.consumerInfo(stream: stream, durable: reader) }
        }
        return true
    }

    @Test func `makes every stream and every service's consumer, as often as it is asked to`() async throws {
        try await withBroker { _, bus, jetStream in
            for _ in 0..<3 { try await provisioner(jetStream).provision() }
            #expect(try await isThere(jetStream))
            let names = try await bus.request("$JS.API.STREAM.NAMES", body: [], deadline: SystemClock.now() + .seconds(5))
            let text = String(decoding: names.body, as: UTF8.self)
            #expect(text.contains(#""streams":["EVT_AUTH","EVT_SOCIAL"]"#), "\(text)")
            await #expect(throws: JetStreamError.self) { try await jetStream.consumerInfo(stream: "EVT_AUTH", durable: "auth") }
        }
    }

    @Test func `changes a stream whose settings differ, and keeps what is in it`() async throws {
        try await withBroker { _, _, jetStream in
            var other = StreamConfiguration.events(ofService: "auth")
            other.subjects = ["evt.auth.v1.Only"]
            try await jetStream.ensureStream(other)
            _ = try await jetStream.publish(
                subject: "evt.auth.v1.Only",
                messageID: nil,
                body: [1],
                deadline: SystemClock.now() + .seconds(5)
            )
            try await provisioner(jetStream).provision()
            let ack = try await jetStream.publish(
                subject: "evt.auth.v1.Other",
                messageID: nil,
                body: [2],
                deadline: SystemClock.now() + .seconds(5)
            )
            #expect(ack.sequence == 2)
        }
    }

    @Test func `a stream that the broker refuses does not keep the others and their consumers away`() async throws {
        try await withBroker { _, bus, jetStream in
            // It has the subjects of EVT_AUTH, the first of the streams.
            try await jetStream.ensureStream(StreamConfiguration(name: "FOREIGN", subjects: ["evt.auth.>"]))
            let provisioner = provisioner(jetStream)
            let refusal = await #expect(throws: JetStreamError.self) { try await provisioner.provision() }
            #expect(refusal.map { $0.status != 404 } == true, "the first error is the stream's, not its consumers'")
            #expect(!provisioner.isComplete)
            _ = try await jetStream.consumerInfo(stream: "EVT_SOCIAL", durable: "media-core")
            try await bus.expectDone("STREAM.DELETE.FOREIGN")
            try await provisioner.provision()
            #expect(try await isThere(jetStream))
            #expect(provisioner.isComplete)
        }
    }

    @Test func `waits for a broker that is away, and makes again what it loses`() async throws {
        let nats = try await NatsServer.start()
        let bus = try await World.connect(nats)
        let jetStream = JetStream(connection: bus)
        let provisioner = provisioner(jetStream)
        await nats.kill()
        let watching = Task { await provisioner.watch(every: .milliseconds(50)) }
        #expect(!provisioner.isComplete)
        try await nats.start()
        try await eventually("everything is made") { provisioner.isComplete }
        #expect(try await isThere(jetStream))

        await nats.kill()
        try FileManager.default.removeItem(at: nats.files.appendingPathComponent("store"))
        try await nats.start()
        try await eventually("the whole disk was lost") { (try? await isThere(jetStream)) == true }
        try await jetStream.deleteConsumer(stream: "EVT_SOCIAL", durable: "media-core")
        try await eventually("one consumer was lost") { (try? await isThere(jetStream)) == true }
        try await bus.expectDone("STREAM.DELETE.EVT_AUTH")
        try await eventually("one stream was lost") { (try? await isThere(jetStream)) == true }
        watching.cancel()
        await watching.value
        await bus.close()
    }

    @Test func `a check asks once for each stream, and every fifth for each consumer too`() async throws {
        try await withBroker { _, bus, jetStream in
            let provisioner = provisioner(jetStream)
            try await provisioner.provision()
            let asked = Mutex<[String]>([])
            try bus.subscribe("$JS.API.*.INFO.>") { message in
                let words = message.subject.split(separator: ".").map(String.init)
                asked.withLock { $0.append(words[2] + " " + words[4...].joined(separator: " ")) }
            }
            try await bus.flush()
            let streams = ["STREAM EVT_AUTH", "STREAM EVT_SOCIAL"]
            let consumers = [
                "CONSUMER EVT_AUTH media-core", "CONSUMER EVT_AUTH social-core", "CONSUMER EVT_SOCIAL media-core",
            ]
            for check in 0..<11 {
                let isMissing = try await provisioner.isAnythingMissing()
                #expect(!isMissing)
                let expected = (check % 5 == 0 ? consumers : []) + streams
                // What is asked for once too often is found by the next check.
                try await eventually("check \(check) was received") { asked.withLock { $0.count >= expected.count } }
                let now = asked.withLock { asked in
                    defer { asked = [] }
                    return asked.sorted()
                }
                #expect(now == expected, "check \(check)")
            }
            try await jetStream.deleteConsumer(stream: "EVT_AUTH", durable: "media-core")
            let isMissing = try await provisioner.isAnythingMissing()
            #expect(isMissing)
        }
    }

    @Test func `makes a consumer anew that has passed the end of its stream, so that what comes there is consumed`() async throws
    {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let sink = try await world.sink()
            try await emitter.emit("a", 0..<20)
            try await eventually("everything is consumed") { try await world.consumedCount() == 20 }
            // The stream loses its end, as when a broker comes back with an older disk: its last messages are those of a new one.
            await sink.stop()
            try await eventually("all left") { try await emitter.relay.backlog() == 0 }
            await world.nats.stop()
            let store = world.nats.files.appendingPathComponent("store")
            let copy = world.nats.files.appendingPathComponent("copy")
            try FileManager.default.copyItem(at: store, to: copy)
            try await world.nats.start()
            try await emitter.emit("a", 20..<30)
            try await eventually("they left") { try await emitter.relay.backlog() == 0 }
            _ = try await world.sink()
            try await eventually("they are consumed") { try await world.consumedCount() == 30 }
            await world.nats.stop()
            // Everything but the consumer's own state is as before.
            try replaceStream(in: store, by: copy)
            try await world.nats.start()
            try await emitter.emit("a", 30..<45)
            try await eventually("the rest is consumed") { try await world.consumedCount() >= 45 }
            #expect(try await world.consumed("a") == Array(0..<45))
        }
    }

    /// The messages of an older disk under the consumers of the newer one.
    private func replaceStream(in store: URL, by copy: URL) throws {
        let files = FileManager.default
        let found = (files.subpaths(atPath: copy.path) ?? []).filter { $0.hasSuffix("EVT_SOURCE/msgs") }
        let messages = try #require(found.first)
        let target = store.appendingPathComponent(messages)
        try files.removeItem(at: target)
        try files.copyItem(at: copy.appendingPathComponent(messages), to: target)
    }
}

extension BusConnection {
    /// A request to JetStream's API that the broker must not refuse.
    fileprivate func expectDone(_ verb: String) async throws {
        let reply = try await request("$JS.API." + verb, body: [], deadline: SystemClock.now() + .seconds(5))
        let text = String(decoding: reply.body, as: UTF8.self)
        guard !text.contains(#""error""#) else { throw BrokerRefused(description: text) }
    }
}
