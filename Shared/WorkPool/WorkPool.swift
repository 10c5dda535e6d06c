private import Dispatch
private import Glibc
public import Kernel
private import Synchronization

/// For whom a piece of work is done, and how long it can wait: one person's work never holds up all others'.
public struct WorkShare: Hashable, Sendable {
    /// Where several wait, eight urgent ones come to two usual and one patient.
    public enum Purpose: TurnPurpose {
        /// A user's streak depends on it.
        case urgent
        case usual
        /// It never takes all threads: one stays for the others.
        case patient

        public var share: Int {
            switch self {
            case .urgent: 8
            case .usual: 2
            case .patient: 1
            }
        }
    }

    /// Whose work it is.
    public var owner: String
    /// How long it can wait.
    public var purpose: Purpose

    /// The share of one person, or of one client who is not known.
    public init(of owner: some CustomStringConvertible, _ purpose: Purpose = .usual) {
        (self.owner, self.purpose) = (owner.description, purpose)
    }
}

/// A few threads for work that blocks or uses much CPU (files, images), so that it never occupies Swift's cooperative threads.
///
/// The queue is bounded: further work is refused at once, because its caller would not wait that long (D3). Work that names its share waits in
/// turns with that of others (D22): one owner has at most half of the threads, and a quarter of the queue.
/// Threads start with the first work and end when the pool is released.
public final class WorkPool: Sendable {
    private let name: String
    private let niceness: Int32
    private let refusal: ServiceError
    private let core: Core

    /// A pool.
    ///
    /// - Parameters:
    ///   - name: The name of its threads, shown by `top -H`; at most 15 bytes are kept.
    ///   - threads: Work at once, at least 1.
    ///   - queueLimit: Work that may wait for a thread, at least 0.
    ///   - niceness: 0…19. Long computations should yield to the threads that answer requests: with 10 they get a tenth of such a
    ///     thread's share when they compete, and everything otherwise.
    ///   - refusal: The error for work beyond the limit.
    public init(name: String, threads: Int, queueLimit: Int, niceness: Int = 0, refusal: ServiceError = .unavailable()) {
        self.name = name
        self.core = Core(threads: max(1, threads), queueLimit: max(0, queueLimit))
        self.niceness = Int32(min(max(0, niceness), 19))
        self.refusal = refusal
    }

    deinit { core.close() }

    /// Runs `work` on one of the threads.
    ///
    /// - Parameter share: for whom; nil: for the service itself, in the order of arrival.
    /// - Throws: What `work` throws; the pool's refusal when the queue is full; `CancellationError` when the task is cancelled
    ///   before the work has begun (work that has begun runs to its end).
    public func run<Value: Sendable>(
        for share: WorkShare? = nil,
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let ticket = core.makeTicket()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
                let job = Job(
                    ticket: ticket,
                    share: share,
                    run: {
                        let result = Result(catching: work)
                        return { continuation.resume(with: result) }
                    },
                    refuse: { continuation.resume(throwing: $0) }
                )
                switch core.add(job) {
                case .queued: break
                case .startThread: startThread()
                case .full: job.refuse(refusal)
                case .cancelled: job.refuse(CancellationError())
                }
            }
        } onCancel: {
            core.cancel(ticket)?.refuse(CancellationError())
        }
    }

    /// Work that waits for a thread or runs.
    public var load: Int { core.load }

    private func startThread() {
        // POSIX threads, because Foundation's would load the whole of Foundation into every process.
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, 1 << 20)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let start = Unmanaged.passRetained(ThreadStart(name: name, niceness: niceness, core: core))
        var thread = pthread_t()
        let failure = pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument else { return nil }
                let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
                start.prepareThread()
                start.core.work()
                return nil
            },
            start.toOpaque()
        )
        if failure != 0 {
            start.release()
            for job in core.threadMissing() { job.refuse(refusal) }
        }
    }
}

/// The context of a new thread.
private final class ThreadStart: Sendable {
    let name: String
    let niceness: Int32
    let core: Core

    init(name: String, niceness: Int32, core: Core) {
        self.name = name
        self.niceness = niceness
        self.core = core
    }

    /// Sets the priority and the name of the calling thread; the kernel keeps 15 bytes of the name.
    func prepareThread() {
        // On Linux 0 is the calling thread, not the process (setpriority(2)).
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        guard let file = fopen("/proc/thread-self/comm", "w") else { return }
        fputs(name, file)
        fclose(file)
    }
}

