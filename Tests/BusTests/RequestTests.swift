import Foundation
import Kernel
import TestSupport
import Testing

@testable import Bus

/// Tests with a real broker run one after the other: each has its own, and two cores are few.
@Suite(.serialized) struct BrokerTests {}

extension BrokerTests {
    @Suite struct RequestTests {
        @Test func `a request is answered with everything that travels`() async throws {
            try await withBus { _, bus in
                let seen = Shared<CallContext?>(nil)
                let service = try await startNotes(
                    bus,
                    [
                        Endpoint(Notes.echo) { note, context in
                            seen.update { $0 = context }
                            return Note("echo \(note.text)")
                        }
                    ]
                )
                let principal = Principal(userID: UserID(high: 1, low: 2), role: .admin, sessionID: SessionID(high: 3, low: 4))
                let context = CallContext(requestID: "r-1", principal: principal, idempotencyKey: "key 1")
                #expect(try await bus.call(Notes.echo, "hällo", context: context) == "echo hällo")
                let received = try #require(seen.value)
                #expect(received.requestID == "r-1")
                #expect(received.trace.traceID == context.trace.traceID && received.trace != context.trace)
                #expect(received.principal == principal)
                #expect(received.idempotencyKey == "key 1")
                #expect(received.deadline.milliseconds == context.deadline.milliseconds, "the earlier of the two deadlines")
                await service.drain()
            }
        }

        @Test func `bodies from empty to the limit pass`() async throws {
            try await withBus { _, bus in
                let service = try await startNotes(
                    bus,
                    [Endpoint(service: "notes", version: "v1", name: "Echo") { body, _ in body }]
                )
                for size in [0, 1, 4_096, 100_000, bus.maxPayload - 1_024] {
                    let body = [UInt8](repeating: UInt8(size % 251), count: size)
                    let reply = try await bus.callRaw(
                        subject: Notes.echo.subject,
                        body: body,
                        context: CallContext(),
                        idempotent: false
                    )
                    #expect(reply == body)
                }
                let tooLarge = [UInt8](repeating: 1, count: bus.maxPayload + 1)
                await #expect(throws: ServiceError.self) {
                    try await bus.callRaw(subject: Notes.echo.subject, body: tooLarge, context: CallContext(), idempotent: false)
                }
                #expect(try await bus.call(Notes.echo, "still alive", context: CallContext()) == "still alive")
                await service.drain()
            }
        }

        @Test func `a reply that is too large is an error not a silence`() async throws {
            try await withBus { _, bus in
                let limit = bus.maxPayload
                let service = try await startNotes(
                    bus,
                    [
                        Endpoint(service: "notes", version: "v1", name: "Echo") { _, _ in [UInt8](repeating: 0, count: limit + 1)
                        }
                    ]
                )
                let code = try await failureCode { try await bus.call(Notes.echo, "x", context: CallContext()) }
                #expect(code == .resourceExhausted)
                await service.drain()
            }
        }

        @Test func `a call without responders is unavailable at once`() async throws {
            try await withBus { _, bus in
                let start = ContinuousClock.now
                for method in [Notes.echo, Notes.change] {
                    try await expectFailure(.unavailable) { try await bus.call(method, "x", context: .expiring(in: .minutes(1))) }
                }
                #expect(ContinuousClock.now - start < .seconds(30))
            }
        }

        @Test func `a slow service meets the deadline`() async throws {
            try await withBus { _, bus in
                let gate = Gate()
                let cancelled = Shared(false)
                let service = try await startNotes(
                    bus,
                    [
                        Endpoint(Notes.change) { note, _ in
                            await withTaskCancellationHandler {
                                await gate.wait()
                            } onCancel: {
                                cancelled.update { $0 = true }
                            }
                            return note
                        }
                    ]
                )
                let start = ContinuousClock.now
                let result = try await failureCode {
                    try await bus.call(Notes.change, "x", context: .expiring(in: .milliseconds(200)))
                }
                #expect(result == .deadlineExceeded)
                #expect((.milliseconds(195)...(.seconds(30))).contains(ContinuousClock.now - start))
                try await eventually("the handler is cancelled at its deadline") { cancelled.value }
                #expect(service.inFlight == 1, "a handler that does not return keeps its place")
                gate.open()
                try await eventually("the handler has returned") { service.inFlight == 0 }
                await service.drain()
            }
        }

        @Test func `the method's timeout brings the deadline forward`() async throws {
            try await withBus { _, bus in
                let subscription = try bus.subscribe("rpc.notes.v1.Hasty") { _ in }
                let hasty = Notes.method("Hasty", isIdempotent: false, timeout: .milliseconds(100))
                let start = ContinuousClock.now
                try await expectFailure(.deadlineExceeded) {
                    try await bus.call(hasty, "x", context: .expiring(in: .seconds(60)))
                }
                #expect(ContinuousClock.now - start < .seconds(30))
                subscription.cancel()
            }
        }

