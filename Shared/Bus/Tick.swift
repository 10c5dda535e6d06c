internal import Dispatch
internal import Kernel

/// A point on the monotonic clock, in nanoseconds. Local waits use it, so that setting the wall clock neither fires nor extends a
/// deadline.
struct Tick: Hashable, Comparable, Sendable {
    /// Nanoseconds of uptime.
    let nanoseconds: UInt64

    static func now() -> Tick { Tick(nanoseconds: DispatchTime.now().uptimeNanoseconds) }
    static let never = Tick(nanoseconds: .max)

    /// The tick at which the wall clock will show `deadline`, rounded up to 10 ms so that deadlines of a busy second share
    /// their wake-ups.
    init(deadline: Instant) {
        let remaining = max(0, (deadline - SystemClock.now()).microseconds)
        let (exact, overflow) = UInt64(remaining).multipliedReportingOverflow(by: 1_000)
        let due = overflow ? UInt64.max / 4 : min(exact, UInt64.max / 4) + Tick.now().nanoseconds
        self.nanoseconds = (due / Self.grain + 1) * Self.grain
    }

    init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    static func < (left: Tick, right: Tick) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The tick `interval` later.
    static func + (left: Tick, interval: Interval) -> Tick {
        Tick(nanoseconds: left.nanoseconds &+ UInt64(max(0, interval.microseconds)) &* 1_000)
    }

    /// The time from `right` to `left`; zero when `right` is later.
    static func - (left: Tick, right: Tick) -> Duration {
        .nanoseconds(left.nanoseconds >= right.nanoseconds ? Int64(clamping: left.nanoseconds - right.nanoseconds) : 0)
    }

    private static let grain: UInt64 = 10_000_000
}
