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

    /// The last instant that it is moved to: 9999-12-31T23:59:59.999999Z. Later ones can neither be sent nor shown.
    public static let latest = Instant.writable.upperBound
    /// No offset to `latest` is longer, whenever it was worked out.
    static let longestShift = latest - .epoch

    /// Moves it; an offset behind the present one is ignored, since time never goes back.
    ///
    /// - Returns: false for an offset that leads beyond `latest` at any time; then it is not moved.
    @discardableResult
    public func shift(to interval: Interval) -> Bool {
        guard interval <= Self.longestShift else { return false }
        offset.max(interval.microseconds, ordering: .relaxed)
        return true
    }
}