        @Test func `work whose deadline has passed is dropped, and the log has it once if that was long ago`() async throws {
            try await withBus { _, bus in
                let ran = Shared(0)
                let lines = Shared<[String]>([])
                let observer = CountingObserver()
                let service = try await startNotes(
                    bus,
                    observer: observer,
                    logger: recording(lines),
                    [
                        Endpoint(Notes.change) { note, _ in
                            ran.update { $0 += 1 }
                            return note
                        }
                    ]
                )
                let past = String((SystemClock.now() - .seconds(1)).milliseconds)
                for _ in 0..<3 {
                    try bus.publish(Notes.change.subject, headers: ["deadline": past], body: [], reply: "_INBOX.nowhere.at.all")
                }
                // It comes after that, and is sent once, however slow it is.
                #expect(try await bus.call(Notes.change, "x", context: CallContext()) == "x")
                #expect(ran.value == 1)
                try await eventually("all are counted") { observer.codes.value.count { $0 == .deadlineExceeded } == 3 }
                #expect(lines.value.count { $0.hasPrefix("requests come after their deadlines") } == 1)
                await service.drain()
            }
        }

        @Test func `cancelling the task ends the waiting`() async throws {
            try await withBus { _, bus in
                let received = Shared(0)
                let subscription = try bus.subscribe("rpc.notes.v1.Change") { _ in received.update { $0 += 1 } }
                let call = Task { try await bus.call(Notes.change, "x", context: .expiring(in: .seconds(60))) }
                try await eventually("the request has arrived") { received.value == 1 }
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
                let second = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await bus.call(Notes.change, "x", context: CallContext())
                }
                await #expect(throws: CancellationError.self) { try await second.value }
                subscription.cancel()
            }
        }

        @Test func `many requests at once all get their own answer`() async throws {
            try await withBus { server, bus in
                let service = try await startNotes(bus, limit: 5_000, [Endpoint(Notes.echo) { note, _ in note }])
                let client = try await server.connect("client")
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<2_000 {
                        group.addTask {
                            try await client.call(Notes.echo, Note("n\(number)"), context: CallContext()) == Note("n\(number)")
                        }
                    }
                    for try await isRight in group { #expect(isRight) }
                }
                await client.close()
                await service.drain()
            }
        }

        @Test func `requests started in order arrive in order`() async throws {
            try await withBus { _, bus in
                let subscription = try bus.subscribe("order") { message in
                    try? bus.publish(message.reply ?? "none", body: message.body)
                }
                let deadline = SystemClock.now() + .seconds(10)
                let pending = try (0..<100).map { try bus.startRequest("order", body: [UInt8($0)], deadline: deadline) }
                for (number, reply) in pending.enumerated() { #expect(try await reply.value().body == [UInt8(number)]) }
                subscription.cancel()
            }
        }

        @Test func `closing fails what waits`() async throws {
            try await withBus { server, _ in
                let bus = try await server.connect("short")
                let received = Shared(0)
                try bus.subscribe("rpc.notes.v1.Change") { _ in received.update { $0 += 1 } }
                let call = Task { try await bus.call(Notes.change, "x", context: .expiring(in: .seconds(60))) }
                try await eventually("the request has arrived") { received.value == 1 }
                await bus.close()
                try await expectFailure(.unavailable) { try await call.value }
                try await expectFailure(.unavailable) { try await bus.call(Notes.change, "x", context: CallContext()) }
                #expect(!bus.isConnected)
                await bus.close()
            }
        }

        @Test func `draining a connection lets answers arrive`() async throws {
            try await withBus { server, bus in
                let gate = Gate()
                let started = Shared(0)
                let service = try await startNotes(
                    bus,
                    [
                        Endpoint(Notes.change) { note, _ in
                            started.update { $0 += 1 }
                            await gate.wait()
                            return note
                        }
                    ]
                )
                let client = try await server.connect("leaving")
                let call = Task { try await client.call(Notes.change, "x", context: CallContext()) }
                try await eventually("the request runs") { started.value == 1 }
                let drain = Task { await client.drain() }
                gate.open()
                #expect(try await call.value == "x")
                await drain.value
                #expect(!client.isConnected)
                await service.drain()
            }
        }
    }
}

/// Keeps the codes of everything that completed.
final class CountingObserver: RPCObserver {
    let codes = Shared<[ServiceError.Code?]>([])
    let rpcs = Shared<[ObservedRPC]>([])
    let startedCount = Shared(0)

    func started(method: String) { startedCount.update { $0 += 1 } }
    func ended(_ rpc: ObservedRPC) {
        codes.update { $0.append(rpc.code) }
        rpcs.update { $0.append(rpc) }
    }
}
