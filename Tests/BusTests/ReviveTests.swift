import Foundation
import Kernel
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Bus

/// Makes real connections, and lets a test break into it.
private final class Dialing: Sendable {
    private struct State {
        var begun = 0
        var running = 0
        var mostAtOnce = 0
        var handles: [NatsHandle] = []
    }

    private let state = Mutex(State())
    /// Runs when connection `number` was made, before the bus has it. When it closes the connection, the bus is notified before it gets it.
    private let made: @Sendable (_ number: Int, NatsHandle) -> Void

    init(_ made: @escaping @Sendable (_ number: Int, NatsHandle) -> Void = { _, _ in }) { self.made = made }

    /// How many were begun.
    var count: Int { state.withLock { $0.begun } }
    /// How many were under way at the same time.
    var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }
    /// All that were made.
    var handles: [NatsHandle] { state.withLock { $0.handles } }

    var areAllClosed: Bool { handles.allSatisfy { $0.isClosed } }

    func connect(_ server: NatsServer, logger: Logger = quiet) async throws -> BusConnection {
        let configuration = BusConfiguration(url: server.url, reconnectWait: .milliseconds(20))
        return try await BusConnection.connect(configuration, logger: logger) { [self] configuration, loop, key in
            let number = state.withLock { state in
                state.begun += 1
                state.running += 1
                state.mostAtOnce = max(state.mostAtOnce, state.running)
                return state.begun
            }
            defer { state.withLock { $0.running -= 1 } }
            let events = ClosedEvents(forwardingTo: Callbacks.connections.target(key.pointer))
            let result = NatsOptions.connect(configuration, loop: loop, events: CallbackKey(Callbacks.connections.add(events)))
            guard let handle = result.0 else { return result }
            state.withLock { $0.handles.append(handle) }
            made(number, handle)
            if handle.isClosed { events.closed.wait() }
            return result
        }
    }
}

/// Reports the end of a connection once the bus was notified of it.
private final class ClosedEvents: ConnectionTarget {
    let closed = DispatchSemaphore(value: 0)
    private let target: (any ConnectionTarget)?

    init(forwardingTo target: (any ConnectionTarget)?) { self.target = target }

    func disconnected(_ connection: OpaquePointer) { target?.disconnected(connection) }
    func reconnected(_ connection: OpaquePointer) { target?.reconnected(connection) }
    func failed(_ problem: String, subject: String?) { target?.failed(problem, subject: subject) }
    func closed(_ connection: OpaquePointer) {
        target?.closed(connection)
        closed.signal()
    }
}

extension BusConnection {
    /// Whether it has a connection with all of its subscriptions.
    fileprivate var isSettled: Bool { link.withLock { !$0.isDialing && !($0.handle?.isClosed ?? true) } }
}

extension BrokerTests {
    /// The library gives a connection up: another is made, by one party, and everything goes over to it.
    @Suite struct ReviveTests {
        /// Each subscription gets each message once.
        private func expectAlive(_ bus: BusConnection, _ received: Shared<[Int]>) async throws {
            try await eventually("it is back") { bus.isSettled }
            try await bus.flush()
            let before = received.value
            try bus.publish("probe", body: [])
            try await eventually("all subscriptions get it") { received.value == before.map { $0 + 1 } }
            try await bus.flush()
            #expect(received.value == before.map { $0 + 1 })
        }

        private func subscribe(_ count: Int, _ bus: BusConnection) throws -> Shared<[Int]> {
            let received = Shared([Int](repeating: 0, count: count))
            for number in 0..<count { try bus.subscribe("probe") { _ in received.update { $0[number] += 1 } } }
            return received
        }

        @Test func `a new connection that ends before it is used is replaced`() async throws {
            let server = try await NatsServer.start()
            let dialing = Dialing { number, handle in if number == 2 { handle.close() } }
            let bus = try await dialing.connect(server)
            let received = try subscribe(3, bus)
            try await expectAlive(bus, received)
            dialing.handles[0].close()
            try await eventually("another is made") { dialing.count >= 3 }
            try await expectAlive(bus, received)
            await bus.close()
        }

        @Test func `a first connection that ends at once is replaced`() async throws {
            let server = try await NatsServer.start()
            let dialing = Dialing { number, handle in if number == 1 { handle.close() } }
            let bus = try await dialing.connect(server)
            #expect(bus.isConnected && dialing.count == 2)
            let received = try subscribe(1, bus)
            try await expectAlive(bus, received)
            await bus.close()
        }

