internal import Synchronization

/// A flag that one task waits for and any task raises; raising it again before it is seen changes nothing.
public final class WakeSignal: Sendable {
    private struct State {
        var isRaised = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// One that is not raised.
    public init() {}

    /// Raises the flag. Does not block.
    public func wake() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let waiter = state.waiter else {
                state.isRaised = true
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume()
    }

    /// Returns when the flag is raised (and lowers it), after `limit`, or when the task is cancelled.
    package func wait(atMost limit: Duration) async {
        let timer = Task { [weak self] in
            try? await Task.sleep(for: limit)
            if !Task.isCancelled { self?.wake() }
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isRaised = state.withLock { state -> Bool in
                    if state.isRaised || Task.isCancelled {
                        state.isRaised = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isRaised { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
        timer.cancel()
    }
}
