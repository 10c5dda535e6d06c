internal import CNats
public import Kernel
public import Logging
public import Loop
internal import Synchronization

/// Why there is no connection at start. Never shows credentials.
public struct BusConnectionError: Error, CustomStringConvertible {
    /// The message of the NATS library.
    public let reason: String
    /// Whether the broker is only unreachable, so that a retry makes sense.
    public let isPassing: Bool

    public var description: String { "cannot connect to the message bus: \(reason)" }
}

/// Makes one connection of nats.c, or returns the reason for the failure. Blocks.
typealias Dialer = @Sendable (BusConfiguration, IOLoop, CallbackKey) -> (NatsHandle?, natsStatus)

/// What happens to a connection as a whole.
enum ConnectionEvent: Sendable {
    case reconnected
    case closed
}

/// One unbroken connection to a broker. After a reconnect, the broker may have lost its disk.
public struct ConnectionEpoch: Sendable, Equatable {
    let generation: Int
    let reconnects: UInt64
}

/// A connection to the broker that reconnects by itself without limit: requests, publishing, subscriptions.
///
/// While the broker is down, published messages wait in a buffer of 8 MiB and are sent after the reconnect; requests wait until
/// their deadline. End it with `close()` or `drain()`.
public final class BusConnection: Sendable {
    /// The configuration of the connection.
    public let configuration: BusConfiguration
    let logger: Logger
    let observer: (any RPCObserver)?
    let requests: PendingRequests
    let ledger = CallLedger()
    let link = Mutex(ConnectionLink<NatsHandle>())
    let dialer: Dialer
    let eventsKey = Mutex(CallbackKey(nil))
    /// The loop that serves it: messages arrive on its thread.
    public let loop: IOLoop
    private let ownsLoop: Bool
    private let subscriptions = Mutex<[ObjectIdentifier: BusSubscription]>([:])
    private let watchers = Mutex(Watchers())
    private let refusals = Atomic(0)

    private struct Watchers {
        var next: UInt64 = 0
        var actions: [UInt64: @Sendable (ConnectionEvent) -> Void] = [:]
        var hasEnded = false
    }

    private init(
        _ configuration: BusConfiguration,
        loop: IOLoop?,
        logger: Logger,
        observer: (any RPCObserver)?,
        dialer: @escaping Dialer
    ) throws {
        guard let served = loop ?? IOLoop(name: "bus"), loop != nil || served.start() else {
            throw BusConnectionError(reason: "the system has no more threads or descriptors", isPassing: false)
        }
        self.loop = served
        ownsLoop = loop == nil
        self.configuration = configuration
        self.logger = logger
        self.observer = observer
        self.dialer = dialer
        self.requests = PendingRequests(inboxPrefix: configuration.inboxPrefix)
    }

    deinit {
        Callbacks.connections.remove(eventsKey.withLock { $0.pointer })
        link.withLock { $0.handle }?.socket.end()
        if ownsLoop { loop.stop() }
    }

    /// Connects, trying for up to `configuration.connectTimeout`.
    ///
    /// - Parameters:
    ///   - loop: serves it, and is stopped by its owner after `close`; nil: one of its own.
    ///   - observer: Notified of every call.
    /// - Throws: `BusConnectionError` when the broker cannot be reached in that time, or at once when it refuses the credentials;
    ///   `CancellationError`.
    public static func connect(
        _ configuration: BusConfiguration,
        loop: IOLoop? = nil,
        logger: Logger,
        observer: (any RPCObserver)? = nil
    ) async throws -> BusConnection {
        try await connect(configuration, loop: loop, logger: logger, observer: observer, dialer: NatsOptions.connect)
    }