        /// The new connection ends again and again while subscriptions are attached to it.
        @Test func `connections are made one at a time`() async throws {
            let server = try await NatsServer.start()
            let connection = Shared<BusConnection?>(nil)
            let dialing = Dialing { number, handle in
                guard (2...12).contains(number) else { return }
                Thread.detachNewThread {
                    // In use, and most subscriptions are still to come.
                    while connection.value?.isConnected != true, !handle.isClosed { sched_yield() }
                    handle.close()
                }
            }
            let bus = try await dialing.connect(server)
            connection.update { $0 = bus }
            let received = try subscribe(300, bus)
            try await expectAlive(bus, received)
            dialing.handles[0].close()
            try await eventually("the last is in use") {
                dialing.handles.last.map { !$0.isClosed && dialing.count == 13 } ?? false
            }
            try await expectAlive(bus, received)
            #expect(dialing.mostAtOnce == 1)
            #expect(dialing.count == 13)
            #expect(dialing.handles.map(\.isClosed) == [Bool](repeating: true, count: 12) + [false])
            await bus.close()
            #expect(dialing.areAllClosed)
        }

        @Test func `closing while a connection is made leaves none`() async throws {
            let server = try await NatsServer.start()
            let (isMade, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let dialing = Dialing { number, _ in
                guard number == 2 else { return }
                isMade.signal()
                mayGoOn.wait()
            }
            let bus = try await dialing.connect(server)
            _ = try subscribe(3, bus)
            dialing.handles[0].close()
            await Blocking.run { isMade.wait() }
            await bus.close()
            mayGoOn.signal()
            try await eventually("it is closed") { dialing.areAllClosed }
            #expect(dialing.handles.count == 2 && !bus.isConnected)
            #expect(bus.subscriptionCount == 0)
        }

        @Test func `a subscription made meanwhile is there afterwards`() async throws {
            let server = try await NatsServer.start()
            let (isMade, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let dialing = Dialing { number, _ in
                guard number == 2 else { return }
                isMade.signal()
                mayGoOn.wait()
            }
            let bus = try await dialing.connect(server)
            dialing.handles[0].close()
            await Blocking.run { isMade.wait() }
            let received = try subscribe(2, bus)
            let cancelled = try bus.subscribe("probe") { _ in Issue.record("it was cancelled before it was attached") }
            cancelled.cancel()
            mayGoOn.signal()
            try await expectAlive(bus, received)
            await bus.close()
        }

        @Test func `a subscription that fails or was never attached leaves nothing behind`() async throws {
            let server = try await NatsServer.start()
            let mayGoOn = DispatchSemaphore(value: 0)
            let dialing = Dialing { number, _ in if number == 2 { mayGoOn.wait() } }
            let bus = try await dialing.connect(server)
            defer { mayGoOn.signal() }
            let before = bus.subscriptionCount
            dialing.handles[0].close()
            weak var target: ClosureTarget?
            do {
                let closure = ClosureTarget { _ in }
                target = closure
                let subscription = try? bus.subscribe("probe", queue: nil, target: closure)
                subscription?.cancel()
            }
            #expect(target == nil && bus.subscriptionCount == before)
            await bus.close()
            do {
                let closure = ClosureTarget { _ in }
                target = closure
                #expect(throws: ServiceError.self) { try bus.subscribe("probe", queue: nil, target: closure) }
            }
            #expect(target == nil && bus.subscriptionCount == 0)
        }

        /// What ends a connection takes a bounded time, also when the broker does not answer any more.
        @Test(arguments: ["close", "drain"]) func `a frozen broker delays the end only a little`(how: String) async throws {
            try await withBus { server, _ in
                let bus = try await server.connect("short")
                let received = Shared(0)
                try bus.subscribe("no.responder") { _ in }
                for number in 0..<20 { try bus.subscribe("probe.\(number)") { _ in received.update { $0 += 1 } } }
                let jetStream = JetStream(connection: bus)
                let consumption = jetStream.consume(stream: "EVT_TEST", durable: "reader", batch: 10) { _ in }
                let call = Task { try await bus.request("no.responder", body: [], deadline: SystemClock.now() + .seconds(600)) }
                try await eventually("the request is on its way") { bus.requests.count == 1 }
                await server.pause()
                for _ in 0..<8 { try? bus.publish("probe.1", body: [UInt8](repeating: 1, count: 512 << 10)) }
                let start = ContinuousClock.now
                if how == "close" { await bus.close() } else { await bus.drain(within: .seconds(2)) }
                #expect(ContinuousClock.now - start < .seconds(60))
                await consumption.stop()
                await #expect(throws: ServiceError.self) { try await call.value }
                server.resume()
            }
        }
    }
}
