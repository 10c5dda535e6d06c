internal import CNats
public import Kernel
public import Logging
internal import Synchronization

/// Why there is no connection at start. Never shows credentials.
public struct BusConnectionError: Error, CustomStringConvertible {
    /// What the NATS library says.
    public let reason: String
    /// Whether the broker is merely away: trying again makes sense.
    public let isPassing: Bool

    public var description: String { "cannot connect to the message bus: \(reason)" }
}

/// What happens to a connection as a whole.
enum ConnectionEvent: Sendable {
    case reconnected
    case closed
}

/// A connection to the broker that heals itself for ever: requests, publishing, subscriptions.
///
/// While the broker is away, what is published waits in a buffer of 8 MiB and goes out when it is back; requests wait until
/// their deadline. Must be ended with `close()` or `drain()`.
public final class BusConnection: Sendable {
    /// How it was connected.
    public let configuration: BusConfiguration
    let logger: Logger
    let observer: (any RPCObserver)?
    let requests: PendingRequests
    private let current = Mutex<NatsHandle?>(nil)
    private let subscriptions = Mutex<[ObjectIdentifier: BusSubscription]>([:])
    private let watchers = Mutex<(next: UInt64, actions: [UInt64: @Sendable (ConnectionEvent) -> Void])>((0, [:]))
    private let isClosing = Atomic(false)
    private let isAway = Atomic(false)
    private let reconnectedAt = Atomic<UInt64>(0)
    private let inboxCount = Atomic<UInt64>(0)
    private let eventsKey = Mutex(CallbackKey(nil))

    private init(_ configuration: BusConfiguration, logger: Logger, observer: (any RPCObserver)?) {
        self.configuration = configuration
        self.logger = logger
        self.observer = observer
        self.requests = PendingRequests(inboxPrefix: configuration.inboxPrefix)
    }

    deinit { Callbacks.connections.remove(eventsKey.withLock { $0.pointer }) }

    /// Connects, trying for up to `configuration.connectTimeout`.
    ///
    /// - Parameter observer: Is told of every call.
    /// - Throws: `BusConnectionError` when the broker cannot be reached in that time, or at once when it refuses the credentials;
    ///   `CancellationError`.
    public static func connect(
        _ configuration: BusConfiguration,
        logger: Logger,
        observer: (any RPCObserver)? = nil
    ) async throws -> BusConnection {
        guard Subject.isPublishable(configuration.inboxPrefix) else {
            throw BusConnectionError(reason: "the inbox prefix is not a subject", isPassing: false)
        }
        let connection = BusConnection(configuration, logger: logger, observer: observer)
        let key = CallbackKey(Callbacks.connections.add(WeakEvents(connection)))
        connection.eventsKey.withLock { $0 = key }
        let handle = try await connection.dial(until: Tick.now() + configuration.connectTimeout)
        connection.current.withLock { $0 = handle }
        try connection.subscribe(connection.requests.prefix + "*", queue: nil, target: connection.requests)
        return connection
    }

    /// Whether the broker can be reached now.
    public var isConnected: Bool {
        guard let handle = current.withLock({ $0 }) else { return false }
        return natsConnection_Status(handle.pointer) == NATS_CONN_STATUS_CONNECTED
    }

    /// The most bytes that one message may have, as the broker says.
    public var maxPayload: Int {
        current.withLock { $0 }.map { Int(natsConnection_GetMaxPayload($0.pointer)) } ?? 0
    }

    /// Publishes one message and does not wait for anything.
    ///
    /// - Throws: `ServiceError`: a subject or header that cannot be sent, `PAYLOAD_TOO_LARGE`, or `UNAVAILABLE` when the broker is away
    ///   and the buffer is full.
    public func publish(_ subject: String, headers: BusHeaders = [:], body: [UInt8], reply: String? = nil) throws(ServiceError) {
        guard let handle = current.withLock({ $0 }) else { throw .unavailable("The message bus is not available.") }
        try handle.publish(subject: subject, reply: reply, headers: headers, body: body)
    }

