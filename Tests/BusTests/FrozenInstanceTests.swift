import Kernel
import TestSupport
import Testing

@testable import Bus

/// An instance of `notes` that a test can freeze: what the broker delivers to it meanwhile is answered when it thaws.
private final class FreezableInstance: Sendable {
    let id = InstanceID(number: Entropy.word())
    /// How many requests it was sent.
    let received = Shared(0)
    private let bus: BusConnection
    private let frozen = Shared<[BusMessage]?>(nil)

    init(_ bus: BusConnection) async throws {
        self.bus = bus
        try bus.subscribe(Notes.echo.subject, queue: "notes") { [weak self] in self?.took($0, isRequest: true) }
        try bus.subscribe("inst.notes.\(id.text).>") { [weak self] in self?.took($0, isRequest: !$0.subject.hasSuffix(".ping")) }
        try bus.subscribe("inst.notes.ping") { [weak self] in self?.took($0, isRequest: false) }
        try await bus.flush()
    }

    func freeze() { frozen.update { $0 = [] } }

    func thaw() {
        let kept = frozen.update { frozen in
            defer { frozen = nil }
            return frozen ?? []
        }
        for message in kept { answer(message) }
    }

    private func took(_ message: BusMessage, isRequest: Bool) {
        if isRequest { received.update { $0 += 1 } }
        let isKept = frozen.update { frozen in
            frozen?.append(message)
            return frozen != nil
        }
        if !isKept { answer(message) }
    }

    private func answer(_ message: BusMessage) {
        guard let inbox = message.reply else { return }
        try? bus.publish(ReplySubject.from(id, inbox), body: message.body)
    }
}

extension BrokerTests {
    /// A process that is stopped, or cut off, and that the broker goes on delivering to.
    @Suite struct FrozenInstanceTests {
        @Test func `rounds of pings end, also when their time is over before the thread that began one goes on`() async throws {
            try await withBus { _, bus in
                let service = CalledService("notes", roundLength: .zero)
                let calls = TestDepth.pick(quick: 50_000, full: 1_000_000)
                await withTaskGroup(of: Void.self) { callers in
                    for _ in 0..<4 {
                        callers.addTask {
                            for _ in 0..<calls {
                                service.beginRound(over: bus)
                                if service.isInRound { await Task.yield() }
                            }
                        }
                    }
                }
                try await eventually("the last round ends", within: .seconds(20)) { !service.isInRound }
            }
        }

        /// A client and two instances, each with a connection of its own.
        private func withInstances(_ body: (BusConnection, FreezableInstance, BusService) async throws -> Void) async throws {
            try await withBus { server, client in
                let (first, second) = (try await server.connect("first"), try await server.connect("second"))
                let freezable = try await FreezableInstance(first)
                let healthy = try await startNotes(second, [Endpoint(Notes.echo) { note, _ in note }])
                try await eventually("both were called") {
                    _ = try await client.call(Notes.echo, "x", context: CallContext())
                    return freezable.received.value > 30
                }
                try await body(client, freezable, healthy)
                await healthy.drain()
                await first.close()
                await second.close()
            }
        }

        @Test func `a call that a frozen instance got is answered by another one, and the next ones do not meet it`() async throws
        {
            try await withInstances { client, frozen, _ in
                frozen.freeze()
                let before = frozen.received.value
                try await eventually("it got a call") {
                    let reply = try await client.call(Notes.echo, "x", context: .expiring(in: .seconds(10)))
                    #expect(reply == "x")
                    return frozen.received.value > before
                }
                try await eventually("it is avoided") {
                    let before = frozen.received.value
                    for _ in 0..<50 { _ = try await client.call(Notes.echo, "x", context: .expiring(in: .seconds(10))) }
                    return frozen.received.value == before
                }
                frozen.thaw()
                let afterwards = frozen.received.value
                try await eventually("it gets calls again") {
                    _ = try await client.call(Notes.echo, "x", context: CallContext())
                    return frozen.received.value > afterwards
                }
            }
        }

        @Test func `a caller that never had an answer from the frozen instance is answered by the other one too`() async throws {
            try await withBus { server, client in
                let (first, second) = (try await server.connect("first"), try await server.connect("second"))
                let frozen = try await FreezableInstance(first)
                frozen.freeze()
                let healthy = try await startNotes(second, [Endpoint(Notes.echo) { note, _ in note }])
                for _ in 0..<40 {
                    let reply = try await client.call(Notes.echo, "x", context: .expiring(in: .seconds(3)))
                    #expect(reply == "x")
                }
                #expect(frozen.received.value > 0)
                await healthy.drain()
                await first.close()
                await second.close()
            }
        }

        @Test func `a change that may not be repeated waits for the frozen instance, and the next ones do not meet it`()
            async throws
        {
            try await withBus { server, client in
                let other = try await server.connect("other")
                let frozen = try await FreezableInstance(other)
                let change = Notes.method("Echo", isIdempotent: false)
                for _ in 0..<30 { _ = try await client.call(change, "x", context: CallContext()) }
                frozen.freeze()
                let call = Task { try await client.call(change, "kept", context: .expiring(in: .seconds(30))) }
                try await eventually("it has the call") { frozen.received.value == 31 }
                let healthy = try await startNotes(client, [Endpoint(Notes.echo) { note, _ in note }])
                try await eventually("it is avoided") {
                    let before = frozen.received.value
                    for _ in 0..<20 { _ = try await client.call(Notes.echo, "x", context: .expiring(in: .seconds(10))) }
                    return frozen.received.value == before
                }
                frozen.thaw()
                #expect(try await call.value == "kept")
                await healthy.drain()
                await other.close()
            }
        }