    /// As the public one; `dialer` makes the connections.
    static func connect(
        _ configuration: BusConfiguration,
        loop: IOLoop? = nil,
        logger: Logger,
        observer: (any RPCObserver)? = nil,
        dialer: @escaping Dialer
    ) async throws -> BusConnection {
        // Services reply only to inboxes.
        guard Subject.isPublishable(configuration.inboxPrefix), "\(configuration.inboxPrefix).".hasPrefix("_INBOX.") else {
            throw BusConnectionError(reason: "the inbox prefix must be _INBOX or below it", isPassing: false)
        }
        let connection = try BusConnection(configuration, loop: loop, logger: logger, observer: observer, dialer: dialer)
        let key = CallbackKey(Callbacks.connections.add(WeakEvents(connection)))
        connection.eventsKey.withLock { $0 = key }
        do {
            for subject in connection.requests.subjects {
                try connection.subscribe(subject, queue: nil, target: connection.requests)
            }
            try await connection.establish(until: Tick.now() + configuration.connectTimeout)
        } catch {
            await connection.close()
            throw error
        }
        return connection
    }

    /// Whether the broker can be reached now.
    public var isConnected: Bool { link.withLock { $0.handle }?.isConnected ?? false }

    /// The broker's limit for the size of a message, in bytes.
    var maxPayload: Int {
        link.withLock { $0.handle }.map { Int(natsConnection_GetMaxPayload($0.pointer)) } ?? 0
    }

    /// The present unbroken connection, or the last one. While it stays the same, no received message came from a broker that was
    /// down in between.
    public var epoch: ConnectionEpoch {
        let (handle, generation) = link.withLock { ($0.handle, $0.generation) }
        return ConnectionEpoch(generation: generation, reconnects: handle?.reconnects ?? 0)
    }

    /// Publishes one message without waiting.
    ///
    /// - Throws: `ServiceError`: an invalid subject or header, `PAYLOAD_TOO_LARGE`, or `UNAVAILABLE` when the broker is down and
    ///   the buffer is full.
    public func publish(_ subject: String, headers: BusHeaders = [:], body: [UInt8], reply: String? = nil) throws(ServiceError) {
        guard let handle = link.withLock({ $0.handle }) else { throw .unavailable("The message bus is not available.") }
        try handle.publish(subject: subject, reply: reply, headers: headers, body: body)
    }

