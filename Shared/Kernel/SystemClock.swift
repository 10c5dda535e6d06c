private import Glibc

/// The machine's clock. Deadlines, leases and log lines use it directly; product rules use a `Clock` (D8).
public struct SystemClock: Clock {
    /// The machine's clock.
    public init() {}

    public func now() -> Instant { Self.now() }

    /// The current instant of the machine's clock.
    public static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
    }
}
