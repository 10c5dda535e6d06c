private import Synchronization

/// A bounded cache of recently used values, shared by any number of tasks.
///
/// It has two generations. When the newer one is full it becomes the older one, and values that were not used since are dropped. So
/// values of the last `capacity / 2` uses are always kept.
public final class RecentlyUsed<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Generations {
        var newer: [Key: Value] = [:]
        var older: [Key: Value] = [:]
    }

    private let generations = Mutex(Generations())
    private let half: Int

    /// - Parameter capacity: the most values that are kept, rounded up to an even number; 0 or less: none.
    public init(capacity: Int) { self.half = (capacity + 1) / 2 }

    /// The value of a key; nil when it is not cached. Reading counts as a use. Setting nil changes nothing: replace a value that is
    /// out of date.
    public subscript(key: Key) -> Value? {
        get { generations.withLock { found(key, &$0) } }
        set {
            guard half > 0, let newValue else { return }
            generations.withLock { add(newValue, key, &$0) }
        }
    }

    /// As the subscript, of many keys at once: tasks that look up a page of them wait for each other once, and not at each key.
    public func values(of keys: [Key]) -> [Value?] {
        generations.withLock { state in keys.map { found($0, &state) } }
    }

    private func found(_ key: Key, _ state: inout Generations) -> Value? {
        if let value = state.newer[key] { return value }
        guard let value = state.older[key] else { return nil }
        add(value, key, &state)
        return value
    }

    private func add(_ value: Value, _ key: Key, _ state: inout Generations) {
        if state.newer.count >= half, state.newer[key] == nil {
            state.older = state.newer
            state.newer = [:]
        }
        state.newer[key] = value
    }
}
