public import Kernel
private import Synchronization

/// A clock that moves only when it is set.
public final class ManualClock: Clock {
    private let current: Mutex<Instant>

    /// A clock that shows `start`.
    public init(_ start: Instant) { self.current = Mutex(start) }

    public func now() -> Instant { current.withLock { $0 } }

    /// Moves the clock.
    public func set(_ instant: Instant) { current.withLock { $0 = instant } }

    /// Moves the clock forward.
    public func advance(by interval: Interval) { current.withLock { $0 = $0 + interval } }
}
