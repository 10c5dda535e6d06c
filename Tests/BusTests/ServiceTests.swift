import Bus
import Foundation
import Kernel
import TestSupport
import Testing

extension BrokerTests {
    @Suite struct ServiceTests {
        struct Broken: Error {}

        @Test func `errors arrive as they were thrown`() async throws {
            try await withBus { _, bus in
                let refusal = ServiceError(
                    .failedPrecondition,
                    "STREAK_NOT_ACTIVE",
                    "The streak is over – ünd out.",
                    details: [.init(field: "a[2].b", message: "m"), .init(field: "", message: "n")],
                    retryAfter: 7
                )
                let service = try await startNotes(
                    bus,
                    [
                        Endpoint(Notes.echo) { _, _ in throw refusal },
                        Endpoint(Notes.change) { _, _ in throw Broken() },
                    ]
                )
                await #expect(throws: refusal) { try await bus.call(Notes.echo, "x", context: CallContext()) }
                await #expect(throws: ServiceError.internal) { try await bus.call(Notes.change, "x", context: CallContext()) }
                let raw = try await bus.request(Notes.echo.subject, body: [], deadline: SystemClock.now() + .seconds(5))
                #expect(raw.headers["Nats-Service-Error-Code"] == "400")
                #expect(raw.headers["Nats-Service-Error"] == "STREAK_NOT_ACTIVE")
                await service.drain()
            }
        }

