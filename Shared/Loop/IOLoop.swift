internal import Glibc
internal import Synchronization

/// One thread that waits for sockets and runs what becomes ready: the bus, the database, and the tasks of the handlers between them, so that a
/// request changes threads nowhere.
///
/// A turn: wait in epoll; give each participant its turn, in the order in which they were added; run the tasks that became ready; let the
/// participants send what was written meanwhile, together. What runs here must not block; `LoopExecutor` moves tasks that compute for long to
/// Swift's own threads.
///
/// `@unchecked Sendable`: what is marked so is used by its thread only.
public final class IOLoop: @unchecked Sendable {
    private struct Inbox {
        var tasks: [LoopTask] = []
        var joining: [any LoopParticipant] = []
        var isAsleep = false
        /// Whether it was woken since it last looked.
        var isWanted = false
        var isOpen = true
    }

    private let name: String
    private let sockets: SocketSet
    private let wakeUp: WakeUp
    private let inbox = Mutex(Inbox())
    private let thread = Atomic<UInt>(0)

    // Only for the thread.
    private var participants: [Seat] = []
    private var nextMark: UInt64 = 0
    private var ready: [LoopTask] = []
    private var spare: [LoopTask] = []
    private var isEnding = false

    /// A participant and how epoll calls it.
    private struct Seat {
        let participant: any LoopParticipant
        let mark: UInt64
        var isReadable = false
    }

    /// The mark of the wake-up.
    private static let inboxMark = UInt64.max
    /// What runs before sockets are looked at again.
    private static let tasksATurn = 512

    /// A loop; `start` runs it.
    ///
    /// - Parameter name: of its thread, at most 15 bytes.
    /// - Returns: nil when the system has no more descriptors.
    public init?(name: String) {
        guard let sockets = SocketSet(), let wakeUp = WakeUp() else { return nil }
        (self.name, self.sockets, self.wakeUp) = (name, sockets, wakeUp)
        sockets.watch(wakeUp.descriptor, mark: Self.inboxMark)
    }

    /// Starts the thread. It keeps the loop alive until `stop`.
    ///
    /// - Returns: false when the system has no more threads.
    public func start() -> Bool { spawnThread(named: name, stack: 4 << 20) { self.run() } }

    /// Whether the caller runs on the loop's thread.
    public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Gives a participant a turn in every turn from the next on, until it leaves.
    ///
    /// - Returns: false when the loop has stopped.
    public func add(_ participant: any LoopParticipant) -> Bool {
        post { inbox in inbox.joining.append(participant) }
    }

    /// Ends the loop after its turn. Tasks that become ready later run on Swift's own threads.
    public func stop() {
        let mustWake = inbox.withLock { inbox in
            inbox.isOpen = false
            defer { inbox.isAsleep = false }
            return inbox.isAsleep
        }
        if mustWake { wakeUp.signal() }
    }

    /// Makes the loop take a turn soon, if it sleeps.
    public func wake() {
        if !isCurrent { _ = post { inbox in inbox.isWanted = true } }
    }

    /// Runs a task's next part in this turn or the next.
    ///
    /// - Returns: false when the loop has stopped.
    func enqueue(_ task: LoopTask) -> Bool {
        if isCurrent {
            ready.append(task)
            return true
        }
        return post { inbox in inbox.tasks.append(task) }
    }

    private func post(_ change: (inout sending Inbox) -> Void) -> Bool {
        let (isOpen, mustWake) = inbox.withLock { inbox in
            guard inbox.isOpen else { return (false, false) }
            change(&inbox)
            defer { inbox.isAsleep = false }
            return (true, inbox.isAsleep)
        }
        if mustWake { wakeUp.signal() }
        return isOpen
    }

    // MARK: the thread

    private func run() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        while !isEnding {
            wait()
            takeInbox()
            var index = 0
            while index < participants.count {
                let isReadable = participants[index].isReadable
                participants[index].isReadable = false
                if participants[index].participant.turn(isReadable: isReadable) == .leave {
                    sockets.unwatch(participants.remove(at: index).participant.descriptor)
                } else {
                    index += 1
                }
                runTasks()
            }
            runTasks()
            for seat in participants { seat.participant.flush() }
        }
        end()
    }

    private func wait() {
        sockets.wait(milliseconds: timeout()) { mark in
            if mark == Self.inboxMark {
                wakeUp.reset()
            } else if let index = participants.firstIndex(where: { $0.mark == mark }) {
                participants[index].isReadable = true
            }
        }
    }

    /// How long the thread may sleep, in milliseconds; -1 without limit. Afterwards a post wakes it.
    private func timeout() -> Int32 {
        guard ready.isEmpty else { return 0 }
        var shortest: Int32 = -1
        for seat in participants {
            guard let limit = seat.participant.rest() else { return 0 }
            if limit >= 0 { shortest = shortest < 0 ? limit : min(shortest, limit) }
        }
        let maySleep = inbox.withLock { inbox in
            inbox.isAsleep = inbox.isOpen && !inbox.isWanted && inbox.tasks.isEmpty && inbox.joining.isEmpty
            return inbox.isAsleep
        }
        return maySleep ? shortest : 0
    }

    private func takeInbox() {
        let joining: [any LoopParticipant] = inbox.withLock { inbox in
            (inbox.isAsleep, inbox.isWanted) = (false, false)
            isEnding = !inbox.isOpen
            if !inbox.tasks.isEmpty {
                ready.append(contentsOf: inbox.tasks)
                inbox.tasks.removeAll(keepingCapacity: true)
            }
            defer { inbox.joining = [] }
            return inbox.joining
        }
        for participant in joining {
            participants.append(Seat(participant: participant, mark: nextMark))
            sockets.watch(participant.descriptor, mark: nextMark)
            nextMark += 1
        }
    }

    private func runTasks() {
        guard !ready.isEmpty else { return }
        var left = Self.tasksATurn
        var timer = TaskTimer()
        while !ready.isEmpty, left > 0 {
            swap(&ready, &spare)
            left -= spare.count
            for task in spare { task.run(&timer) }
            spare.removeAll(keepingCapacity: true)
        }
    }

    private func end() {
        for seat in participants { seat.participant.ended() }
        let (tasks, joining) = inbox.withLock { inbox in
            defer { (inbox.tasks, inbox.joining) = ([], []) }
            return (inbox.tasks, inbox.joining)
        }
        for participant in joining { participant.ended() }
        // What ends now resumes tasks here: they run elsewhere.
        thread.store(0, ordering: .relaxed)
        for task in ready + tasks { task.runElsewhere() }
        participants = []
        ready = []
    }
}
