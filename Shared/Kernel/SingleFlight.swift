private import Synchronization

/// Does the same work once for all who ask for it at once. A caller who asks after it has ended starts it anew: nothing is kept.
public final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Value, any Error>

    /// The part of a caller in the work.
    private enum Part { case cancelled, first, further }

    private struct State {
        /// Those who wait, by the work they wait for.
        var flights: [Key: [UInt64: Waiter]] = [:]
        /// Callers that are about to wait, unless they are cancelled first.
        var joining: Set<UInt64> = []
        var lastCaller: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Nothing runs yet.
    public init() {}

    /// Returns what `work` returns; if such work runs already, its outcome.
    ///
    /// The work belongs to all who wait for it: it runs to its end even when the first of them is cancelled. A caller that is cancelled
    /// waits no longer.
    ///
    /// - Parameter key: what the work is about; work with the same key must be the same.
    /// - Throws: what the work throws; `CancellationError` when the caller is cancelled.
    public func run(_ key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let caller = state.withLock { state in
            state.lastCaller += 1
            state.joining.insert(state.lastCaller)
            return state.lastCaller
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                join(key, caller, waiter, work)
            }
        } onCancel: {
            leave(key, caller)
        }
    }

    /// How many wait for the work with this key.
    func waiting(_ key: Key) -> Int { state.withLock { $0.flights[key]?.count ?? 0 } }

    private func join(_ key: Key, _ caller: UInt64, _ waiter: Waiter, _ work: @escaping @Sendable () async throws -> Value) {
        let part = state.withLock { state -> Part in
            guard state.joining.remove(caller) != nil else { return .cancelled }
            let isFirst = state.flights[key] == nil
            state.flights[key, default: [:]][caller] = waiter
            return isFirst ? .first : .further
        }
        switch part {
        case .cancelled: waiter.resume(throwing: CancellationError())
        case .further: break
        case .first:
            Task {
                let outcome: Result<Value, any Error>
                do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
                let waiters = state.withLock { $0.flights.removeValue(forKey: key) } ?? [:]
                for waiter in waiters.values { waiter.resume(with: outcome) }
            }
        }
    }

    private func leave(_ key: Key, _ caller: UInt64) {
        let waiter = state.withLock { state -> Waiter? in
            state.joining.remove(caller)
            return state.flights[key]?.removeValue(forKey: caller)
        }
        waiter?.resume(throwing: CancellationError())
    }
}
