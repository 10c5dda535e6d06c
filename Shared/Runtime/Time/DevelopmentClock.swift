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

    /// The last instant that it is moved to: 2100-01-01T00:00:00Z. Up to there the rules of time zones are tested, and what is worked out from
    /// the present (the end of a session, of a link, of an account) stays far from the year 9999, after which no time can be written.
    public static let latest = Instant(seconds: 4_102_444_800)
    /// No offset to `latest` is longer, whenever it was worked out: no machine's clock shows a time before 2025.
    static let longestShift = latest - Instant(seconds: 1_735_689_600)

    /// Moves it; an offset behind the present one is ignored, since time never goes back.
    ///
    /// - Returns: false for an offset that leads beyond `latest` whenever it is taken up; then it is not moved.
    @discardableResult
    public func shift(to interval: Interval) -> Bool {
        guard interval <= Self.longestShift else { return false }
        offset.max(interval.microseconds, ordering: .relaxed)
        return true
    }

    /// Shows in `/metrics` how far it is ahead: the same for every process of an environment.
    public func show(in metrics: Metrics) {
        metrics.measured("streaksnap_clock_offset_seconds", help: "How far the development clock is ahead.") { [self] in
            Double(shift.seconds)
        }
    }
}
