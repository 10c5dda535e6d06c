internal import Synchronization

/// One of the transactions that a group runs as one: what its body sees as its `Transaction`.
struct SharedTransaction: StatementSender {
    let group: TransactionGroup
    /// Its place in the group.
    let place: Int

    /// - Throws: `DatabaseError` `invalidValue`.
    func append(_ query: Query) throws -> QueuedStatement {
        if let failure = query.failure { throw failure }
        let statement = QueuedStatement(self, observer: nil)
        group.append(query, statement, of: place)
        return statement
    }

    func send() { group.send(place) }
    func cancel() { _ = group.dissolve() }
    func failed(_ error: any Error) {}

    func cause(of error: any Error) -> any Error {
        // Who has seen it cannot be committed, whatever they make of it.
        if error is GroupDissolved { _ = group.dissolve() }
        return Task.isCancelled ? CancellationError() : error
    }
}

/// A group ended without effect, through no fault of this member, which is to be run by itself.
struct GroupDissolved: Error {}

/// Transactions of different owners that run in step, as one transaction of the server.
///
/// When every member waits, for answers or for the commit, the statements of those that wait for answers are sent in one go, those of one text as
/// one (`MergedStatement`). When all wait for the commit, their last statements are sent with it. The group is dissolved, and everything rolled
/// back, as soon as a body throws, a task is cancelled or a statement fails; from the commit on by nothing but its answer (`GroupProgress`).
final class TransactionGroup: Sendable {
    /// How the group ended.
    enum Outcome: Sendable {
        case committed
        case dissolved
    }

    private struct Entry {
        let query: Query
        let statement: QueuedStatement
    }

    private struct Member {
        /// Not sent yet.
        var entries: [Entry] = []
        /// Whether it waits for one of them.
        var isWaiting = false
        var commit: UnsafeContinuation<Void, any Error>?
    }

    private struct State {
        var members: [Member]
        var progress = GroupProgress()
        /// What is in flight.
        var round: Round?
        /// After the end: for a member that still runs.
        var failure: (any Error)?
        /// Whether the server holds nothing for the group any more.
        var isReleased = false
        var waitingForRelease: [UnsafeContinuation<Void, Never>] = []
    }

    /// Statements in flight, and whom their answers are for.
    private final class Round {
        let steps: [Step]
        /// nil: not yet, or it has failed.
        var results: [ResultBox?]
        var missing: Int

        init(_ steps: [Step]) {
            (self.steps, missing) = (steps, steps.count)
            results = Array(repeating: nil, count: steps.count)
        }

        /// The results when all have succeeded.
        var whole: [ResultBox]? { results.contains { $0 == nil } ? nil : results.compactMap(\.self) }
    }

    /// One statement of the server.
    private struct Step {
        let query: Query
        /// nil: of one member.
        let form: MergedStatement?
        let statements: [QueuedStatement]
    }

    private let state: Mutex<State>
    private let queue: StatementQueue
    private let forms: MergedForms
    private let whenOver: @Sendable (Outcome) -> Void

    /// - Parameter whenOver: called once, when nothing of the group is left on the server.
    init(
        _ count: Int,
        on reactor: Reactor,
        _ forms: MergedForms,
        whenOver: @escaping @Sendable (Outcome) -> Void
    ) {
        state = Mutex(State(members: Array(repeating: Member(), count: count)))
        queue = StatementQueue(reactor, Lease(reactor, .readCommitted))
        (self.forms, self.whenOver) = (forms, whenOver)
    }

    // MARK: of a member

    func append(_ query: Query, _ statement: QueuedStatement, of place: Int) {
        let refused = state.withLock { state -> (any Error)? in
            guard state.progress.takesStatements else { return state.failure ?? DatabaseError(.leaseEnded) }
            state.members[place].entries.append(Entry(query: query, statement: statement))
            return nil
        }
        if let refused { statement.end(with: .failure(refused)) }
    }

    /// The member waits for an answer: of what it has queued, or of what is in flight already.
    func send(_ place: Int) {
        state.withLock { if !$0.members[place].entries.isEmpty { $0.members[place].isWaiting = true } }
        proceed()
    }

