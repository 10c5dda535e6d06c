import Foundation
import Kernel
import TestSupport
import Testing

@testable import Bus

extension BrokerTests {
    @Suite struct ScatterTests {
        /// Answers each ping several times, so that answers are still on their way when the first has arrived.
        private static func answering(_ bus: BusConnection, times: Int = 3) throws -> BusSubscription {
            try bus.subscribe("scatter.ping") { message in
                guard let reply = message.reply else { return }
                for number in 0..<times { try? bus.publish(reply, body: [UInt8(number)]) }
            }
        }

        @Test func `subscriptions that end while their messages arrive leave the heap whole`() async throws {
            let rounds = TestDepth.pick(quick: 3_000, full: 100_000)
            try await withBus { server, bus in
                let other = try await server.connect("other")
                let answers = try Self.answering(other)
                try await other.flush()
                // An inbox has a thread of nats.c, another subject is read by the loop.
                await withTaskGroup(of: Int.self) { group in
                    for (lane, prefix) in ["_INBOX.lane.", "_INBOX.lane.", "_INBOX.lane.", "lane."].enumerated() {
                        group.addTask {
                            var arrived = 0
                            for round in 0..<rounds {
                                let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
                                let subject = "\(prefix)\(lane).\(round)"
                                let subscription = try? bus.subscribe(subject) { _ in continuation.yield() }
                                // A reply needs an inbox: the others send to themselves.
                                if subject.hasPrefix("_INBOX.") {
                                    try? bus.publish("scatter.ping", body: [], reply: subject)
                                } else {
                                    for _ in 0..<3 { try? bus.publish(subject, body: [1]) }
                                }
                                for await _ in stream {
                                    arrived += 1
                                    break
                                }
                                subscription?.cancel()
                            }
                            return arrived
                        }
                    }
                    for await arrived in group { #expect(arrived == rounds) }
                }
                answers.cancel()
                await other.close()
            }
        }

        @Test func `a scatter in a cancelled task throws at once and leaves no request open`() async throws {
            try await withBus { server, bus in
                let other = try await server.connect("other")
                let answers = try Self.answering(other)
                try await other.flush()
                let task = Task { () -> (any Error)? in
                    while !Task.isCancelled { await Task.yield() }
                    do {
                        _ = try await bus.scatter("scatter.ping", for: .seconds(60), atMost: 100)
                        return nil
                    } catch { return error }
                }
                task.cancel()
                #expect(await task.value is CancellationError)
                #expect(bus.requests.count == 0)
                answers.cancel()
                await other.close()
            }
        }

        @Test func `a scatter ends with the answers that it wants, and later ones change nothing`() async throws {
            try await withBus { server, bus in
                let other = try await server.connect("other")
                let answers = try Self.answering(other, times: 5)
                try await other.flush()
                for most in [1, 3, 5] {
                    let found = try await bus.scatter("scatter.ping", for: .seconds(10), atMost: most)
                    #expect(found.map(\.body) == (0..<most).map { [UInt8($0)] })
                }
                let all = try await bus.scatter("scatter.ping", for: .seconds(2), atMost: 100)
                #expect(all.count == 5, "it waits for more until its time is over")
                #expect(try await bus.scatter("scatter.unheard", for: .seconds(60), atMost: 1).isEmpty, "at once")
                #expect(bus.requests.count == 0)
                answers.cancel()
                await other.close()
            }
        }

        @Test func `a scatter fails when its connection is closed`() async throws {
            try await withBus { server, bus in
                let other = try await server.connect("other")
                let answers = try Self.answering(other)
                try await other.flush()
                let closing = try await server.connect("closing")
                let task = Task { try await closing.scatter("scatter.ping", for: .seconds(60), atMost: 100) }
                try await eventually("it waits") { closing.requests.count == 1 }
                await closing.close()
                await #expect(throws: ServiceError.self) { try await task.value }
                answers.cancel()
                await other.close()
            }
        }
    }
}
