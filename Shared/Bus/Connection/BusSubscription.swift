internal import CNats
public import Kernel
internal import Synchronization

/// A subscription to a subject. It lasts until it is cancelled or drained, or its connection is closed; a reconnect restores it.
public final class BusSubscription: Sendable {
    /// The subject.
    public let subject: String
    /// The queue group, of which one member gets each message; nil: every message.
    public let queue: String?

    private let state: Mutex<State>
    private let ended: @Sendable (BusSubscription) -> Void

    private struct State {
        let key: CallbackKey
        var native: NativeSubscription?
        /// The number of the connection that it is attached to; 0 before the first.
        var generation = 0
        var hasEnded = false
    }

    init(
        subject: String,
        queue: String?,
        receiver: MessageReceiver,
        ended: @escaping @Sendable (BusSubscription) -> Void
    ) {
        self.subject = subject
        self.queue = queue
        self.ended = ended
        self.state = Mutex(State(key: CallbackKey(Callbacks.messages.add(receiver))))
    }

    /// Subscribes on a connection: the first one, or one that replaces it.
    ///
    /// - Parameter generation: The number of the connection. A late call with an older number changes nothing.
    func attach(to handle: NatsHandle, generation: Int) -> natsStatus {
        state.withLock { state -> natsStatus in
            guard !state.hasEnded, generation > state.generation else { return NATS_OK }
            var pointer: OpaquePointer?
            let status =
                if let queue {
                    natsConnection_QueueSubscribe(
                        &pointer,
                        handle.pointer,
                        subject,
                        queue,
                        natsMessageArrived,
                        state.key.pointer
                    )
                } else {
                    natsConnection_Subscribe(&pointer, handle.pointer, subject, natsMessageArrived, state.key.pointer)
                }
            guard status == NATS_OK, let pointer else { return status }
            state.native = NativeSubscription(pointer)
            state.generation = generation
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
        Callbacks.messages.remove(state.withLock { $0.key.pointer })
        ended(self)
    }
}

/// A number that identifies a Swift object inside nats.c; never dereferenced.
struct CallbackKey: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?

    init(_ pointer: UnsafeMutableRawPointer?) { self.pointer = pointer }
}

/// One `natsSubscription`, destroyed when the last reference is released.
private final class NativeSubscription: @unchecked Sendable {
    // nats.c locks internally.
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { natsSubscription_Destroy(pointer) }
}

/// Passes messages to a closure.
final class ClosureTarget: MessageTarget {
    private let handler: @Sendable (BusMessage) -> Void

    init(_ handler: @escaping @Sendable (BusMessage) -> Void) { self.handler = handler }

    func arrived(_ message: OpaquePointer) { handler(BusMessage(taking: message)) }
}
