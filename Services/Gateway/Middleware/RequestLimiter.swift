private import Synchronization

/// How many requests run at once; what is beyond is refused, not queued.
final class RequestLimiter: Sendable {
    private let inFlight = Atomic<Int>(0)
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    var current: Int { inFlight.load(ordering: .relaxed) }

    /// - Returns: false when there are too many; otherwise `leave` must follow.
    func enter() -> Bool {
        guard inFlight.add(1, ordering: .relaxed).newValue <= limit else {
            inFlight.subtract(1, ordering: .relaxed)
            return false
        }
        return true
    }

    func leave() { inFlight.subtract(1, ordering: .relaxed) }
}
