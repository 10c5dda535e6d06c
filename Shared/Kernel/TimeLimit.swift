private import Synchronization

/// Work took longer than its limit and was abandoned.
public struct TimeLimitExceeded: Error, Equatable, CustomStringConvertible {
    /// The limit.
    public let limit: Duration

    public var description: String { "gave up after \(limit)" }
}

/// Runs work with a time limit. For background loops, which have no request's deadline.
///
/// After `limit` the work is cancelled and abandoned: this throws at once, even if the work ignores the cancellation. So the work
/// must do no harm if it ends later, beside its next run. If the caller is cancelled, the work is cancelled too and has until the
/// limit to end.
///
/// - Throws: `TimeLimitExceeded`, or what `work` throws.
public func withTimeLimit<Result: Sendable>(
    _ limit: Duration,
    _ work: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    let race = Race<Result>()
    let working = Task {
        do { race.finish(.success(try await work())) } catch { race.finish(.failure(error)) }
    }
    let waiting = Task {
        // Cancelled when the work has ended.
        guard (try? await Task.sleep(for: limit)) != nil else { return }
        race.finish(.failure(TimeLimitExceeded(limit: limit)))
        working.cancel()
    }
    defer { waiting.cancel() }
    return try await withTaskCancellationHandler {
        try await race.result()
    } onCancel: {
        working.cancel()
    }
}

/// The first of several results.
private final class Race<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, any Error>)
        case over(Result<Value, any Error>)
        case taken
    }

    private let state = Mutex(State.open)

    func finish(_ result: Result<Value, any Error>) {
        let waiter = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .open: state = .over(result)
            case .awaited(let waiter):
                state = .taken
                return waiter
            case .over, .taken: break
            }
            return nil
        }
        waiter?.resume(with: result)
    }

    /// To be called once.
    func result() async throws -> Value {
        try await withCheckedThrowingContinuation { waiter in
            let early = state.withLock { state -> Result<Value, any Error>? in
                guard case .over(let result) = state else {
                    state = .awaited(waiter)
                    return nil
                }
                state = .taken
                return result
            }
            if let early { waiter.resume(with: early) }
        }
    }
}