        @Test func `requests that break rules never reach the handler`() async throws {
            try await withBus { _, bus in
                let ran = Shared(0)
                let service = try await startNotes(
                    bus,
                    [
                        Endpoint(Notes.echo) { note, _ in
                            ran.update { $0 += 1 }
                            return note
                        }
                    ]
                )
                await #expect(throws: ServiceError.validation(field: "text", "must be something else")) {
                    try await bus.call(Notes.echo, "invalid", context: CallContext())
                }
                await #expect(throws: ServiceError.validation(field: "text", "is not valid UTF-8")) {
                    try await bus.callRaw(subject: Notes.echo.subject, body: [0xFF], context: CallContext(), idempotent: true)
                }
                await #expect(throws: ServiceError.validation(field: "text", "must not contain U+0000")) {
                    try await bus.call(Notes.echo, "a\0b", context: CallContext())
                }
                #expect(ran.value == 0)
                await service.drain()
            }
        }

        @Test func `a question what is wrong with the fields of a request reaches no handler`() async throws {
            try await withBus { _, bus in
                let ran = Shared(0)
                let raw = Endpoint(service: "notes", version: "v1", name: "Raw") { body, _ in
                    ran.update { $0 += 1 }
                    return body
                }
                let change = Endpoint(Notes.change) { note, _ in
                    ran.update { $0 += 1 }
                    return note
                }
                let service = try await startNotes(bus, [change, raw])
                func problems(_ subject: String, _ text: String) async -> [ServiceError.Detail] {
                    await bus.problems(subject: subject, body: Array(text.utf8), context: CallContext())
                }
                let expected = ServiceError.Detail(field: "text", message: "must be something else")
                #expect(await problems(Notes.change.subject, "invalid") == [expected])
                #expect(await problems(Notes.change.subject, "right") == [])
                #expect(await problems(raw.subject, "whatever") == [], "its endpoint decodes nothing")
                #expect(await problems(Notes.echo.subject, "x") == [], "there is no such endpoint")
                #expect(ran.value == 0)
                await service.drain()
            }
        }

        @Test func `beyond the limit requests are refused at once`() async throws {
            try await withBus { _, bus in
                let gate = Gate()
                let service = try await startNotes(
                    bus,
                    limit: 3,
                    [
                        Endpoint(Notes.change) { note, _ in
                            await gate.wait()
                            return note
                        }
                    ]
                )
                let running = (0..<3).map { number in
                    Task { try await bus.call(Notes.change, Note("\(number)"), context: .expiring(in: .minutes(1))) }
                }
                try await eventually("three requests run") { service.inFlight == 3 }
                let start = ContinuousClock.now
                for _ in 0..<10 {
                    try await expectFailure(.unavailable) { try await bus.call(Notes.change, "more", context: CallContext()) }
                }
                #expect(ContinuousClock.now - start < .seconds(30))
                #expect(try await ping(bus).count == 1, "discovery is answered while the service is full")
                gate.open()
                for task in running { _ = try await task.value }
                #expect(try await bus.call(Notes.change, "again", context: CallContext()) == "again")
                await service.drain()
            }
        }

        @Test func `an idempotent call that is refused is tried elsewhere`() async throws {
            try await withBus { _, bus in
                let requests = Shared(0)
                let subscription = try bus.subscribe("rpc.notes.v1.*", queue: "notes") { message in
                    let number = requests.update { count in
                        count += 1
                        return count
                    }
                    let headers: BusHeaders =
                        number == 1 ? ["Nats-Service-Error-Code": "503", "Nats-Service-Error": "UNAVAILABLE"] : [:]
                    // Status{code: 14, reason: "UNAVAILABLE"}
                    let body: [UInt8] = number == 1 ? [8, 14, 18, 11] + Array("UNAVAILABLE".utf8) : Array("answer".utf8)
                    try? bus.publish(message.reply ?? "none", headers: headers, body: body)
                }
                #expect(try await bus.call(Notes.echo, "x", context: CallContext()) == "answer")
                // Once more because of the refusal; and where the answer is slow in coming, because of that.
                #expect((2...5).contains(requests.value))
                requests.update { $0 = 0 }
                try await expectFailure(.unavailable) { try await bus.call(Notes.change, "x", context: CallContext()) }
                #expect(requests.value == 1, "a method that is not idempotent is sent once")
                subscription.cancel()
            }
        }

        @Test func `an idempotent call survives an instance that ends silently`() async throws {
            try await withBus { _, bus in
                let requests = Shared(0)
                let subscription = try bus.subscribe("rpc.notes.v1.*", queue: "notes") { message in
                    let number = requests.update { count in
                        count += 1
                        return count
                    }
                    if number > 1 { try? bus.publish(message.reply ?? "none", body: Array("answer".utf8)) }
                }
                #expect(try await bus.call(Notes.echo, "x", context: .expiring(in: .minutes(1))) == "answer")
                #expect((2...4).contains(requests.value))
                subscription.cancel()
            }
        }

        @Test func `replicas share the work and a rolling restart loses nothing`() async throws {
            try await withBus { server, bus in
                let answered = Shared<[String: Int]>([:])
                @Sendable func replica(_ name: String) async throws -> (BusConnection, BusService) {
                    let connection = try await server.connect(name)
                    let service = try await startNotes(
                        connection,
                        limit: 1_000,
                        [
                            Endpoint(Notes.change) { note, _ in
                                try await Task.sleep(for: .milliseconds(3))
                                answered.update { $0[name, default: 0] += 1 }
                                return note
                            }
                        ]
                    )
                    return (connection, service)
                }
                var replicas = [try await replica("a0"), try await replica("b0")]
                let isDone = Shared(false)
                defer { isDone.update { $0 = true } }
                let sent = Shared(0)
                let failures = Shared<[String]>([])
                let load = Task {
                    await withTaskGroup(of: Void.self) { group in
                        for _ in 0..<32 {
                            group.addTask {
                                while !isDone.value {
                                    let number = sent.update {
                                        $0 += 1; return $0
                                    }
                                    do {
                                        _ = try await bus.call(
                                            Notes.change,
                                            Note("\(number)"),
                                            context: .expiring(in: .minutes(1))
                                        )
                                    } catch {
                                        failures.update { $0.append("\(error)") }
                                        try? await Task.sleep(for: .milliseconds(10))
                                    }
                                }
                            }
                        }
                    }
                }
                for round in 1...6 {
                    let before = sent.value
                    try await eventually("traffic flows") { sent.value > before + 300 }
                    replicas.append(try await replica("r\(round)"))
                    let (connection, service) = replicas.removeFirst()
                    await service.drain()
                    #expect(service.inFlight == 0)
                    await connection.drain()
                }
                isDone.update { $0 = true }
                await load.value
                #expect(failures.value == [])
                #expect(answered.value.values.reduce(0, +) == sent.value)
                #expect(answered.value.keys.count >= 7, "every replica has worked: \(answered.value)")
                for (connection, service) in replicas {
                    await service.drain()
                    await connection.close()
                }
            }
        }

        @Test func `draining cancels what never ends`() async throws {
            try await withBus { _, bus in
                let service = try await startNotes(
                    bus,
                    drainTimeout: .milliseconds(200),
                    [
                        Endpoint(Notes.change) { note, _ in
                            try await Task.sleep(for: .seconds(60))
                            return note
                        }
                    ]
                )
                let call = Task { try await bus.call(Notes.change, "x", context: CallContext()) }
                try await eventually("the request runs") { service.inFlight == 1 }
                await service.drain()
                try await expectFailure(.unavailable) { try await call.value }
                try await expectFailure(.unavailable) { try await bus.call(Notes.change, "x", context: CallContext()) }
                #expect(try await ping(bus).isEmpty)
            }
        }

        @Test func `the observer gets every request`() async throws {
            try await withBus { _, bus in
                let observer = CountingObserver()
                let service = try await startNotes(
                    bus,
                    observer: observer,
                    [
                        Endpoint(Notes.change) { note, _ in
                            guard note.text != "missing" else { throw ServiceError.notFound("note") }
                            return note
                        }
                    ]
                )
                // A method that is not idempotent is sent once, however slow the answer is.
                _ = try await bus.call(Notes.change, "x", context: CallContext())
                try await expectFailure(.notFound) { try await bus.call(Notes.change, "missing", context: CallContext()) }
                try await eventually("both are counted") { Set(observer.codes.value) == [nil, .notFound] }
                #expect(observer.startedCount.value == 2)
                await service.drain()
            }
        }

        @Test func `names that the protocol forbids do not start`() async throws {
            try await withBus { _, bus in
                func service(_ name: String, _ version: String, _ endpoints: [Endpoint] = []) -> BusService {
                    BusService(connection: bus, name: name, version: version, endpoints: endpoints, logger: quiet)
                }
                let echo = Endpoint(Notes.echo) { note, _ in note }
                for broken in [
                    service("no dots.", "1.0.0"), service("", "1.0.0"), service("notes", "1.0"), service("notes", "v1.0.0"),
                    service("notes", "1.0.01"), service("notes", "1.0.0-"), service("notes", "1.0.0", [echo, echo]),
                ] { try await expectFailure(.invalidArgument) { try await broken.start() } }
                for version in ["0.0.0", "1.2.3-rc.1+build.5", "10.20.30+x"] {
                    let fine = service("fine", version)
                    try await fine.start()
                    await fine.drain()
                }
            }
        }
    }
}

func ping(_ bus: BusConnection) async throws -> [BusMessage] {
    try await bus.scatter("$SRV.PING.notes", for: .seconds(20), atMost: 1)
}
