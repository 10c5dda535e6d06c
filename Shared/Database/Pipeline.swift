/// The jobs in flight on one connection, in the order sent, and what each of the server's answers means for them.
///
/// Events in, actions out, no I/O, so a test reads as a protocol trace. Each command is answered by results, then an end; a sync by
/// itself. After a failure the server skips everything up to the next sync: those commands come back as `skipped`.
///
/// A job enters before libpq sends it, so that `lost` returns it even if libpq fails.
struct Pipeline<Job, Answer> {
    /// How a job ended.
    enum Outcome {
        case success(Answer)
        case failure(DatabaseError)
        /// Another job before the same sync failed; this one did not run.
        case skipped
    }

    /// What to do after an answer.
    enum Action {
        /// The job is over: resume its caller.
        case deliver(Job, Outcome)
        /// The server refused the job's statement: remove it from the prepared ones.
        case refused(Job)
    }

    private enum Command {
        case prepare(Job)
        /// With `isEarly`, the result counts when it arrives: nothing before the sync can undo a read.
        case execute(Job, isEarly: Bool)
        case sync
    }

    private var commands = FIFO<Command>()
    /// The answers to the first command so far; for an execute also those to its prepare.
    private var outcome: Outcome?
    /// Answered, but only over after the sync.
    private var answered: [(job: Job, outcome: Outcome)] = []
    /// Commands sent since the last sync.
    private(set) var unsynced = 0

    /// Open jobs.
    private(set) var jobCount = 0

    /// Whether nothing is in flight.
    var isEmpty: Bool { commands.isEmpty }

    /// The running job, or the next.
    var first: Job? {
        switch commands.first {
        case .prepare(let job), .execute(let job, _): job
        case .sync, nil: nil
        }
    }

    /// Whether the first command has an answer.
    var hasOutcome: Bool { outcome != nil }

    /// Whether an unanswered job fulfils the condition.
    func contains(_ condition: (Job) -> Bool) -> Bool {
        commands.contains { command in
            if case .execute(let job, _) = command { condition(job) } else { false }
        }
    }

    /// All open jobs, in no order.
    var jobs: [Job] {
        answered.map(\.job)
            + commands.elements.compactMap { command in
                if case .execute(let job, _) = command { job } else { nil }
            }
    }

    /// The job's statement is prepared before it is executed; `sentExecute` must follow.
    mutating func sentPrepare(_ job: Job) { commands.append(.prepare(job)) }

    mutating func sentExecute(_ job: Job, isEarly: Bool) {
        commands.append(.execute(job, isEarly: isEarly))
        unsynced += 1
        jobCount += 1
    }

    mutating func sentSync() {
        commands.append(.sync)
        unsynced = 0
    }

    /// A result, a failure or a notice of skipping for the first command.
    mutating func received(_ answer: Outcome) {
        guard case .sync = commands.first else {
            // Keep the failure of a prepare: its execute only reports "skipped".
            if case .failure = outcome { return }
            outcome = answer
            return
        }
        // The commit itself failed (a deferred constraint, a serialisation check).
        guard case .failure = answer else { return }
        for index in answered.indices {
            if case .success = answered[index].outcome { answered[index].outcome = answer }
        }
    }

    /// The first command has ended.
    mutating func receivedEnd() -> Action? {
        switch commands.first {
        case .prepare(let job):
            commands.removeFirst()
            switch outcome {
            case .failure: return .refused(job)
            case .skipped:
                outcome = nil
                return .refused(job)
            case .success, nil:
                outcome = nil
                return nil
            }
        case .execute(let job, let isEarly):
            commands.removeFirst()
            let ended = outcome ?? .failure(DatabaseError(.connectionLost, detail: "no answer"))
            outcome = nil
            if isEarly, case .success = ended {
                jobCount -= 1
                return .deliver(job, ended)
            }
            answered.append((job, ended))
            return nil
        case .sync, nil:
            return nil
        }
    }

    /// Everything up to the first sync is over.
    mutating func receivedSync() -> [Action] {
        if case .sync = commands.first { commands.removeFirst() }
        defer { answered.removeAll(keepingCapacity: true) }
        jobCount -= answered.count
        return answered.map { .deliver($0.job, $0.outcome) }
    }

    /// The connection died: returns the jobs that certainly ended, and those whose outcome is unknown.
    mutating func lost() -> (failed: [(Job, DatabaseError)], unknown: [Job]) {
        var failed: [(Job, DatabaseError)] = []
        var unknown: [Job] = []
        for (job, outcome) in answered {
            switch outcome {
            case .failure(let error): failed.append((job, error))
            case .success, .skipped: unknown.append(job)
            }
        }
        while let command = commands.popFirst() {
            if case .execute(let job, _) = command { unknown.append(job) }
        }
        self = Pipeline()
        return (failed, unknown)
    }
}

/// A queue whose front is removed without moving the rest each time.
struct FIFO<Element> {
    private var slots: [Element?] = []
    private var head = 0

    var count: Int { slots.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Element? { head < slots.count ? slots[head] : nil }
    /// All elements, in order.
    var elements: [Element] { slots[head...].compactMap { $0 } }

    mutating func append(_ element: Element) { slots.append(element) }

    mutating func removeFirst() { _ = popFirst() }

    mutating func popFirst() -> Element? {
        guard head < slots.count else { return nil }
        let element = slots[head]
        slots[head] = nil
        head += 1
        if head == slots.count {
            slots.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 64, head * 2 >= slots.count {
            slots.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Removes the first elements that fulfil the condition, in order.
    ///
    /// - Parameters:
    ///   - most: how many.
    ///   - ahead: how many elements are looked at.
    mutating func take(_ most: Int, ahead: Int, where condition: (Element) -> Bool) -> [Element] {
        let end = min(head + ahead, slots.count)
        var taken: [Element] = []
        for index in head..<end where taken.count < most {
            guard let element = slots[index], condition(element) else { continue }
            taken.append(element)
            slots[index] = nil
        }
        guard !taken.isEmpty else { return [] }
        // What stays moves up to what was not looked at.
        var place = end
        for index in (head..<end).reversed() {
            guard let element = slots[index] else { continue }
            place -= 1
            slots[index] = nil
            slots[place] = element
        }
        head = place
        if head == slots.count {
            slots.removeAll(keepingCapacity: true)
            head = 0
        }
        return taken
    }

    func contains(where condition: (Element) -> Bool) -> Bool {
        slots[head...].contains { $0.map(condition) ?? false }
    }

    /// Removes the elements that fulfil the condition, in order.
    mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        var kept: [Element?] = []
        for case let element? in slots[head...] {
            if condition(element) { removed.append(element) } else { kept.append(element) }
        }
        (slots, head) = (kept, 0)
        return removed
    }
}