    /// Subscribes to a subject, which may have wildcards.
    ///
    /// - Parameters:
    ///   - subject: What to receive.
    ///   - queue: A queue group, of which one member gets each message.
    ///   - handler: Runs on a delivery thread, one message after the other: it must not block.
    /// - Throws: `ServiceError` when the subject is none.
    @discardableResult
    public func subscribe(
        _ subject: String,
        queue: String? = nil,
        _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(ServiceError) -> BusSubscription {
        try subscribe(subject, queue: queue, target: ClosureTarget(handler))
    }

    /// Waits until the broker has everything that was published, and knows all subscriptions.
    ///
    /// - Throws: `ServiceError` `UNAVAILABLE` when the broker does not confirm within `limit`.
    public func flush(within limit: Interval = .seconds(5)) async throws {
        guard let handle = current.withLock({ $0 }) else { throw ServiceError.unavailable() }
        let status = await Blocking.run { natsConnection_FlushTimeout(handle.pointer, max(1, limit.microseconds / 1_000)) }
        if status != NATS_OK { throw status.asServiceError }
    }

    /// Ends the connection in order: subscriptions are drained, requests get their answers, everything published is flushed.
    ///
    /// - Parameter limit: How long that may take; what is left then is cut off.
    public func drain(within limit: Interval = .seconds(10)) async {
        let end = Tick.now() + limit
        let others = subscriptions.withLock { $0.values.filter { $0.subject != self.requests.prefix + "*" } }
        await BusSubscription.drain(others, within: limit)
        while requests.count > 0, Tick.now() < end, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
        do { try await flush(within: limit) } catch { logger.warning("bus: closed without a last flush") }
        await close()
    }

    /// Ends the connection at once: requests that wait fail with `UNAVAILABLE`.
    public func close() async {
        guard !isClosing.exchange(true, ordering: .acquiringAndReleasing) else { return }
        requests.close()
        tellWatchers(.closed)
        for subscription in subscriptions.withLock({ Array($0.values) }) { subscription.cancel() }
        let handle = current.withLock { current in
            defer { current = nil }
            return current
        }
        if let handle { await Blocking.run { natsConnection_Close(handle.pointer) } }
        Callbacks.connections.remove(eventsKey.withLock { $0.pointer })
    }

    // MARK: Used by the rest of the module

    /// A subject below our own inbox that nobody else uses.
    func makeInbox() -> String {
        "\(requests.prefix)s.\(inboxCount.add(1, ordering: .relaxed).newValue)"
    }

    /// Whether the broker is away, or was so recently that others may not be back yet.
    var isHealing: Bool {
        // nats.c sends what was buffered before it tells of the reconnect: answers may come while it still counts as away.
        if isAway.load(ordering: .acquiring) { return true }
        let at = reconnectedAt.load(ordering: .relaxed)
        return at > 0 && Tick.now() < Tick(nanoseconds: at) + configuration.reconnectGrace
    }

    /// Calls `action` after each reconnect and at the end, until `removeWatcher`.
    func addWatcher(_ action: @escaping @Sendable (ConnectionEvent) -> Void) -> UInt64 {
        watchers.withLock { watchers in
            watchers.next += 1
            watchers.actions[watchers.next] = action
            return watchers.next
        }
    }

    func removeWatcher(_ number: UInt64) { watchers.withLock { $0.actions[number] = nil } }

    private func tellWatchers(_ event: ConnectionEvent) {
        for action in watchers.withLock({ Array($0.actions.values) }) { action(event) }
    }

    @discardableResult
    func subscribe(_ subject: String, queue: String?, target: any MessageTarget) throws(ServiceError) -> BusSubscription {
        guard Subject.isSubscribable(subject), queue.map(Subject.isPublishable) ?? true else {
            throw .validation(field: "subject", "is not a subject")
        }
        guard let handle = current.withLock({ $0 }) else { throw .unavailable("The message bus is not available.") }
        let subscription = BusSubscription(subject: subject, queue: queue, target: target) { [weak self] ended in
            _ = self?.subscriptions.withLock { $0.removeValue(forKey: ObjectIdentifier(ended)) }
        }
        subscriptions.withLock { $0[ObjectIdentifier(subscription)] = subscription }
        do {
            try subscription.attach(to: handle)
        } catch {
            subscription.cancel()
            throw error
        }
        return subscription
    }
}

// MARK: - Staying connected

extension BusConnection {
    private func dial(until end: Tick) async throws -> NatsHandle {
        let key = eventsKey.withLock { $0 }
        while true {
            try Task.checkCancellation()
            let (handle, status) = await Blocking.run { [configuration] in
                NatsOptions.connect(configuration, events: key.pointer)
            }
            if let handle { return handle }
            let isTransient = [NATS_NO_SERVER, NATS_TIMEOUT, NATS_IO_ERROR, NATS_CONNECTION_CLOSED].contains(status)
            guard isTransient, Tick.now() < end else { throw BusConnectionError(reason: status.text, isPassing: isTransient) }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    fileprivate func disconnected() {
        isAway.store(true, ordering: .releasing)
        if !isClosing.load(ordering: .acquiring) { logger.warning("bus: disconnected from the broker") }
    }

    fileprivate func reconnected() {
        logger.notice("bus: connected to the broker again")
        reconnectedAt.store(Tick.now().nanoseconds, ordering: .relaxed)
        isAway.store(false, ordering: .releasing)
        tellWatchers(.reconnected)
    }

    fileprivate func failed(_ status: natsStatus, subject: String?) {
        logger.error("bus: \(status.text)", metadata: subject.map { ["subject": "\($0)"] })
    }

    /// nats.c gives up although told to try for ever, for instance when a broker refuses its credentials twice. Start afresh.
    fileprivate func closed(_ connection: OpaquePointer) {
        guard !isClosing.load(ordering: .acquiring), current.withLock({ $0?.pointer == connection }) else { return }
        logger.error("bus: the connection was closed; connecting anew")
        Task { [weak self] in await self?.revive() }
    }

    private func revive() async {
        while !isClosing.load(ordering: .acquiring) {
            do {
                let handle = try await dial(until: .now())
                let old = current.withLock { current in
                    defer { current = isClosing.load(ordering: .acquiring) ? nil : handle }
                    return current
                }
                for subscription in subscriptions.withLock({ Array($0.values) }) { try subscription.attach(to: handle) }
                await Blocking.run { withExtendedLifetime(old) {} }
                return reconnected()
            } catch {
                try? await Task.sleep(for: .microseconds(configuration.reconnectWait.microseconds))
            }
        }
    }
}

/// Lets nats.c know a connection without keeping it alive.
private final class WeakEvents: ConnectionTarget {
    private let connection: WeakConnection

    init(_ connection: BusConnection) { self.connection = WeakConnection(connection) }

    func disconnected() { connection.value?.disconnected() }
    func reconnected() { connection.value?.reconnected() }
    func closed(_ pointer: OpaquePointer) { connection.value?.closed(pointer) }
    func failed(_ status: natsStatus, subject: String?) { connection.value?.failed(status, subject: subject) }
}

private final class WeakConnection: @unchecked Sendable {
    // Written once, before it is shared.
    private(set) weak var value: BusConnection?

    init(_ value: BusConnection) { self.value = value }
}