    /// The member's body has returned: waits for the commit of all.
    ///
    /// - Throws: `GroupDissolved` when nothing was committed; what the commit has failed with.
    func commit(_ place: Int) async throws {
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                let refused = state.withLock { state -> (any Error)? in
                    guard state.progress.takesStatements else { return state.failure ?? DatabaseError(.leaseEnded) }
                    state.members[place].commit = continuation
                    return nil
                }
                if let refused { continuation.resume(throwing: refused) } else { proceed() }
            }
        } onCancel: {
            _ = dissolve()
        }
    }

    /// Ends the group without effect, unless its commit is decided.
    ///
    /// - Returns: false when it has ended before, or will by its commit.
    func dissolve() -> Bool { end(.withdrawal, with: GroupDissolved()) }

    /// Waits until a dissolved group is rolled back: before that its locks would refuse who runs again.
    func released() async {
        await withUnsafeContinuation { continuation in
            let isReleased = state.withLock { state -> Bool in
                if !state.isReleased { state.waitingForRelease.append(continuation) }
                return state.isReleased
            }
            if isReleased { continuation.resume() }
        }
    }

    private func release(_ outcome: Outcome) {
        let waiting = state.withLock { state -> [UnsafeContinuation<Void, Never>] in
            state.isReleased = true
            defer { state.waitingForRelease = [] }
            return state.waitingForRelease
        }
        whenOver(outcome)
        for continuation in waiting { continuation.resume() }
    }

    // MARK: in step

    /// Sends what is ready when no member runs.
    private func proceed() {
        let (round, isLast) = state.withLock { state -> (Round?, Bool) in
            guard state.progress.isOpen, state.members.allSatisfy({ $0.isWaiting || $0.commit != nil }) else {
                return (nil, false)
            }
            let waiting = state.members.indices.filter { state.members[$0].isWaiting }
            let places = waiting.isEmpty ? Array(state.members.indices) : waiting
            let round = Round(steps(of: places.map { state.members[$0].entries }))
            for place in places { (state.members[place].entries, state.members[place].isWaiting) = ([], false) }
            state.progress.begin(isLast: waiting.isEmpty)
            state.round = waiting.isEmpty ? nil : round
            return (round, waiting.isEmpty)
        }
        guard let round else { return }
        do {
            for (index, step) in round.steps.enumerated() {
                if isLast {
                    try queue.append(step.query)
                } else {
                    try queue.append(step.query) { [self] result in received(result, index) }
                }
            }
            if isLast { queue.commit { [self] result in committed(result) } } else { queue.send() }
        } catch {
            // Values that cannot be sent together.
            _ = end(.failure, with: GroupDissolved())
        }
        if state.withLock({ $0.progress.handedOver() }) { rollBack() }
    }

    /// The fewest statements that run each member's in its order.
    private func steps(of lists: [[Entry]]) -> [Step] {
        var steps: [Step] = []
        var next = Array(repeating: 0, count: lists.count)
        while let leader = lists.indices.first(where: { next[$0] < lists[$0].count }) {
            let text = lists[leader][next[leader]].query.text
            var entries: [Entry] = []
            for index in lists.indices where next[index] < lists[index].count && lists[index][next[index]].query.text == text {
                entries.append(lists[index][next[index]])
                next[index] += 1
            }
            if entries.count > 1, let form = forms.form(of: entries[0].query), let merged = form.merged(entries.map(\.query)) {
                steps.append(Step(query: merged, form: form, statements: entries.map(\.statement)))
            } else {
                steps += entries.map { Step(query: $0.query, form: nil, statements: [$0.statement]) }
            }
        }
        return steps
    }

    private func received(_ result: Result<ResultBox, any Error>, _ index: Int) {
        let ended = state.withLock { state -> Round? in
            guard state.progress.isSending, let round = state.round else { return nil }
            round.results[index] = try? result.get()
            round.missing -= 1
            guard round.missing == 0 else { return nil }
            if round.whole != nil {
                state.progress.answered()
                state.round = nil
            }
            return round
        }
        guard let round = ended else { return }
        guard let results = round.whole else {
            _ = end(.failure, with: GroupDissolved())
            return
        }
        for (step, result) in zip(round.steps, results) {
            guard let form = step.form else {
                step.statements[0].end(with: .success(result))
                continue
            }
            let answers = form.answers(result, for: step.statements.count)
            for (index, statement) in step.statements.enumerated() {
                // Who asks for an answer that cannot be known ends the group.
                let answer = answers.map { $0[index] }
                statement.end(with: answer.map(Result.success) ?? .failure(GroupDissolved()))
            }
        }
        // Tasks of a member may have asked for more meanwhile.
        proceed()
    }

    private func committed(_ result: Result<ResultBox, any Error>) {
        do {
            try result.get().checkCommitted()
            _ = end(.commit, with: nil)
        } catch {
            let code = (error as? DatabaseError)?.code
            let isKnown = code != nil && code != .outcomeUnknown && code != .stopped
            _ = end(.commit, with: isKnown ? GroupDissolved() : error)
        }
    }

    /// What waits when the group ends.
    private struct Waiting {
        let ending: GroupProgress.Ending
        let statements: [QueuedStatement]
        let commits: [UnsafeContinuation<Void, any Error>]
    }

    /// The end for all, if this may end it now.
    ///
    /// - Parameter error: for those that wait; nil: they are committed.
    /// - Returns: whether it was this that has ended it.
    private func end(_ cause: GroupProgress.End, with error: (any Error)?) -> Bool {
        let waiting = state.withLock { state -> Waiting? in
            guard let ending = state.progress.end(cause, needsRollback: error != nil) else { return nil }
            let unsent = state.members.flatMap { $0.entries.map(\.statement) }
            let sent = state.round?.steps.flatMap(\.statements) ?? []
            let commits = state.members.compactMap(\.commit)
            (state.round, state.failure) = (nil, error ?? DatabaseError(.leaseEnded))
            state.members = Array(repeating: Member(), count: state.members.count)
            return Waiting(ending: ending, statements: unsent + sent, commits: commits)
        }
        guard let waiting else { return false }
        if waiting.ending.stopsStatements { queue.cancel() }
        if waiting.ending.rollsBack { rollBack() }
        if error == nil { release(.committed) }
        let failure = error ?? DatabaseError(.leaseEnded)
        for statement in waiting.statements { statement.end(with: .failure(failure)) }
        for commit in waiting.commits {
            if let error { commit.resume(throwing: error) } else { commit.resume() }
        }
        return true
    }

    private func rollBack() { queue.rollback { [self] in release(.dissolved) } }
}

/// The merged forms of statements, by text; bounded, because a text may be made at run time.
final class MergedForms: Sendable {
    private let forms = Mutex<[String: MergedStatement?]>([:])

    func form(of query: Query) -> MergedStatement? {
        forms.withLock { forms in
            if let known = forms[query.text] { return known }
            if forms.count >= 1_000 { forms.removeAll() }
            let form = MergedStatement(query)
            forms[query.text] = .some(form)
            return form
        }
    }
}
