public import Kernel
private import Synchronization

/// A clock that runs with the machine's, shifted by an offset that only grows (PF-7). One offset serves the whole environment.
public final class DevelopmentClock: Clock {
    private let offset = Atomic<Int64>(0)

    /// A clock that shows the real time until it is shifted.
    public init() {}

    public func now() -> Instant { SystemClock.now() + Interval(microseconds: offset.load(ordering: .relaxed)) }

    /// How far it is ahead of the machine's clock.
    public var shift: Interval { Interval(microseconds: offset.load(ordering: .relaxed)) }

    /// Moves it; an offset behind the present one is ignored, since time never goes back.
    public func shift(to interval: Interval) { offset.max(interval.microseconds, ordering: .relaxed) }
}
