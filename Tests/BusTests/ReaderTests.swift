import Foundation
import Kernel
import TestSupport
import Testing

@testable import Bus

extension BrokerTests {
    @Suite struct ReaderTests {
        private func publish(_ numbers: ClosedRange<Int>, _ jetStream: JetStream) async throws {
            let events = numbers.map { OutgoingEvent(subject: "evt.test.v1.Happened", messageID: "id-\($0)", body: [UInt8($0)]) }
            for result in await jetStream.publish(events, deadline: SystemClock.now() + .seconds(10)) { _ = try result.get() }
        }

        private func withStream(_ body: (NatsServer, JetStream) async throws -> Void) async throws {
            try await withBus { server, bus in
                let jetStream = JetStream(connection: bus)
                try await jetStream.ensureStream(StreamConfiguration(name: "EVT_TEST", subjects: ["evt.test.>"]))
                try await body(server, jetStream)
            }
        }

        @Test func `a reader delivers each message once and goes on where it has come`() async throws {
            try await withStream { _, jetStream in
                try await publish(1...6, jetStream)
                try await jetStream.ensureReader(stream: "EVT_TEST", durable: "reader")
                for (round, expected) in [[[1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6]], [[7, 7], [8, 8], [9, 9]]].enumerated()
                {
                    if round == 1 { try await publish(7...9, jetStream) }
                    // Making it again changes nothing.
                    try await jetStream.ensureReader(stream: "EVT_TEST", durable: "reader")
                    let seen = Shared<[[Int]]>([])
                    let consumption = jetStream.consume(stream: "EVT_TEST", durable: "reader", batch: 4) { batch in
                        for message in batch { seen.update { $0.append([message.streamSequence, message.consumerSequence]) } }
                    }
                    try await eventually("all arrive") { seen.value.count >= expected.count }
                    await consumption.stop()
                    #expect(seen.value == expected)
                }
                let info = try await jetStream.consumerInfo(stream: "EVT_TEST", durable: "reader")
                #expect(info.delivered == 9 && info.deliveredStreamSequence == 9)
            }
        }

        @Test func `the broker's 503 reaches an inbox on the loop, between messages that arrive in order`() async throws {
            try await withBus { _, bus in
                let (inbox, target) = (bus.makeInbox(), NoResponderTarget())
                let subscription = try bus.subscribe("\(inbox).*", queue: nil, target: target)
                for number in 0..<100 {
                    try bus.publish("nowhere.\(number)", body: [], reply: "\(inbox).\(number)")
                    try bus.publish("\(inbox).\(number)", body: [UInt8(number)])
                }
                try await eventually("all arrive") { target.refusals.value == 100 && target.bodies.value.count == 100 }
                #expect(target.bodies.value == (0..<100).map { [UInt8($0)] })
                subscription.cancel()
            }
        }

        @Test func `a consumer of the name that reads otherwise is replaced`() async throws {
            try await withStream { server, jetStream in
                try await publish(1...2, jetStream)
                let bus = try await server.connect("operator")
                try await makeAcknowledgingConsumer(of: "EVT_TEST", "reader", bus)
                try await jetStream.ensureReader(stream: "EVT_TEST", durable: "reader")
                let seen = Shared<[Int]>([])
                let consumption = jetStream.consume(stream: "EVT_TEST", durable: "reader", batch: 4) { batch in
                    seen.update { $0 += batch.map(\.streamSequence) }
                }
                try await eventually("both arrive") { seen.value == [1, 2] }
                await consumption.stop()
                let (verb, deadline) = ("CONSUMER.INFO.EVT_TEST.reader", SystemClock.now() + .seconds(10))
                let info = try await bus.request("$JS.API.\(verb)", body: [], deadline: deadline)
                #expect(String(decoding: info.body, as: UTF8.self).contains(#""ack_policy":"none""#))
                await bus.close()
            }
        }

        @Test func `messages are read by their places`() async throws {
            try await withStream { _, jetStream in
                #expect(try await jetStream.newestMessage(in: "EVT_TEST") == nil)
                #expect(try await jetStream.message(in: "EVT_TEST", at: 1) == nil)
                #expect(try await jetStream.messages(in: "EVT_TEST", at: 1...10, atMost: 5).isEmpty)
                let headers: BusHeaders = ["event-id": "x:y z", "empty": ""]
                let events = (1...10).map {
                    OutgoingEvent(
                        subject: "evt.test.v1.Happened\($0)",
                        messageID: "id-\($0)",
                        headers: headers,
                        body: [UInt8($0), 0, 255]
                    )
                }
                for result in await jetStream.publish(events, deadline: SystemClock.now() + .seconds(10)) { _ = try result.get() }
                let third = try #require(try await jetStream.message(in: "EVT_TEST", at: 3))
                #expect(third.subject == "evt.test.v1.Happened3" && third.body == [3, 0, 255] && third.streamSequence == 3)
                #expect(third.headers["event-id"] == "x:y z" && third.headers["Nats-Msg-Id"] == "id-3")
                #expect(abs((third.timestamp - SystemClock.now()).seconds) < 60)
                #expect(try await jetStream.newestMessage(in: "EVT_TEST")?.streamSequence == 10)
                func places(_ range: ClosedRange<Int>, atMost limit: Int) async throws -> [Int] {
                    try await jetStream.messages(in: "EVT_TEST", at: range, atMost: limit).map(\.streamSequence)
                }
                #expect(try await places(2...4, atMost: 100) == [2, 3, 4])
                #expect(try await places(2...9, atMost: 3) == [2, 3, 4])
                #expect(try await places(9...99, atMost: 100) == [9, 10])
                #expect(try await places(11...99, atMost: 100) == [])
                try await jetStream.ensureStream(
                    StreamConfiguration(name: "EVT_TEST", subjects: ["evt.test.>"], maxMessages: 3)
                )
                // What has aged out is passed in one step.
                #expect(try await places(1...99, atMost: 2) == [8, 9])
                #expect(try await places(1...7, atMost: 2) == [])
                await #expect(throws: JetStreamError.self) { try await jetStream.message(in: "EVT_NONE", at: 1) }
                await #expect(throws: ServiceError.self) { try await jetStream.message(in: "a.b", at: 1) }
            }
        }