    /// Subscribes to a subject, which may have wildcards.
    ///
    /// - Parameters:
    ///   - subject: The subject to receive.
    ///   - queue: A queue group, of which one member gets each message.
    ///   - handler: Runs for one message at a time, on the loop's thread, or for an inbox on one of its own. It must not block.
    /// - Throws: `ServiceError` when the subject is invalid.
    @discardableResult
    public func subscribe(
        _ subject: String,
        queue: String? = nil,
        _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(ServiceError) -> BusSubscription {
        try subscribe(subject, queue: queue, target: ClosureTarget(handler))
    }

    /// Waits until the broker has all published messages and all subscriptions.
    ///
    /// - Throws: `ServiceError` `UNAVAILABLE` when the broker does not confirm within `limit`.
    public func flush(within limit: Interval = .seconds(5)) async throws {
        guard let handle = link.withLock({ $0.handle }) else { throw ServiceError.unavailable() }
        let status = await Blocking.run { natsConnection_FlushTimeout(handle.pointer, max(1, limit.microseconds / 1_000)) }
        if status != NATS_OK { throw status.asServiceError }
    }

    /// Shuts the connection down: drains subscriptions, waits for replies to open requests, flushes published messages.
    ///
    /// - Parameter limit: How long that may take; the rest is dropped. The last flush gets one more second.
    public func drain(within limit: Interval = .seconds(10)) async {
        let end = Tick.now() + limit
        let others = subscriptions.withLock { $0.values.filter { !self.requests.subjects.contains($0.subject) } }
        await BusSubscription.drain(others, within: limit)
        while requests.count > 0, Tick.now() < end, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(5)) }
        let left = Interval.milliseconds(Int64((end - Tick.now()) / .milliseconds(1)))
        do { try await flush(within: max(.seconds(1), left)) } catch { logger.warning("bus: closed without a last flush") }
        await close()
    }

    /// Closes the connection at once: open requests fail with `UNAVAILABLE`.
    public func close() async {
        let (isFirst, handle) = link.withLock { link in (!link.isClosed, link.close()) }
        guard isFirst else { return }
        requests.close()
        notifyWatchers(.closed)
        for subscription in subscriptions.withLock({ Array($0.values) }) { subscription.cancel() }
        if let handle { await Blocking.run { handle.close() } }
        if ownsLoop { loop.stop() }
        Callbacks.connections.remove(eventsKey.withLock { $0.pointer })
    }

    // MARK: Used by the rest of the module

    /// A new subject below our own inbox prefix, which no one else can guess.
    func makeInbox() -> String { "\(configuration.inboxPrefix).\(Entropy.name())" }

    /// Whether the broker is down, or was so recently that other clients may not have reconnected yet.
    var isHealing: Bool { link.withLock { $0.isHealing(now: .now(), grace: configuration.reconnectGrace) } }

    /// How many messages were dropped because they do not belong to the subscription that received them.
    var refusedCount: Int { refusals.load(ordering: .relaxed) }

    /// A message was dropped: it is forged, or a reply to the wrong subject.
    func refused(_ subject: String, at subscription: String) {
        refusals.add(1, ordering: .relaxed)
        logger.debug(
            "bus: dropped a message that does not belong to its subscription",
            metadata: ["subject": "\(subject)", "subscription": "\(subscription)"]
        )
    }

    /// How many subscriptions there are.
    var subscriptionCount: Int { subscriptions.withLock { $0.count } }

    /// Calls `action` after each reconnect and at the end, until `removeWatcher`. Calls it at once if the end has come.
    func addWatcher(_ action: @escaping @Sendable (ConnectionEvent) -> Void) -> UInt64 {
        let (number, hasEnded) = watchers.withLock { watchers in
            watchers.next += 1
            if !watchers.hasEnded { watchers.actions[watchers.next] = action }
            return (watchers.next, watchers.hasEnded)
        }
        if hasEnded { action(.closed) }
        return number
    }

    func removeWatcher(_ number: UInt64) { watchers.withLock { $0.actions[number] = nil } }

    func notifyWatchers(_ event: ConnectionEvent) {
        let actions = watchers.withLock { watchers in
            if event == .closed { watchers.hasEnded = true }
            return Array(watchers.actions.values)
        }
        for action in actions { action(event) }
    }

    @discardableResult
    func subscribe(_ subject: String, queue: String?, target: any MessageTarget) throws(ServiceError) -> BusSubscription {
        guard Subject.isSubscribable(subject), queue.map(Subject.isPublishable) ?? true else {
            throw .validation(field: "subject", "is not a subject")
        }
        let receiver = MessageReceiver(subject: subject, target: target) { [weak self] in self?.refused($0, at: subject) }
        // Where the broker may answer instead of a responder.
        let hasThread = subject.hasPrefix("_INBOX.") && subject != requests.replies && !target.isInformedOf503
        let subscription = BusSubscription(subject: subject, queue: queue, hasThread: hasThread, receiver: receiver) {
            [weak self] ended in
            _ = self?.subscriptions.withLock { $0.removeValue(forKey: ObjectIdentifier(ended)) }
        }
        // Registered before the connection is read: a reconnect that runs meanwhile finds it here.
        subscriptions.withLock { $0[ObjectIdentifier(subscription)] = subscription }
        let (handle, generation, isClosed) = link.withLock { ($0.handle, $0.generation, $0.isClosed) }
        let status = isClosed ? NATS_INVALID_ARG : handle.map { subscription.attach(to: $0, generation: generation) } ?? NATS_OK
        // nats.c has closed this connection: the subscription is attached to the next one.
        guard status == NATS_OK || status == NATS_CONNECTION_CLOSED else {
            subscription.cancel()
            throw isClosed ? .unavailable("The message bus is not available.") : status.asServiceError
        }
        return subscription
    }

    /// Attaches all subscriptions to a new connection.
    func attachSubscriptions(to handle: NatsHandle, generation: Int) -> natsStatus {
        for subscription in subscriptions.withLock({ Array($0.values) }) {
            let status = subscription.attach(to: handle, generation: generation)
            if status != NATS_OK { return status }
        }
        return NATS_OK
    }
}
