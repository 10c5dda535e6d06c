private import Synchronization

/// Values that were used lately, and can be had again elsewhere: a bounded cache that any number of tasks share.
///
/// It has two generations. When the newer one is full it becomes the older, and what was not used since then is forgotten; so nothing that was
/// among the last half of `capacity` uses is.
public final class RecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Generations {
        var newer: [Key: Value] = [:]
        var older: [Key: Value] = [:]
    }

    private let generations = Mutex(Generations())
    private let half: Int

    /// - Parameter capacity: how many values are kept at most, rounded up to an even number; 0 or less: none.
    public init(capacity: Int) { self.half = (capacity + 1) / 2 }

    /// The value of a key, which counts as a use; nil when it is not kept. Setting nil changes nothing: a value that no longer holds is
    /// replaced or left alone.
    public subscript(key: Key) -> Value? {
        get {
            generations.withLock { state in
                if let value = state.newer[key] { return value }
                guard let value = state.older[key] else { return nil }
                add(value, key, &state)
                return value
            }
        }
        set {
            guard half > 0, let newValue else { return }
            generations.withLock { add(newValue, key, &$0) }
        }
    }

    private func add(_ value: Value, _ key: Key, _ state: inout Generations) {
        if state.newer.count >= half, state.newer[key] == nil {
            state.older = state.newer
            state.newer = [:]
        }
        state.newer[key] = value
    }
}
