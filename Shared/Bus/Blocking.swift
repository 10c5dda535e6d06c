internal import Dispatch

/// Runs blocking calls of nats.c (flush, close, drain) outside the cooperative pool, which they would starve.
enum Blocking {
    private static let queue = DispatchQueue(label: "bus.blocking", attributes: .concurrent)

    static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: body()) }
        }
    }
}

/// Polls for a condition, at the end of a connection, service or consumer.
enum Waiting {
    /// Waits until `condition` holds or `end` has come. Cancelling the task does not end the wait, so that an orderly shutdown does
    /// not become a busy loop.
    ///
    /// - Returns: Whether it holds.
    static func until(_ end: Tick, _ condition: @escaping @Sendable () -> Bool) async -> Bool {
        if condition() { return true }
        return await Task {
            while Tick.now() < end {
                try? await Task.sleep(for: .milliseconds(2))
                if condition() { return true }
            }
            return condition()
        }.value
    }
}
