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

        @Test func aReaderBeginsAnewWhereItIsTold() async throws {
            try await withStream { _, jetStream in
                try await publish(1...10, jetStream)
                for (start, expected) in [(nil, 1...10), (4, 4...10), (1, 1...10), (10, 10...10)] as [(Int?, ClosedRange<Int>)] {
                    let reader = try await jetStream.openReader(stream: "EVT_TEST", durable: "reader", from: start)
                    #expect(reader.deliveredStreamSequence == expected.lowerBound - 1)
                    #expect(reader.delivered == 0 && reader.pending == expected.count)
                    let seen = Shared<[[Int]]>([])
                    let consumption = jetStream.consume(stream: "EVT_TEST", durable: "reader", batch: 4) { batch in
                        for message in batch { seen.update { $0.append([message.streamSequence, message.consumerSequence]) } }
                    }
                    try await eventually("all arrive") { seen.value.count >= expected.count }
                    await consumption.stop()
                    #expect(seen.value == expected.enumerated().map { [$0.element, $0.offset + 1] })
                    let info = try await jetStream.consumerInfo(stream: "EVT_TEST", durable: "reader")
                    #expect(info.delivered == expected.count && info.ackPending == 0)
                }
            }
        }

        @Test func aPlaceThatTheStreamDoesNotHaveShows() async throws {
            try await withStream { _, jetStream in
                try await publish(1...3, jetStream)
                let behind = try await jetStream.openReader(stream: "EVT_TEST", durable: "reader", from: 50)
                #expect(behind.pending == 0)
                try await jetStream.ensureStream(
                    StreamConfiguration(name: "EVT_TEST", subjects: ["evt.test.>"], maxMessages: 1)
                )
                let before = try await jetStream.openReader(stream: "EVT_TEST", durable: "reader", from: 2)
                #expect(before.pending == 1 && before.deliveredStreamSequence == 2)
            }
        }

        @Test func itEndsWithTheConnectionWhenItIsToldTo() async throws {
            try await withStream { server, jetStream in
                try await publish(1...2, jetStream)
                _ = try await jetStream.openReader(stream: "EVT_TEST", durable: "reader", from: nil)
                let seen = Shared<[Int]>([])
                let consumption = jetStream.consume(stream: "EVT_TEST", durable: "reader", batch: 4, endsWithConnection: true) {
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
        @Test func stoppingCancelsAHandlerThatDoesNotReturn() async throws {
            try await withStream { _, jetStream in
                try await jetStream.ensureConsumer(stream: "EVT_TEST", durable: "slow")
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
                #expect(ContinuousClock.now - start < .seconds(10))
                #expect(begun.value == 1 && ended.value == 1, "it was cancelled, and the next events were not handed over")
                let info = try await jetStream.consumerInfo(stream: "EVT_TEST", durable: "slow")
                #expect(info.ackPending + info.pending == 3, "they come again")
            }
        }

        @Test func onAClosedBusItEndsAtOnce() async throws {
            try await withBus { server, _ in
                let bus = try await server.connect("short")
                await bus.close()
                let consumption = JetStream(connection: bus).consume(stream: "EVT_TEST", durable: "reader", batch: 1) { _ in }
                #expect(consumption.hasEnded)
                await consumption.stop()
            }
        }

        /// The end may come between the steps of a beginning.
        @Test func aWatcherOfAClosedBusIsToldAtOnce() async throws {
            try await withBus { server, _ in
                let bus = try await server.connect("short")
                await bus.close()
                let told = Shared<[ConnectionEvent]>([])
                bus.removeWatcher(bus.addWatcher { event in told.update { $0.append(event) } })
                #expect(told.value == [.closed])
            }
        }
    }
}
