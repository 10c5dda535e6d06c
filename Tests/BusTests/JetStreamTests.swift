import Foundation
import Kernel
import TestSupport
import Testing

@testable import Bus

extension BrokerTests {
    @Suite struct JetStreamTests {
        private func deadline(_ interval: Interval = .seconds(10)) -> Instant { SystemClock.now() + interval }

        private func events(_ numbers: ClosedRange<Int>) -> [OutgoingEvent] {
            numbers.map { OutgoingEvent(subject: "evt.test.v1.Happened", messageID: "id-\($0)", body: Array("\($0)".utf8)) }
        }

        private func withStream(_ body: (NatsServer, BusConnection, JetStream) async throws -> Void) async throws {
            try await withBus { server, bus in
                let jetStream = JetStream(connection: bus)
                try await jetStream.ensureStream(StreamConfiguration(name: "EVT_TEST", subjects: ["evt.test.>"]))
                try await jetStream.ensureReader(stream: "EVT_TEST", durable: "reader")
                try await body(server, bus, jetStream)
            }
        }

        /// Or every event would cost a JSON decoder.
        @Test func `what the broker writes is a plain acknowledgement`() async throws {
            try await withStream { _, bus, _ in
                for number in 1...12 {
                    let reply = try await bus.request("evt.test.one", body: [1], deadline: deadline())
                    let ack = JetStreamCodec.plainAck(reply.body)
                    #expect(ack == PublishAck(stream: "EVT_TEST", sequence: number, isDuplicate: false))
                }
            }
        }

