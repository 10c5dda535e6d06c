internal import Synchronization

/// Runs tasks on a loop, and on Swift's own threads while they have lately computed for long: a handler that folds ten years must not hold up
/// the replies of all others.
///
/// One for each kind of task, since what one kind costs says nothing about another. Use it as `Task(executorPreference:)`.
public final class LoopExecutor: TaskExecutor {
    private let loop: IOLoop
    /// Until when parts run elsewhere, in monotonic nanoseconds.
    private let elsewhereUntil = Atomic<UInt64>(0)

    /// A part that used more of a processor, in nanoseconds, sends the following ones elsewhere.
    static let longest: UInt64 = 2_000_000
    /// For how long they then run elsewhere.
    static let exile: UInt64 = 10_000_000_000

    /// Tasks of one kind on a loop.
    public init(_ loop: IOLoop) { self.loop = loop }

    /// Takes the next part of a task.
    public func enqueue(_ job: consuming ExecutorJob) {
        let task = LoopTask(job: UnownedJob(job), executor: self)
        if isElsewhere || !loop.enqueue(task) { task.runElsewhere() }
    }

    private var isElsewhere: Bool {
        let until = elsewhereUntil.load(ordering: .relaxed)
        return until != 0 && monotonicNanoseconds() < until
    }

    fileprivate func computedForLong(_ now: UInt64) { elsewhereUntil.store(now + Self.exile, ordering: .relaxed) }
}

/// Finds parts of tasks that computed for long. A part that took long may only have waited for a processor, and to ask how much of one was used
/// costs a system call: it is asked at the beginning of a turn, and after parts that took long.
struct TaskTimer {
    private var used = threadNanoseconds()
    /// When `used` was asked.
    private var asked = monotonicNanoseconds()
    private var last: UInt64

    init() { last = asked }

    /// A part has ended.
    ///
    /// - Returns: the time, if it computed for longer than `LoopExecutor.longest`.
    mutating func computedForLong() -> UInt64? {
        let now = monotonicNanoseconds()
        defer { last = now }
        guard now - last > LoopExecutor.longest else { return nil }
        // The parts before it, since `used` was asked, have used as much at most.
        let (before, earlier) = (used, last - asked)
        (used, asked) = (threadNanoseconds(), now)
        return used - before > earlier + LoopExecutor.longest ? now : nil
    }
}

/// The next part of a task, from one suspension to the following.
struct LoopTask: @unchecked Sendable {
    let job: UnownedJob
    let executor: LoopExecutor

    /// On the loop's thread.
    func run(_ timer: inout TaskTimer) {
        job.runSynchronously(on: executor.asUnownedTaskExecutor())
        if let now = timer.computedForLong() { executor.computedForLong(now) }
    }

    func runElsewhere() { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
}