/// One piece of work; exactly one of its closures is called, once.
private struct Job: Sendable {
    let ticket: UInt64
    let share: WorkShare?
    /// Does the work and returns a closure that delivers its result; the thread must count as free before that.
    let run: @Sendable () -> () -> Void
    let refuse: @Sendable (any Error) -> Void
}

/// The state that the pool and its threads share. The threads hold this and not the pool, so that a pool can be released.
private final class Core: Sendable {
    enum Admission { case queued, startThread, full, cancelled }

    private struct State {
        var queue: FairQueue<UInt64, String, WorkShare.Purpose>
        var waiting: [UInt64: Job] = [:]
        /// Tickets whose job has yet to be added, and whether they were cancelled by then.
        var pending: [UInt64: Bool] = [:]
        var nextTicket: UInt64 = 0
        var threads = 0
        var running = 0
        var runningOfOwner: [String: Int] = [:]
        var runningPatient = 0
        var isClosed = false
    }

    private let threadLimit: Int
    private let queueLimit: Int
    private let state: Mutex<State>
    private let wakeUp = DispatchSemaphore(value: 0)

    init(threads: Int, queueLimit: Int) {
        (self.threadLimit, self.queueLimit) = (threads, queueLimit)
        // Work that finds a thread waits for it to wake up.
        state = Mutex(State(queue: FairQueue(limit: threads + queueLimit, limitOfOwner: max(1, (threads + queueLimit) / 4))))
    }

    var load: Int { state.withLock { $0.running + $0.waiting.count } }

    func makeTicket() -> UInt64 {
        state.withLock { state in
            state.nextTicket += 1
            state.pending[state.nextTicket] = false
            return state.nextTicket
        }
    }

    func add(_ job: Job) -> Admission {
        let admission = state.withLock { state -> Admission in
            if state.pending.removeValue(forKey: job.ticket) == true { return .cancelled }
            guard state.running + state.waiting.count < threadLimit + queueLimit,
                state.queue.add(job.ticket, of: job.share?.owner, for: job.share?.purpose ?? .usual) == .waits
            else { return .full }
            state.waiting[job.ticket] = job
            guard state.threads < threadLimit, state.running + state.waiting.count > state.threads else { return .queued }
            state.threads += 1
            return .startThread
        }
        if admission == .queued || admission == .startThread { wakeUp.signal() }
        return admission
    }

    /// A thread could not be started. Waiting work is left to other threads, or returned if there are none.
    func threadMissing() -> [Job] {
        state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [] }
            let jobs = Array(state.waiting.values)
            for job in jobs { _ = state.queue.remove(job.ticket) }
            state.waiting = [:]
            return jobs
        }
    }

    /// Removes the job from the queue; nil when it has begun or ended, or was not added yet (`add` then refuses it).
    func cancel(_ ticket: UInt64) -> Job? {
        state.withLock { state in
            if state.pending[ticket] != nil {
                state.pending[ticket] = true
                return nil
            }
            guard state.queue.remove(ticket) else { return nil }
            return state.waiting.removeValue(forKey: ticket)
        }
    }

    func close() {
        let threads = state.withLock { state in
            state.isClosed = true
            return state.threads
        }
        for _ in 0..<threads { wakeUp.signal() }
    }

    func work() {
        while true {
            wakeUp.wait()
            // One who waits for their own work to end is served by the thread that ends it.
            while let job = begin() {
                let handOver = job.run()
                end(job)
                handOver()
            }
            guard state.withLock({ $0.isClosed && $0.waiting.isEmpty }) else { continue }
            // The others may have slept through the end.
            wakeUp.signal()
            return
        }
    }

    /// Takes the work whose turn it is; nil when none may begin now.
    private func begin() -> Job? {
        state.withLock { state -> Job? in
            let (owners, patient) = (state.runningOfOwner, state.runningPatient)
            let next = state.queue.next { owner, purpose in
                guard let owner else { return true }
                return owners[owner, default: 0] < max(1, threadLimit / 2)
                    && (purpose != .patient || patient < max(1, threadLimit - 1))
            }
            guard let next, let job = state.waiting.removeValue(forKey: next) else { return nil }
            state.running += 1
            if let share = job.share {
                state.runningOfOwner[share.owner, default: 0] += 1
                if share.purpose == .patient { state.runningPatient += 1 }
            }
            return job
        }
    }

    private func end(_ job: Job) {
        state.withLock { state in
            state.running -= 1
            guard let share = job.share else { return }
            let left = state.runningOfOwner[share.owner, default: 1] - 1
            state.runningOfOwner[share.owner] = left > 0 ? left : nil
            if share.purpose == .patient { state.runningPatient -= 1 }
        }
    }
}
