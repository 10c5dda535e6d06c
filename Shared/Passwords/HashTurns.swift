internal import Kernel
private import Synchronization
private import WorkPool

/// Lets as many hash at once as there are processors for it; the others wait for their turn, given by `FairQueue`.
final class HashTurns: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var queue: FairQueue<UInt64, IPAddress, HashRequester.Purpose>
        var waiters: [UInt64: Waiter] = [:]
        /// Requests that are about to wait, and why they need not any more.
        var arriving: [UInt64: (any Error)?] = [:]
        var lastTicket: UInt64 = 0
        var free: Int
    }

    private let state: Mutex<State>
    private let atOnce: Int

    /// - Parameters:
    ///   - atOnce: how many have a turn at the same time, at least 1.
    ///   - limit: how many may wait.
    ///   - limitOfAddress: how many of them from one address.
    init(atOnce: Int, limit: Int, limitOfAddress: Int) {
        self.atOnce = atOnce
        state = Mutex(State(queue: FairQueue(limit: limit, limitOfOwner: limitOfAddress), free: atOnce))
    }

    /// Whether no request has a turn.
    var isIdle: Bool { state.withLock { $0.free == atOnce } }

    /// How many wait.
    var waiting: Int { state.withLock { $0.queue.count } }

    /// Does `work` when its turn comes. A task that is cancelled or has waited for too long leaves the queue at once.
    ///
    /// - Parameter wait: the longest wait.
    /// - Throws: `UNAVAILABLE` when too many wait or the wait was too long; `RATE_LIMITED` when too many of this address wait;
    ///   `CancellationError`; what `work` throws.
    func run<Value: Sendable>(
        for requester: HashRequester,
        waitingAtMost wait: Duration,
        _ work: @Sendable () async throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        try await turn(for: requester, waitingAtMost: wait)
        defer { handOn() }
        // The turn may have come together with the cancellation: the result is no longer wanted.
        try Task.checkCancellation()
        return try await work()
    }

    private func turn(for requester: HashRequester, waitingAtMost wait: Duration) async throws {
        let ticket = state.withLock { state -> UInt64? in
            if state.free > 0 {
                state.free -= 1
                return nil
            }
            state.lastTicket += 1
            state.arriving.updateValue(nil, forKey: state.lastTicket)
            return state.lastTicket
        }
        guard let ticket else { return }
        let alarm = Task { [self] in
            guard (try? await Task.sleep(for: wait)) != nil else { return }
            leave(ticket, because: Self.busy)
        }
        defer { alarm.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { enter($0, ticket, requester) }
        } onCancel: {
            leave(ticket, because: CancellationError())
        }
    }

    private func enter(_ waiter: Waiter, _ ticket: UInt64, _ requester: HashRequester) {
        enum Outcome { case waits, turn, refused(any Error) }
        let outcome = state.withLock { state -> Outcome in
            if let reason = state.arriving.removeValue(forKey: ticket) ?? nil { return .refused(reason) }
            if state.free > 0 {
                state.free -= 1
                return .turn
            }
            switch state.queue.add(ticket, of: requester.network, for: requester.purpose) {
            case .ownerFull: return .refused(Self.addressBusy)
            case .full: return .refused(Self.busy)
            case .waits:
                state.waiters[ticket] = waiter
                return .waits
            }
        }
        switch outcome {
        case .waits: break
        case .turn: waiter.resume()
        case .refused(let error): waiter.resume(throwing: error)
        }
    }

    private func leave(_ ticket: UInt64, because error: any Error) {
        let waiter = state.withLock { state -> Waiter? in
            if state.arriving[ticket] != nil { state.arriving.updateValue(error, forKey: ticket) }
            guard state.queue.remove(ticket) else { return nil }
            return state.waiters.removeValue(forKey: ticket)
        }
        waiter?.resume(throwing: error)
    }

    /// Passes the turn to the next request.
    private func handOn() {
        let next = state.withLock { state -> Waiter? in
            guard let ticket = state.queue.next() else {
                state.free += 1
                return nil
            }
            return state.waiters.removeValue(forKey: ticket)
        }
        next?.resume()
    }

    static let busy = ServiceError.unavailable("Too many sign-ins at the moment. Try again in a moment.")

    private static let addressBusy = ServiceError(
        .resourceExhausted,
        "RATE_LIMITED",
        "Too many sign-ins from your address at once.",
        retryAfter: 1
    )
}