        @Test func `a delivery and a reading show the same message`() async throws {
            try await withStream { _, jetStream in
                try await publish(1...1, jetStream)
                try await jetStream.ensureReader(stream: "EVT_TEST", durable: "reader")
                let seen = Shared<[JetStreamMessage]>([])
                let consumption = jetStream.consume(stream: "EVT_TEST", durable: "reader", batch: 4) { batch in
                    seen.update { $0 += batch }
                }
                try await eventually("it arrives") { seen.value.count == 1 }
                await consumption.stop()
                let read = try #require(try await jetStream.message(in: "EVT_TEST", at: 1))
                let delivered = try #require(seen.value.first)
                #expect(delivered.timestamp == read.timestamp && delivered.body == read.body && delivered.subject == read.subject)
                #expect(delivered.headers["Nats-Msg-Id"] == read.headers["Nats-Msg-Id"])
            }
        }

        @Test func `it ends with the connection when it is asked to`() async throws {
            try await withStream { server, jetStream in
                try await publish(1...2, jetStream)
                try await jetStream.ensureReader(stream: "EVT_TEST", durable: "reader")
                let seen = Shared<[Int]>([])
                let consumption = jetStream.consume(stream: "EVT_TEST", durable: "reader", batch: 4, endingWith: jetStream.epoch)
                {
                    batch in
                    seen.update { $0 += batch.map(\.streamSequence) }
                }
                try await eventually("both arrive") { seen.value == [1, 2] }
                #expect(!consumption.hasEnded)
                await server.kill()
                try await server.start()
                try await eventually("it has ended") { consumption.hasEnded }
                await consumption.stop()
                try await publish(3...3, jetStream)
                #expect(seen.value == [1, 2])
            }
        }

        /// A handler that hangs ends neither the consumption nor the one who stops it.
        @Test func `stopping cancels a handler that does not return`() async throws {
            try await withStream { _, jetStream in
                try await jetStream.ensureReader(stream: "EVT_TEST", durable: "slow")
                try await publish(1...3, jetStream)
                let (begun, ended) = (Shared(0), Shared(0))
                let consumption = jetStream.consume(stream: "EVT_TEST", durable: "slow", batch: 1) { _ in
                    begun.update { $0 += 1 }
                    try? await Task.sleep(for: .seconds(600))
                    ended.update { $0 += 1 }
                }
                try await eventually("the handler runs") { begun.value == 1 }
                let start = ContinuousClock.now
                await consumption.stop(within: .milliseconds(200))
                #expect(ContinuousClock.now - start < .seconds(60))
                #expect(begun.value == 1 && ended.value == 1, "it was cancelled, and the next events were not handed over")
            }
        }

        @Test func `on a closed bus it ends at once`() async throws {
            try await withBus { server, _ in
                let bus = try await server.connect("short")
                await bus.close()
                let consumption = JetStream(connection: bus).consume(stream: "EVT_TEST", durable: "reader", batch: 1) { _ in }
                #expect(consumption.hasEnded)
                await consumption.stop()
            }
        }

        /// The end may come between the steps of a beginning.
        @Test func `a watcher of a closed bus is notified at once`() async throws {
            try await withBus { server, _ in
                let bus = try await server.connect("short")
                await bus.close()
                let events = Shared<[ConnectionEvent]>([])
                bus.removeWatcher(bus.addWatcher { event in events.update { $0.append(event) } })
                #expect(events.value == [.closed])
            }
        }
    }
}

/// Counts what the broker says in place of a responder.
private final class NoResponderTarget: MessageTarget {
    let refusals = Shared(0)
    let bodies = Shared<[[UInt8]]>([])

    var isInformedOf503: Bool { true }

    func arrived(_ message: OpaquePointer) {
        let body = BusMessage(taking: message).body
        bodies.update { $0.append(body) }
    }

    func hadNoResponder() { refusals.update { $0 += 1 } }
}
