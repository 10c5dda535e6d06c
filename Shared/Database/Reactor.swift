internal import Glibc
internal import Kernel
internal import Logging
internal import Loop
internal import Synchronization

/// Communicates with the server, on a thread of its own or as a participant of a loop: it sleeps in epoll, passes statements to libpq and
/// answers to their callers.
///
/// `@unchecked Sendable`: from `run` or the first turn on, only that thread uses anything but the mailbox and the health.
final class Reactor: LoopParticipant, @unchecked Sendable {
    let configuration: DatabaseConfiguration
    let mailbox: Mailbox
    private let loop: IOLoop?
    let connector: Connector
    let logger: Logger
    let observer: (any DatabaseObserver)?
    private let publishedHealth = Mutex(DatabaseHealth())

    // Only for the loop.
    var connections: [Connection?]
    var generations: UInt64 = 0
    var registry = StatementRegistry(capacity: 10_000)
    var scratch = BindScratch()
    /// Single statements that wait for a shared connection.
    var pending = FIFO<Job>()
    /// How the lookups of a statement become one, by its id; nil: they are sent one by one.
    var lookupForms: [Int: MergedStatement?] = [:]
    /// Transactions and sessions that wait for a connection, the oldest first.
    var leaseQueue = FIFO<Lease>()
    /// All jobs whose callers wait, in any place.
    var unanswered = UnansweredJobs()
    var recovery: Recovery
    /// Connections that were written to since the last flush.
    var marked: [Connection] = []
    var now: UInt64 = 0
    var health = DatabaseHealth()
    var firstAttempt: UnsafeContinuation<Void, any Error>?
    var stopWaiters: [UnsafeContinuation<Void, Never>] = []
    var stopDeadline: UInt64?
    private let sockets: SocketSet
    private var nextTick: UInt64 = 0
    var nextSweep: UInt64 = 0
    /// When the server last said anything, on any connection.
    var lastHeard: UInt64 = 0
    /// The further connection by which a silent server is asked whether it is there.
    var probe: Probe?
    /// How many there were.
    var probes: UInt64 = 0
    /// When the server last refused a statement for want of something; 0 for never.
    let exhaustedAt = Atomic<UInt64>(0)
    /// Whether a connection waits for the server, for any reason.
    private var isAwaitingServer = false
    private var lastPublished = DatabaseHealth()

    /// The poll interval of waits, in nanoseconds.
    static let tick: UInt64 = 20_000_000
    /// How long the loop waits for a silent server, in addition to the statement's time limit.
    static let silenceGrace: UInt64 = 5_000_000_000
    /// How long a server that refused something for want of disk or memory counts as exhausted.
    private static let exhaustion: UInt64 = 10_000_000_000
    /// The mark of the mailbox; the mark of a connection is its slot.
    private static let mailboxMark = UInt64.max

    /// - Parameter loop: where it takes part; nil: it has a thread of its own.
    /// - Throws: `DatabaseError` `configuration`, or `unavailable` when the system has no more descriptors.
    init(
        _ configuration: DatabaseConfiguration,
        loop: IOLoop? = nil,
        logger: Logger,
        observer: (any DatabaseObserver)?
    ) throws(DatabaseError) {
        self.loop = loop
        self.configuration = configuration
        self.logger = logger
        self.observer = observer
        connector = try Connector(configuration)
        connections = Array(repeating: nil, count: configuration.poolSize)
        recovery = Recovery(
            slots: configuration.poolSize,
            backoff: Backoff(first: 50_000_000, limit: configuration.maximumReconnectDelay.nanoseconds)
        )
        guard let sockets = SocketSet(capacity: configuration.poolSize + 1), let mailbox = Mailbox(loop: loop) else {
            throw DatabaseError(.unavailable, detail: "no more descriptors")
        }
        (self.sockets, self.mailbox) = (sockets, mailbox)
        sockets.watch(mailbox.wakeUp.descriptor, mark: Self.mailboxMark)
    }

    /// The state of the pool after the loop's last turn.
    var currentHealth: DatabaseHealth {
        var health = publishedHealth.withLock { $0 }
        let refused = exhaustedAt.load(ordering: .relaxed)
        health.isExhausted = refused > 0 && monotonicNanoseconds() < refused + Self.exhaustion
        return health
    }

