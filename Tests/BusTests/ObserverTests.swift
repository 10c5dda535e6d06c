import Bus
import Kernel
import TestSupport
import Testing

extension BrokerTests {
    @Suite struct ObserverTests {
        @Test func `both sides of a call are spans of its trace`() async throws {
            try await withBus { server, bus in
                let (asking, answering) = (CountingObserver(), CountingObserver())
                let client = try await BusConnection.connect(
                    BusConfiguration(url: server.url, inboxPrefix: "_INBOX.client"),
                    logger: quiet,
                    observer: asking
                )
                let inside = Shared<TraceContext?>(nil)
                let service = try await startNotes(
                    bus,
                    observer: answering,
                    [
                        // Not idempotent: it is sent once, however slow the answer is.
                        Endpoint(Notes.change) { note, context in
                            inside.update { $0 = context.trace }
                            return note
                        }
                    ]
                )
                let context = CallContext(requestID: "r-1", trace: .random(recorded: 1))
                _ = try await client.call(Notes.change, "x", context: context)
                try await eventually("the service has counted it") { answering.rpcs.value.count == 1 }
                let (client1, server1) = (try #require(asking.rpcs.value.first), try #require(answering.rpcs.value.first))
                #expect(client1.parent == context.trace && client1.span.traceID == context.trace.traceID)
                #expect(server1.parent == client1.span && server1.span.traceID == context.trace.traceID)
                #expect(Set([context.trace.spanID, client1.span.spanID, server1.span.spanID]).count == 3)
                #expect(inside.value == server1.span, "what the handler does happens in its span")
                #expect(server1.span.isSampled && server1.requestID == "r-1" && client1.requestID == "r-1")
                #expect(client1.duration >= server1.duration && server1.duration > .zero)
                #expect(asking.startedCount.value == 1)
                await service.drain()
                try await expectFailure(.unavailable) { try await client.call(Notes.change, "x", context: context) }
                #expect(asking.codes.value == [nil, .unavailable])
                await client.close()
            }
        }

        @Test func `what is refused says why`() async throws {
            try await withBus { _, bus in
                let observer = CountingObserver()
                let gate = Gate()
                let service = try await startNotes(
                    bus,
                    limit: 1,
                    observer: observer,
                    [
                        Endpoint(Notes.change) { note, _ in
                            await gate.wait()
                            return note
                        }
                    ]
                )
                let running = Task { try await bus.call(Notes.change, "x", context: CallContext()) }
                try await eventually("one request runs") { service.inFlight == 1 }
                try await expectFailure(.unavailable) { try await bus.call(Notes.change, "y", context: CallContext()) }
                gate.open()
                _ = try await running.value
                try await eventually("both are counted") { observer.rpcs.value.count == 2 }
                #expect(Set(observer.rpcs.value.map(\.fate)) == [.overloaded, .ran])
                #expect(observer.startedCount.value == 1)
                #expect(observer.rpcs.value.allSatisfy { $0.parent != nil }, "an unobserved caller's span is the parent")
                await service.drain()
            }
        }
    }
}
