internal import Synchronization

/// Runs short transactions of different owners that wait at the same time as one.
///
/// Most of what a short transaction costs a busy server is not its work but what surrounds it: each statement is parsed, planned into a
/// tree and answered by itself, each commit flushes the log. Transactions that do the same for different owners share that here. As long
/// as the server keeps up each runs by itself, exactly as by `Database.transaction`; those that come while `atOnce` run already wait for
/// one of these to end and then run together.
///
/// All or nothing holds for each of them as ever: when one throws, is cancelled or fails, nothing of the group is committed, and the others are
/// run again by themselves. So a body must be one that may run more than once, and must wait for nothing but its transaction. Bodies of
/// one group must not change or lock the same rows: they are one transaction, so they would not wait for each other. That is what `owner` is for.
public final class SharedTransactions: Sendable {
    private struct State {
        /// Transactions of the server that run now, and whose.
        var running = 0
        var owners: Set<String> = []
        var waiting: [Waiter] = []
        /// Most members of the next group: half as many after a group was dissolved, one more after one was committed. With 1 nothing waits.
        var limit: Int
        /// Transactions that have run by themselves since it is 1.
        var unshared = 0

        /// Those that run next; empty when they have to wait.
        mutating func next(atOnce: Int) -> [Waiter] {
            guard running < atOnce, !waiting.isEmpty else { return [] }
            var (next, rest): ([Waiter], [Waiter]) = ([], [])
            for waiter in waiting {
                if next.count < limit, owners.insert(waiter.owner).inserted { next.append(waiter) } else { rest.append(waiter) }
            }
            waiting = rest
            if !next.isEmpty { running += 1 }
            // In one order for all groups: two that meet in their locks do not wait for each other.
            return next.sorted { $0.owner < $1.owner }
        }
    }

    private struct Waiter {
        let id: Int
        let owner: String
        let continuation: UnsafeContinuation<Seat, any Error>
    }

    private enum Seat: Sendable {
        /// Counted among those that run.
        case alone
        case member(SharedTransaction)
        /// Not counted.
        case unshared
    }

    private let database: Database
    private let most: Int
    private let atOnce: Int
    private let forms = MergedForms()
    private let state: Mutex<State>
    private let ids = Atomic<Int>(0)

    /// Transactions that run by themselves before it is tried again whether groups go well.
    private static let trial = 64

    /// - Parameters:
    ///   - most: transactions that run as one, 1…64.
    ///   - atOnce: transactions of the server at the same time, at least 1; further ones wait.
    public init(_ database: Database, most: Int = 16, atOnce: Int = 2) {
        precondition((1...64).contains(most) && atOnce >= 1)
        (self.database, self.most, self.atOnce) = (database, most, atOnce)
        state = Mutex(State(limit: most))
    }

    /// Runs `body` in a transaction, perhaps together with others: commits when it returns, rolls back when it throws.
    ///
    /// - Parameters:
    ///   - owner: whose rows it changes and locks. While a transaction of an owner runs, another of theirs runs by itself.
    ///   - body: as for `Database.transaction`; it must wait for nothing but its transaction.
    /// - Throws: as `Database.transaction`.
    nonisolated(nonsending) public func transaction<Result>(
        of owner: String,
        _ body: (Transaction) async throws -> Result
    ) async throws -> Result {
        switch try await seat(for: owner) {
        case .unshared: break
        case .alone:
            defer { ended([owner], nil) }
            return try await database.transaction(body)
        case .member(let member):
            do {
                let result = try await body(Transaction(member))
                try await member.group.commit(member.place)
                return result
            } catch {
                let isFirst = member.group.dissolve()
                if Task.isCancelled { throw error is GroupDissolved ? CancellationError() : error }
                // Its own refusal, or that of the commit. Whatever else came of the group, it runs again by itself.
                let failure = error as? DatabaseError
                if failure?.code == .outcomeUnknown || failure?.code == .stopped { throw error }
                if isFirst, !(error is GroupDissolved), failure?.isRetryable != true { throw error }
                await member.group.released()
            }
        }
        return try await database.transaction(body)
    }

    /// Whether the next one has to wait.
    var isBusy: Bool { state.withLock { $0.running == atOnce } }
    /// How many wait.
    var waiting: Int { state.withLock { $0.waiting.count } }
    /// Most members of the next group.
    var limit: Int { state.withLock { $0.limit } }

    private func seat(for owner: String) async throws -> Seat {
        let id = ids.add(1, ordering: .relaxed).newValue
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                let isWaiting = state.withLock { state -> Bool in
                    if state.limit == 1 {
                        state.unshared += 1
                        if state.unshared == Self.trial { (state.limit, state.unshared) = (2, 0) }
                        return false
                    }
                    // At once: a repeat of a request is refused while the first waits for a lock.
                    if state.owners.contains(owner) { return false }
                    state.waiting.append(Waiter(id: id, owner: owner, continuation: continuation))
                    return true
                }
                guard isWaiting else { return continuation.resume(returning: .unshared) }
                if Task.isCancelled { withdraw(id) }
                proceed()
            }
        } onCancel: {
            withdraw(id)
        }
    }

    /// The task that waits was cancelled.
    private func withdraw(_ id: Int) {
        let waiter = state.withLock { state -> Waiter? in
            state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
        }
        waiter?.continuation.resume(throwing: CancellationError())
    }

    /// A transaction of the server has ended.
    ///
    /// - Parameter outcome: of a group; nil: of one that ran alone.
    private func ended(_ owners: [String], _ outcome: TransactionGroup.Outcome?) {
        state.withLock { state in
            state.running -= 1
            state.owners.subtract(owners)
            switch outcome {
            case .committed: state.limit = min(most, state.limit + 1)
            case .dissolved: state.limit = max(1, state.limit / 2)
            case nil: break
            }
        }
        proceed()
    }

    /// Starts what waits, as far as it may run.
    private func proceed() {
        while true {
            let next = state.withLock { $0.next(atOnce: atOnce) }
            guard let first = next.first else { return }
            guard next.count > 1 else {
                first.continuation.resume(returning: .alone)
                continue
            }
            let owners = next.map(\.owner)
            let reactor: Reactor
            do { reactor = try database.reactor() } catch {
                state.withLock { state in
                    state.running -= 1
                    state.owners.subtract(owners)
                }
                for waiter in next { waiter.continuation.resume(throwing: error) }
                continue
            }
            let group = TransactionGroup(next.count, on: reactor, forms) { [self] in ended(owners, $0) }
            for (place, waiter) in next.enumerated() {
                waiter.continuation.resume(returning: .member(SharedTransaction(group: group, place: place)))
            }
        }
    }
}
