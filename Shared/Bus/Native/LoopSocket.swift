internal import CNats
internal import Glibc
internal import Loop
internal import Synchronization

/// One connection of nats.c on a loop: reads when the broker has sent, passes the messages to their subscriptions, and writes once a turn what
/// was published in it.
///
/// nats.c's own threads only reconnect and send pings. Its interface for foreign loops would still pass messages to callbacks on threads of
/// their own, so all subscriptions are synchronous ones, which are emptied here. Its write deadline does not hold here either; `flush` has its
/// own.
///
/// `@unchecked Sendable`: what is marked so is used by the loop's thread only.
final class LoopSocket: LoopParticipant, @unchecked Sendable {
    let loop: IOLoop
    /// Only the connection's socket, so that a reconnect replaces that and nothing else.
    private let sockets: SocketSet
    private let state = Mutex(State())
    /// Whether nats.c has something to write.
    private let hasOutput = Atomic(false)
    private let hasEnded = Atomic(false)
    /// Whether there are other mailboxes than those that the thread knows.
    private let hasChanged = Atomic(false)

    private struct State {
        var socket: Int32 = -1
        var isWatchingOutput = false
        /// What keeps nats.c's connection in memory while the loop uses it.
        var owner: NatsHandle?
        var mailboxes: [LoopMailbox] = []
        /// Those of them that the thread has not emptied yet.
        var added: [LoopMailbox] = []
        /// Subscriptions to destroy.
        var unused: [NativePointer] = []
        /// Whether the loop no longer serves it.
        var hasLeft = false
    }

    // Only for the thread.
    private var owner: NatsHandle?
    private var mailboxes: [LoopMailbox] = []
    private var received: UInt64 = 0
    private var stall: (since: UInt64, buffered: Int32)?
    private var statistics: OpaquePointer?

    /// - Returns: nil when the system has no more descriptors.
    init?(loop: IOLoop) {
        guard let sockets = SocketSet(), natsStatistics_Create(&statistics) == NATS_OK else { return nil }
        (self.loop, self.sockets) = (loop, sockets)
    }

    deinit { natsStatistics_Destroy(statistics) }

    var descriptor: Int32 { sockets.descriptor }

    /// The connection is made: from now on the loop serves it.
    ///
    /// - Returns: false when the loop has stopped.
    func serve(_ handle: NatsHandle) -> Bool {
        state.withLock { state in
            state.owner = handle
            sockets.watch(state.socket)
        }
        return loop.add(self)
    }

    /// Ends it: the loop releases the connection.
    func end() {
        hasEnded.store(true, ordering: .releasing)
        loop.wake()
    }

    /// Has a subscription emptied from now on. What the loop has read for it before is passed on at once.
    func add(_ mailbox: LoopMailbox) {
        state.withLock { state in
            state.mailboxes.append(mailbox)
            state.added.append(mailbox)
        }
        hasChanged.store(true, ordering: .releasing)
        loop.wake()
    }

    func remove(_ mailbox: LoopMailbox) {
        state.withLock { state in
            state.mailboxes.removeAll { $0 === mailbox }
            state.added.removeAll { $0 === mailbox }
        }
        hasChanged.store(true, ordering: .releasing)
    }

    /// Destroys a subscription while the loop reads nothing.
    func destroy(_ subscription: NativePointer) {
        let isServed = state.withLock { state in
            guard !state.hasLeft else { return false }
            state.unused.append(subscription)
            return true
        }
        if isServed { loop.wake() } else { natsSubscription_Destroy(subscription.pointer) }
    }

    // MARK: what nats.c asks for, from any thread, with its connection locked

    /// There is a socket, the first or that of a reconnect.
    func attached(_ socket: Int32) {
        state.withLock { state in
            (state.socket, state.isWatchingOutput) = (socket, false)
            if state.owner != nil { sockets.watch(socket) }
        }
    }

    func wantsInput(_ wanted: Bool) {
        // The socket is closed next; a new one comes by `attached`.
        guard !wanted else { return }
        state.withLock { state in
            if state.socket >= 0 { sockets.unwatch(state.socket) }
            state.socket = -1
        }
    }

    func wantsOutput(_ wanted: Bool) {
        hasOutput.store(wanted, ordering: .releasing)
        if wanted { loop.wake() }
    }

    // MARK: the loop

    func turn(isReadable: Bool) -> LoopMembership {
        if hasEnded.load(ordering: .acquiring) {
            ended()
            return .leave
        }
        destroyUnused()
        guard isReadable || hasChanged.load(ordering: .acquiring), let connection = connection() else { return .stay }
        if isReadable { natsConnection_ProcessReadEvent(connection) }
        deliver(connection)
        return .stay
    }