        @Test func `a change with a key that a frozen instance got is answered by another one`() async throws {
            try await withInstances { client, frozen, _ in
                frozen.freeze()
                let before = frozen.received.value
                var context = CallContext(deadline: SystemClock.now() + .seconds(30))
                context.makeKey()
                try await eventually("it got a change") {
                    let subject = Notes.echo.subject
                    let reply = try await client.callRaw(
                        subject: subject,
                        body: [7],
                        context: context,
                        idempotent: false,
                        honoursKeys: true
                    )
                    #expect(reply == [7])
                    return frozen.received.value > before
                }
                frozen.thaw()
            }
        }

        @Test func `a change with a key that is only slow is made once`() async throws {
            try await withBus { _, bus in
                let runs = Shared(0)
                let gate = Gate()
                let service = try await startNotes(
                    bus,
                    [
                        Endpoint(Notes.change) { note, _ in
                            if runs.update({
                                $0 += 1; return $0
                            }) > 30 {
                                await gate.wait()
                            }
                            return note
                        }
                    ]
                )
                var context = CallContext(deadline: SystemClock.now() + .seconds(30))
                context.makeKey()
                let ask: @Sendable () async throws -> [UInt8] = { [context] in
                    try await bus.callRaw(
                        subject: Notes.change.subject,
                        body: [7],
                        context: context,
                        idempotent: false,
                        honoursKeys: true
                    )
                }
                for _ in 0..<30 { _ = try await ask() }
                let slow = Task { try await ask() }
                // How often it ran when it was looked for a second time: after two seconds without a sign it is sent once more.
                let (rounds, ran) = (Shared(0), Shared<Int?>(nil))
                try bus.subscribe("inst.notes.ping") { _ in
                    let round = rounds.update {
                        $0 += 1; return $0
                    }
                    if round == 2 { ran.update { $0 = runs.value } }
                }
                try await eventually("it was looked for twice") { ran.value != nil }
                #expect(ran.value == 31)
                gate.open()
                #expect(try await slow.value == [7])
                await service.drain()
            }
        }

        @Test func `a call whose only instance has ended fails at once, not at its deadline`() async throws {
            try await withBus { server, client in
                let other = try await server.connect("other")
                let only = try await FreezableInstance(other)
                for _ in 0..<30 { _ = try await client.call(Notes.echo, "x", context: CallContext()) }
                only.freeze()
                let call = Task { try await client.call(Notes.echo, "x", context: .expiring(in: .minutes(5))) }
                try await eventually("it has the call") { only.received.value > 30 }
                // As when its process is killed.
                await other.close()
                let error = await #expect(throws: ServiceError.self) { try await call.value }
                #expect(error?.code == .unavailable)
            }
        }

        @Test func `a request to a stopping instance is refused, and what it works on is answered`() async throws {
            try await withBus { server, client in
                let gate = Gate()
                let stopping = try await startNotes(
                    client,
                    [
                        Endpoint(Notes.echo) { note, _ in
                            await gate.wait()
                            return note
                        }
                    ]
                )
                let caller = try await server.connect("caller")
                let call = Task { try await caller.call(Notes.echo, "kept", context: .expiring(in: .minutes(1))) }
                try await eventually("it works on it") { stopping.inFlight > 0 }
                let drain = Task { await stopping.drain() }
                let subject = "inst.notes.\(stopping.id).\(Notes.echo.subject)"
                try await eventually("it takes no more") {
                    let pending = try caller.startRequest(subject, body: [], deadline: SystemClock.now() + .milliseconds(300))
                    guard let reply = try? await pending.value() else { return false }
                    return ServiceError(reply: reply)?.code == .unavailable
                }
                gate.open()
                #expect(try await call.value == "kept")
                await drain.value
                let gone = await #expect(throws: ServiceError.self) {
                    try await caller.request(subject, body: [], deadline: SystemClock.now() + .seconds(5))
                }
                #expect(gone?.code == .unavailable)
                await caller.close()
            }
        }

        @Test func `three servers are one address, also when the first is away`() async throws {
            let servers = [try await NatsServer.start(), try await NatsServer.start(), try await NatsServer.start()]
            await servers[0].stop()
            let urls = servers.map(\.url)
            for list in ["\(urls[0]),\(urls[1]),\(urls[2])", " \(urls[0]) , \(urls[1]),", "\(urls[2])"] {
                let bus = try await BusConnection.connect(
                    BusConfiguration(url: list, connectTimeout: .seconds(10), reconnectWait: .milliseconds(50)),
                    logger: quiet
                )
                try await bus.flush()
                await bus.close()
            }
            let bus = try await BusConnection.connect(
                BusConfiguration(url: "\(urls[0]),\(urls[1])", connectTimeout: .seconds(10), reconnectWait: .milliseconds(50)),
                logger: quiet
            )
            try await servers[0].start()
            await servers[1].kill()
            try await eventually("it goes over to the other one") { (try? await bus.flush()) != nil && bus.isConnected }
            await bus.close()
            for server in servers { await server.stop() }
        }
    }
}
