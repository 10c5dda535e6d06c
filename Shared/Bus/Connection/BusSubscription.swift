internal import CNats
public import Kernel
internal import Synchronization

/// A subscription to a subject. It lasts until it is cancelled or drained, or its connection is closed; a reconnect restores it.
public final class BusSubscription: Sendable {
    /// The subject.
    public let subject: String
    /// The queue group, of which one member gets each message; nil: every message.
    public let queue: String?

    private let receiver: MessageReceiver
    /// Of the receiver inside nats.c, for a subscription with a thread of its own.
    private let key: CallbackKey?
    private let state = Mutex(State())
    private let ended: @Sendable (BusSubscription) -> Void

    private struct State {
        var native: NativeSubscription?
        /// Where its messages are taken from, and by which connection.
        var mailbox: (LoopMailbox, LoopSocket)?
        /// The number of the connection that it is attached to; 0 before the first.
        var generation = 0
        var hasEnded = false
    }

    /// - Parameter hasThread: nats.c passes the messages, on a thread of their own; otherwise the loop does. The broker's 503, that there is no
    ///   responder, comes only this way: a synchronous subscription of nats.c throws it away.
    init(
        subject: String,
        queue: String?,
        hasThread: Bool,
        receiver: MessageReceiver,
        ended: @escaping @Sendable (BusSubscription) -> Void
    ) {
        self.subject = subject
        self.queue = queue
        self.ended = ended
        self.receiver = receiver
        key = hasThread ? CallbackKey(Callbacks.messages.add(receiver)) : nil
    }

    /// Subscribes on a connection: the first one, or one that replaces it.
    ///
    /// - Parameter generation: The number of the connection. A late call with an older number changes nothing.
    func attach(to handle: NatsHandle, generation: Int) -> natsStatus {
        state.withLock { state -> natsStatus in
            guard !state.hasEnded, generation > state.generation else { return NATS_OK }
            var pointer: OpaquePointer?
            let status =
                if let key, let queue {
                    natsConnection_QueueSubscribe(&pointer, handle.pointer, subject, queue, natsMessageArrived, key.pointer)
                } else if let key {
                    natsConnection_Subscribe(&pointer, handle.pointer, subject, natsMessageArrived, key.pointer)
                } else if let queue {
                    natsConnection_QueueSubscribeSync(&pointer, handle.pointer, subject, queue)
                } else {
                    natsConnection_SubscribeSync(&pointer, handle.pointer, subject)
                }
            guard status == NATS_OK, let pointer else { return status }
            let native = NativeSubscription(pointer, subject: subject, socket: handle.socket)
            state.native = native
            state.generation = generation
            if key == nil {
                let mailbox = LoopMailbox(native, receiver)
                if let (old, socket) = state.mailbox { socket.remove(old) }
                state.mailbox = (mailbox, handle.socket)
                handle.socket.add(mailbox)
            }
            return natsSubscription_SetPendingLimits(pointer, NatsOptions.pendingMessages, NatsOptions.pendingBytes)
        }
    }

    /// Ends it at once: received messages that were not handled yet are dropped.
    public func cancel() {
        if let native = end() { _ = natsSubscription_Unsubscribe(native.pointer) }
        // Also when it was never attached: its entries exist from the beginning.
        finish()
    }

    /// Drains it: the broker sends nothing more, received messages are handled, then this returns.
    ///
    /// - Parameter limit: How long that may take.
    public func drain(within limit: Interval = .seconds(10)) async { await Self.drain([self], within: limit) }

    /// Drains several subscriptions at the same time.
    public static func drain(_ subscriptions: [BusSubscription], within limit: Interval = .seconds(10)) async {
        let milliseconds = max(1, limit.microseconds / 1_000)
        let natives = subscriptions.compactMap { $0.end() }
        for native in natives { _ = natsSubscription_DrainTimeout(native.pointer, milliseconds) }
        await Blocking.run {
            let end = Tick.now() + limit
            for native in natives {
                let left = (end - Tick.now()) / .milliseconds(1)
                _ = natsSubscription_WaitForDrainCompletion(native.pointer, max(1, Int64(left)))
            }
        }
        for subscription in subscriptions { subscription.finish() }
    }

    private func end() -> NativeSubscription? {
        state.withLock { state in
            state.hasEnded = true
            defer { state.native = nil }
            return state.native
        }
    }

    private func finish() {
        if let key { Callbacks.messages.remove(key.pointer) }
        let mailbox = state.withLock { state in
            defer { state.mailbox = nil }
            return state.mailbox
        }
        if let (mailbox, socket) = mailbox { socket.remove(mailbox) }
        ended(self)
    }
}

/// A number that identifies a Swift object inside nats.c; never dereferenced.
struct CallbackKey: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?

    init(_ pointer: UnsafeMutableRawPointer?) { self.pointer = pointer }
}

/// One `natsSubscription`. When the last reference is released, the loop that reads its messages destroys it.
///
/// nats.c 3.4 looks a message's subscription up, releases the lock, and then uses it (its issue 637, fixed in 3.6): a thread that destroys it
/// meanwhile corrupts the heap. So it is destroyed between two readings.
final class NativeSubscription: @unchecked Sendable {
    // nats.c locks internally.
    let pointer: OpaquePointer
    private let socket: LoopSocket

    init(_ pointer: OpaquePointer, subject: String, socket: LoopSocket) {
        (self.pointer, self.socket) = (pointer, socket)
        let key = UInt(bitPattern: pointer)
        Self.subjects.withLock { $0[key] = subject }
    }

    deinit {
        let key = UInt(bitPattern: pointer)
        Self.subjects.withLock { $0[key] = nil }
        socket.destroy(NativePointer(pointer: pointer))
    }

    private static let subjects = Mutex<[UInt: String]>([:])

    /// The subject of a subscription that may have been destroyed; nil then.
    static func subject(of pointer: OpaquePointer) -> String? {
        let key = UInt(bitPattern: pointer)
        return subjects.withLock { $0[key] }
    }
}

/// A `natsSubscription` that nothing uses any more.
struct NativePointer: @unchecked Sendable {
    let pointer: OpaquePointer
}

/// Passes messages to a closure.
final class ClosureTarget: MessageTarget {
    private let handler: @Sendable (BusMessage) -> Void

    init(_ handler: @escaping @Sendable (BusMessage) -> Void) { self.handler = handler }

    func arrived(_ message: OpaquePointer) { handler(BusMessage(taking: message)) }
}