    func flush() {
        guard hasOutput.load(ordering: .acquiring), let connection = connection() else { return }
        natsConnection_ProcessWriteEvent(connection)
        guard hasOutput.load(ordering: .acquiring) else {
            stall = nil
            return watchOutput(false)
        }
        watchOutput(true)
        let buffered = natsConnection_Buffered(connection)
        let now = monotonicNanoseconds()
        guard let stall, stall.buffered <= buffered else { return self.stall = (now, buffered) }
        guard now - stall.since > UInt64(NatsOptions.writeDeadlineMilliseconds) * 1_000_000 else { return }
        // The broker takes nothing: nats.c finds the socket closed, and reconnects.
        self.stall = nil
        state.withLock { if $0.socket >= 0 { _ = shutdown($0.socket, Int32(SHUT_RDWR)) } }
    }

    func rest() -> Int32? {
        if hasEnded.load(ordering: .acquiring) { return nil }
        if stall != nil { return 50 }
        return hasOutput.load(ordering: .acquiring) ? nil : -1
    }

    func ended() {
        mailboxes = []
        let (left, last) = state.withLock { state in
            defer { (state.owner, state.mailboxes, state.added) = (nil, [], []) }
            state.hasLeft = true
            return (state.owner, state.mailboxes)
        }
        destroyUnused()
        owner = nil
        withExtendedLifetime((left, last)) {}
    }

    private func destroyUnused() {
        // Not below the lock: nats.c asks for output meanwhile.
        let unused = state.withLock { state in
            defer { state.unused = [] }
            return state.unused
        }
        for subscription in unused { natsSubscription_Destroy(subscription.pointer) }
    }

    private func connection() -> OpaquePointer? {
        if owner == nil { owner = state.withLock { $0.owner } }
        return owner?.pointer
    }

    /// Empties the subscriptions, the busiest first, until as many messages are found as were read; before them the new ones, for which messages
    /// may have been read earlier.
    private func deliver(_ connection: OpaquePointer) {
        for mailbox in refresh() { _ = mailbox.empty() }
        var total: UInt64 = 0
        natsConnection_GetStats(connection, statistics)
        natsStatistics_GetCounts(statistics, &total, nil, nil, nil, nil)
        var left = Int(clamping: total &- received)
        received = total
        var index = 0
        while left > 0, index < mailboxes.count {
            let found = mailboxes[index].empty()
            left -= found
            if found > 0, index > 0 { mailboxes.swapAt(index, index / 2) }
            index += 1
        }
    }

    /// - Returns: the mailboxes that are new.
    private func refresh() -> [LoopMailbox] {
        guard hasChanged.exchange(false, ordering: .acquiringAndReleasing) else { return [] }
        let (present, added) = state.withLock { state in
            defer { state.added = [] }
            return (state.mailboxes, state.added)
        }
        // Not below the lock: what is released here asks to be destroyed.
        mailboxes = present
        return added
    }

    private func watchOutput(_ wanted: Bool) {
        state.withLock { state in
            guard wanted != state.isWatchingOutput, state.socket >= 0 else { return }
            state.isWatchingOutput = wanted
            sockets.watchWriting(state.socket, wanted)
        }
    }
}

/// A subscription that a loop empties.
final class LoopMailbox: @unchecked Sendable {
    private let subscription: NativeSubscription
    private let receiver: MessageReceiver

    init(_ subscription: NativeSubscription, _ receiver: MessageReceiver) {
        self.subscription = subscription
        self.receiver = receiver
    }

    /// Passes on what has arrived.
    ///
    /// - Returns: how many messages.
    func empty() -> Int {
        var waiting: Int32 = 0
        guard natsSubscription_GetPending(subscription.pointer, &waiting, nil) == NATS_OK, waiting > 0 else { return 0 }
        var found = 0
        while found < waiting {
            var message: OpaquePointer?
            let status = natsSubscription_NextMsg(&message, subscription.pointer, 0)
            // Said once, before the next message: others were dropped.
            if status == NATS_SLOW_CONSUMER { continue }
            if status == NATS_NO_RESPONDERS {
                receiver.hadNoResponder()
            } else {
                guard status == NATS_OK, let message else { break }
                receiver.arrived(message)
            }
            found += 1
        }
        return found
    }
}

// nats.c calls these with its connection locked.

func natsAttach(
    _ data: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ key: UnsafeMutableRawPointer?,
    _: OpaquePointer?,
    _ socket: Int32
) -> natsStatus {
    data?.pointee = key
    guard let target = Callbacks.sockets.target(key) else { return NATS_ERR }
    target.attached(socket)
    return NATS_OK
}

func natsWantsInput(_ key: UnsafeMutableRawPointer?, _ wanted: Bool) -> natsStatus {
    Callbacks.sockets.target(key)?.wantsInput(wanted)
    return NATS_OK
}

func natsWantsOutput(_ key: UnsafeMutableRawPointer?, _ wanted: Bool) -> natsStatus {
    Callbacks.sockets.target(key)?.wantsOutput(wanted)
    return NATS_OK
}

func natsDetach(_ key: UnsafeMutableRawPointer?) -> natsStatus {
    let target = Callbacks.sockets.target(key)
    Callbacks.sockets.remove(key)
    target?.end()
    return NATS_OK
}