        @Test func `a stream is made once and changed later`() async throws {
            try await withBus { _, bus in
                let jetStream = JetStream(connection: bus)
                var configuration = StreamConfiguration(name: "EVT_TEST", subjects: ["evt.test.>"])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 { group.addTask { [configuration] in try await jetStream.ensureStream(configuration) } }
                    try await group.waitForAll()
                }
                configuration.subjects.append("other.test")
                configuration.maxMessages = 2
                try await jetStream.ensureStream(configuration)
                for number in 1...5 {
                    let ack = try await jetStream.publish(subject: "other.test", messageID: nil, body: [1], deadline: deadline())
                    #expect(ack == PublishAck(stream: "EVT_TEST", sequence: number, isDuplicate: false))
                }
                let info = try await jetStream.streamInfo("EVT_TEST")
                #expect(info.messages == 2 && info.firstSequence == 4 && info.lastSequence == 5)
                await #expect(throws: JetStreamError.self, "subjects of another stream") {
                    try await jetStream.ensureStream(StreamConfiguration(name: "THIEF", subjects: ["evt.test.>"]))
                }
                await #expect(throws: JetStreamError.self) { try await jetStream.streamInfo("NONE") }
                await #expect(throws: ServiceError.self) { try await jetStream.streamInfo("a.b") }
                try await expectFailure(.unavailable) {
                    try await jetStream.publish(subject: "no.stream", messageID: nil, body: [], deadline: deadline())
                }
            }
        }

        @Test func `repeats are dropped`() async throws {
            try await withStream { _, _, jetStream in
                let first = await jetStream.publish(events(1...200), deadline: deadline()).map { try? $0.get() }
                #expect(first.map { $0?.sequence } == Array(1...200))
                #expect(first.allSatisfy { $0?.isDuplicate == false })
                let again = await jetStream.publish(events(1...200), deadline: deadline()).map { try? $0.get() }
                #expect(again.allSatisfy { $0?.isDuplicate == true })
                #expect(again.map { $0?.sequence } == Array(1...200))
                let info = try await jetStream.streamInfo("EVT_TEST")
                #expect(info.messages == 200)
            }
        }

        @Test func `one that fails leaves the others alone`() async throws {
            try await withStream { _, bus, jetStream in
                var batch = events(1...5)
                batch[2].body = [UInt8](repeating: 0, count: bus.maxPayload + 1)
                let results = await jetStream.publish(batch, deadline: deadline()).map { (try? $0.get()) != nil }
                #expect(results == [true, true, false, true, true])
                let again = await jetStream.publish(events(1...5), deadline: deadline()).map { try? $0.get().isDuplicate }
                #expect(again == [true, true, false, true, true])
                let bodies = try await received(5, jetStream)
                #expect(bodies == ["1", "2", "4", "5", "3"])
            }
        }

        @Test func `everything arrives in order with its parts`() async throws {
            try await withStream { _, _, jetStream in
                let before = SystemClock.now()
                var event = OutgoingEvent(subject: "evt.test.v1.Happened", messageID: "x", headers: ["trace": "t"], body: [7])
                _ = await jetStream.publish([event], deadline: deadline())
                event.messageID = "y"
                event.subject = "evt.test.v1.Other"
                _ = await jetStream.publish([event], deadline: deadline())
                let seen = Shared<[JetStreamMessage]>([])
                let consumption = jetStream.consume(stream: "EVT_TEST", durable: "reader", batch: 10) { batch in
                    seen.update { $0 += batch }
                }
                try await eventually("both arrive") { seen.value.count == 2 }
                let (first, second) = (seen.value[0], seen.value[1])
                #expect(first.subject == "evt.test.v1.Happened" && second.subject == "evt.test.v1.Other")
                #expect(first.headers["trace"] == "t" && first.headers["Nats-Msg-Id"] == "x" && first.body == [7])
                #expect(first.streamSequence == 1 && second.streamSequence == 2)
                #expect(first.timestamp >= before - .seconds(1) && first.timestamp <= SystemClock.now() + .seconds(1))
                let info = try await jetStream.consumerInfo(stream: "EVT_TEST", durable: "reader")
                #expect(info.pending == 0 && info.delivered == 2)
                await consumption.stop()
            }
        }

        @Test func `of subjects that are not needed only the places arrive`() async throws {
            try await withStream { _, _, jetStream in
                var event = OutgoingEvent(subject: "evt.test.v1.Other", messageID: "x", headers: ["trace": "t"], body: [7])
                _ = await jetStream.publish([event], deadline: deadline())
                (event.subject, event.messageID) = ("evt.test.v1.Happened", "y")
                _ = await jetStream.publish([event], deadline: deadline())
                let seen = Shared<[JetStreamMessage]>([])
                let needed: Set = ["evt.test.v1.Happened"]
                let consumption = jetStream.consume(stream: "EVT_TEST", durable: "reader", batch: 10, needing: needed) { batch in
                    seen.update { $0 += batch }
                }
                try await eventually("both arrive") { seen.value.count == 2 }
                await consumption.stop()
                let (other, wanted) = (seen.value[0], seen.value[1])
                #expect(other.subject == "evt.test.v1.Other" && other.headers.isEmpty && other.body.isEmpty)
                #expect(other.streamSequence == 1 && other.consumerSequence == 1)
                #expect(wanted.headers["trace"] == "t" && wanted.headers["Nats-Msg-Id"] == "y" && wanted.body == [7])
                #expect(wanted.streamSequence == 2 && wanted.consumerSequence == 2)
            }
        }

        @Test func `a long backlog comes in batches`() async throws {
            try await withStream { _, _, jetStream in
                for start in stride(from: 1, through: 3_000, by: 500) {
                    let results = await jetStream.publish(events(start...(start + 499)), deadline: deadline())
                    #expect(results.allSatisfy { (try? $0.get()) != nil })
                }
                let info = try await jetStream.consumerInfo(stream: "EVT_TEST", durable: "reader")
                #expect(info.pending == 3_000)
                let bodies = try await received(3_000, jetStream, batch: 64)
                #expect(bodies == (1...3_000).map(String.init))
            }
        }

        /// While the handler is held up nothing more is asked for, so nothing is on its way when the subscription ends: what the broker sends
        /// just then would be lost here.
        @Test func `stopping finishes what has arrived`() async throws {
            try await withStream { _, bus, jetStream in
                _ = await jetStream.publish(events(1...500), deadline: deadline())
                let (seen, gate) = (Shared<[String]>([]), Gate())
                func consume() -> Consumption {
                    jetStream.consume(stream: "EVT_TEST", durable: "reader", batch: 50) { batch in
                        await gate.wait()
                        seen.update { $0 += batch.map { String(decoding: $0.body, as: UTF8.self) } }
                    }
                }
                let first = consume()
                try await eventually("a batch is delivered, and no more is asked for") {
                    let info = try await jetStream.consumerInfo(stream: "EVT_TEST", durable: "reader")
                    return info.delivered == 50 && info.waiting == 0
                }
                let stopping = Task { await first.stop() }
                try await eventually("the broker has ended its subscription") {
                    let answer = try await failureCode {
                        try await bus.request("\(first.inbox).0", body: [], deadline: deadline(.milliseconds(200)))
                    }
                    return answer == .unavailable
                }
                gate.open()
                await stopping.value
                #expect(seen.value == (1...50).map(String.init))
                let info = try await jetStream.consumerInfo(stream: "EVT_TEST", durable: "reader")
                #expect(info.delivered == 50 && info.pending == 450)
                let second = consume()
                try await eventually("the rest arrives") { seen.value.count == 500 }
                await second.stop()
                #expect(seen.value == (1...500).map(String.init))
            }
        }

        @Test func `replicas share a durable`() async throws {
            try await withStream { server, _, jetStream in
                let others = [try await server.connect("r1"), try await server.connect("r2")]
                let seen = Shared<[Int: [String]]>([:])
                let consumptions = others.enumerated().map { number, connection in
                    JetStream(connection: connection).consume(stream: "EVT_TEST", durable: "reader", batch: 10) { batch in
                        seen.update { $0[number, default: []] += batch.map { String(decoding: $0.body, as: UTF8.self) } }
                    }
                }
                try await eventually("both have asked for events") {
                    try await jetStream.consumerInfo(stream: "EVT_TEST", durable: "reader").waiting >= 2
                }
                for start in stride(from: 1, through: 1_000, by: 100) {
                    _ = await jetStream.publish(events(start...(start + 99)), deadline: deadline())
                }
                try await eventually("all arrive") { seen.value.values.joined().count == 1_000 }
                #expect(Set(seen.value.values.joined()).count == 1_000)
                #expect(seen.value.count == 2, "both work")
                for consumption in consumptions { await consumption.stop() }
                for connection in others { await connection.close() }
            }
        }

        @Test func `a consumer may be made after its receiver`() async throws {
            try await withBus { _, bus in
                let jetStream = JetStream(connection: bus)
                let seen = Shared(0)
                let consumption = jetStream.consume(stream: "EVT_TEST", durable: "reader", batch: 10) { batch in
                    seen.update { $0 += batch.count }
                }
                try await jetStream.ensureStream(StreamConfiguration(name: "EVT_TEST", subjects: ["evt.test.>"]))
                try await jetStream.ensureReader(stream: "EVT_TEST", durable: "reader")
                _ = await jetStream.publish(events(1...3), deadline: deadline())
                try await eventually("they arrive") { seen.value == 3 }
                await consumption.stop()
            }
        }

        @Test func `a broker killed under traffic loses no event`() async throws {
            try await withStream { server, bus, jetStream in
                let reader = try await server.connect("reader")
                let order = Shared<[Int]>([])
                let consumption = JetStream(connection: reader).consume(stream: "EVT_TEST", durable: "reader", batch: 50) {
                    batch in
                    order.update { $0 += batch.map(\.streamSequence) }
                }
                let total = 3_000
                let published = Shared(0)
                let writer = Task {
                    var next = 1
                    while next <= total {
                        let batch = events(next...min(total, next + 49))
                        let results = await jetStream.publish(batch, deadline: deadline(.seconds(2)))
                        let good = results.prefix { (try? $0.get()) != nil }.count
                        next += good
                        published.update { [next] in $0 = next - 1 }
                    }
                }
                for share in [1, 2, 3] {
                    try await eventually("events flow") { published.value >= total * share / 5 }
                    await server.kill()
                    try await server.start()
                }
                await writer.value
                let info = try await jetStream.streamInfo("EVT_TEST")
                #expect(info.messages == total, "acknowledged means kept, and once")
                // What the broker sent just before it was killed does not come again: it is read by its place.
                try await eventually("the reader continues after each kill") { order.value.contains(total) }
                await consumption.stop()
                try await jetStream.ensureReader(stream: "EVT_TEST", durable: "second")
                let bodies = try await received(total, jetStream, durable: "second", batch: 500)
                // Of several on their way at once a later one may be kept although an earlier one was lost, and comes again.
                #expect(bodies.compactMap { Int($0) }.sorted() == Array(1...total))
                await reader.close()
            }
        }

        /// The bodies of the first `count` messages that a consumer gets.
        private func received(
            _ count: Int,
            _ jetStream: JetStream,
            durable: String = "reader",
            batch: Int = 100
        ) async throws -> [String] {
            let seen = Shared<[String]>([])
            let consumption = jetStream.consume(stream: "EVT_TEST", durable: durable, batch: batch) { batch in
                seen.update { $0 += batch.map { String(decoding: $0.body, as: UTF8.self) } }
            }
            try await eventually("\(count) messages arrive") { seen.value.count >= count }
            await consumption.stop()
            return seen.value
        }
    }
}
