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
/// limit to end. Limits of 5 s and more may be exceeded by a second: they share one timer.
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
    let ended: @Sendable () -> Void = {
        race.finish(.failure(TimeLimitExceeded(limit: limit)))
        working.cancel()
    }
    let withdraw: () -> Void
    if limit < LongLimits.shortest {
        let waiting = Task { if (try? await Task.sleep(for: limit)) != nil { ended() } }
        withdraw = waiting.cancel
    } else {
        let number = LongLimits.shared.add(limit, ended)
        withdraw = { LongLimits.shared.remove(number) }
    }
    defer { withdraw() }
    return try await withTaskCancellationHandler {
        try await race.result()
    } onCancel: {
        working.cancel()
    }
}

/// Limits that are hardly ever reached, of loops that run many times a second. The timer of a cancelled `Task.sleep` stays until its time is
/// up: with one for each of them there were ten thousands, each of which woke a thread in the end.
private final class LongLimits: Sendable {
    static let shared = LongLimits()
    /// Those below want to be kept more exactly than to a second.
    static let shortest = Duration.seconds(5)

    private struct Entry {
        let end: ContinuousClock.Instant
        let action: @Sendable () -> Void
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var next: UInt64 = 0
        var isTicking = false
    }

    private let state = Mutex(State())

    /// - Returns: the number by which to remove it.
    func add(_ limit: Duration, _ action: @escaping @Sendable () -> Void) -> UInt64 {
        let end = ContinuousClock.now.advanced(by: limit)
        let (number, mustStart) = state.withLock { state in
            state.next += 1
            state.entries[state.next] = Entry(end: end, action: action)
            defer { state.isTicking = true }
            return (state.next, !state.isTicking)
        }
        if mustStart { Task { await tick() } }
        return number
    }

    func remove(_ number: UInt64) { state.withLock { _ = $0.entries.removeValue(forKey: number) } }

    /// Looks once a second, until there is none.
    private func tick() async {
        while true {
            try? await Task.sleep(for: .seconds(1))
            let now = ContinuousClock.now
            let (due, isOver) = state.withLock { state in
                let due = state.entries.filter { $0.value.end <= now }
                for number in due.keys { state.entries[number] = nil }
                state.isTicking = !state.entries.isEmpty
                return (due.values.map(\.action), state.entries.isEmpty)
            }
            for action in due { action() }
            if isOver { return }
        }
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
