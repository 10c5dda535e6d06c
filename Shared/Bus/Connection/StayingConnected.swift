internal import CNats
internal import Kernel
internal import Logging

extension BusConnection {
    /// Makes a connection with all subscriptions. Only for the dialling task (`ConnectionLink`).
    ///
    /// - Parameter end: Until when to try; nil tries once.
    /// - Throws: `BusConnectionError`, `CancellationError`.
    func establish(until end: Tick?) async throws {
        while true {
            let handle = try await dial(until: end)
            switch link.withLock({ $0.adopt(handle) }) {
            case .discard:
                await Blocking.run { handle.close() }
                throw BusConnectionError(reason: "the bus was closed", isPassing: false)
            case .use(let generation, let old):
                if let old { await Blocking.run { old.close() } }
                let status = attachSubscriptions(to: handle, generation: generation)
                let settlement = link.withLock { link in
                    link.settle(isOpen: status == NATS_OK && !handle.isClosed, isConnected: handle.isConnected, now: .now())
                }
                switch settlement {
                case .done: return
                case .stop: throw BusConnectionError(reason: "the bus was closed", isPassing: false)
                case .dialAgain:
                    guard let end, Tick.now() < end else { throw BusConnectionError(reason: status.text, isPassing: true) }
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
        }
    }

    private func dial(until end: Tick?) async throws -> NatsHandle {
        let key = eventsKey.withLock { $0 }
        while true {
            try Task.checkCancellation()
            let (handle, status) = await Blocking.run { [configuration, loop, dialer] in dialer(configuration, loop, key) }
            if let handle { return handle }
            let isTransient = [NATS_NO_SERVER, NATS_TIMEOUT, NATS_IO_ERROR, NATS_CONNECTION_CLOSED].contains(status)
            guard isTransient, let end, Tick.now() < end else {
                throw BusConnectionError(reason: status.text, isPassing: isTransient)
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Makes connections until one stays, after nats.c has abandoned the last.
    private func revive() async {
        while !link.withLock({ $0.isClosed }) {
            do {
                try await establish(until: nil)
                return cameBack()
            } catch {
                try? await Task.sleep(for: .microseconds(configuration.reconnectWait.microseconds))
            }
        }
    }

    private func cameBack() {
        logger.notice("bus: connected to the broker again")
        notifyWatchers(.reconnected)
    }

    /// Changes the link when an event is about the connection in use. Events of one that was replaced may come late.
    private func inLink<Result: Sendable>(
        _ pointer: OpaquePointer,
        _ change: (inout ConnectionLink<NatsHandle>) -> Result
    ) -> Result? {
        link.withLock { link in
            guard link.handle?.pointer == pointer else { return nil }
            return change(&link)
        }
    }

    fileprivate func disconnected(_ pointer: OpaquePointer) {
        guard inLink(pointer, { $0.disconnected() }) != nil else { return }
        logger.warning("bus: disconnected from the broker")
    }

    fileprivate func reconnected(_ pointer: OpaquePointer) {
        guard inLink(pointer, { $0.reconnected(now: .now()) }) != nil else { return }
        cameBack()
    }

    fileprivate func failed(_ problem: String, subject: String?) {
        logger.error("bus: \(problem)", metadata: subject.map { ["subject": "\($0)"] })
    }

    /// nats.c abandons a connection although it is configured to retry without limit, for example when a broker refuses its
    /// credentials twice. Make a new one.
    fileprivate func closed(_ pointer: OpaquePointer) {
        guard inLink(pointer, { $0.lost() }) == true else { return }
        logger.error("bus: the connection was closed; connecting anew")
        Task { [weak self] in await self?.revive() }
    }
}

/// A weak reference to a connection, for nats.c.
final class WeakEvents: ConnectionTarget {
    private let connection: WeakConnection

    init(_ connection: BusConnection) { self.connection = WeakConnection(connection) }

    func disconnected(_ pointer: OpaquePointer) { connection.value?.disconnected(pointer) }
    func reconnected(_ pointer: OpaquePointer) { connection.value?.reconnected(pointer) }
    func closed(_ pointer: OpaquePointer) { connection.value?.closed(pointer) }
    func failed(_ problem: String, subject: String?) { connection.value?.failed(problem, subject: subject) }
}

private final class WeakConnection: @unchecked Sendable {
    // Written once, before it is shared.
    private(set) weak var value: BusConnection?

    init(_ value: BusConnection) { self.value = value }
}