    /// Starts the thread, or joins the loop; returns when all connections are up, or an attempt has failed.
    ///
    /// - Parameter spawn: Starts a thread of this name; false when it cannot.
    /// - Throws: `DatabaseError` `unavailable` when the system has no more threads. Jobs submitted meanwhile and later fail with
    ///   `stopped`.
    func start(spawn: (String, @escaping @Sendable () -> Void) -> Bool = { spawnThread(named: $0, $1) }) async throws {
        try await withUnsafeThrowingContinuation { (started: UnsafeContinuation<Void, any Error>) in
            firstAttempt = started
            let isStarted = loop.map { $0.add(self) } ?? spawn("database") { self.run() }
            if !isStarted {
                firstAttempt = nil
                // No thread will read the mailbox.
                end()
                started.resume(throwing: DatabaseError(.unavailable, detail: "no more threads"))
            }
        }
    }

    /// The body of a thread of its own.
    private func run() {
        while true {
            let timeout: Int32 = mailbox.fallAsleep() ? (isQuiet ? -1 : Int32(Self.tick / 1_000_000)) : 0
            work(waiting: timeout)
            if isOver { return end() }
        }
    }

    // MARK: on a loop

    var descriptor: Int32 { sockets.descriptor }

    func turn(isReadable: Bool) -> LoopMembership {
        work(waiting: isReadable ? 0 : nil)
        guard isOver else { return .stay }
        end()
        return .leave
    }

    func rest() -> Int32? { mailbox.fallAsleep() ? (isQuiet ? -1 : Int32(Self.tick / 1_000_000)) : nil }

    func ended() { end() }

    // MARK: a turn

    /// Reads what has arrived, and does what it and the commands require.
    ///
    /// - Parameter timeout: for how many milliseconds to wait for sockets; nil looks at none.
    private func work(waiting timeout: Int32?) {
        var isFirst = true
        if let timeout {
            sockets.wait(milliseconds: timeout) { mark in
                if isFirst { now = monotonicNanoseconds() }
                isFirst = false
                if mark == Self.mailboxMark {
                    mailbox.wakeUp.reset()
                } else if let connection = connections[Int(mark)] {
                    answer(on: connection)
                }
            }
        }
        if isFirst { now = monotonicNanoseconds() }
        for command in mailbox.take() { obey(command) }
        dispatch()
        flush()
        if now >= nextTick {
            nextTick = now + Self.tick
            lookAtWaits()
            dispatch()
            flush()
        }
        connectNext()
        publish()
    }

    /// Whether there is nothing to do until a command arrives or a socket is ready.
    private var isQuiet: Bool {
        unanswered.isEmpty && pending.isEmpty && leaseQueue.isEmpty && !recovery.isBusy && stopDeadline == nil
            && !isAwaitingServer
    }

    private func publish() {
        var current = health
        current.inFlight = 0
        current.leased = 0
        current.busy = 0
        current.connections = 0
        isAwaitingServer = false
        for case let connection? in connections {
            current.connections += 1
            current.inFlight += connection.load
            if connection.lease != nil { current.leased += 1 }
            if connection.lease != nil || connection.load > 0 { current.busy += 1 }
            if connection.isAwaitingServer || connection.cancelDeadline != nil { isAwaitingServer = true }
        }
        current.waiting = pending.count + leaseQueue.count
        current.failedAttempts = recovery.failures
        guard current != lastPublished else { return }
        lastPublished = current
        health = current
        publishHealth()
    }

    func publishHealth() { publishedHealth.withLock { $0 = health } }

    // MARK: sockets

    func watch(_ connection: Connection) {
        sockets.watch(connection.socket, mark: UInt64(connection.slot))
    }

    func unwatch(_ connection: Connection) { sockets.unwatch(connection.socket) }

    /// Starts or stops watching for room to write.
    func watchWriting(_ connection: Connection, _ wanted: Bool) {
        guard connection.watchesWriting != wanted else { return }
        connection.watchesWriting = wanted
        sockets.watchWriting(connection.socket, mark: UInt64(connection.slot), wanted)
    }
}
