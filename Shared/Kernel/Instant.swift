/// A point in time, in whole microseconds since 1970-01-01T00:00:00Z (no leap seconds).
///
/// The one time type of domain code: PostgreSQL's `timestamptz` and RFC 3339 both convert without loss.
public struct Instant: Hashable, Comparable, Sendable {
    /// Microseconds since the Unix epoch; negative before it.
    public let microseconds: Int64

    /// An instant from microseconds since the Unix epoch.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// An instant from whole seconds since the Unix epoch.
    public init(seconds: Int64) { self.microseconds = seconds * 1_000_000 }

    /// An instant from milliseconds since the Unix epoch.
    public init(milliseconds: Int64) { self.microseconds = milliseconds * 1_000 }

    /// Whole seconds since the Unix epoch, rounded down.
    public var seconds: Int64 { microseconds.flooredDivision(by: 1_000_000).quotient }

    /// Whole milliseconds since the Unix epoch, rounded down.
    public var milliseconds: Int64 { microseconds.flooredDivision(by: 1_000).quotient }

    public static func < (left: Instant, right: Instant) -> Bool { left.microseconds < right.microseconds }

    /// The instant `interval` later (earlier when negative).
    public static func + (left: Instant, interval: Interval) -> Instant {
        Instant(microseconds: left.microseconds + interval.microseconds)
    }

    /// The instant `interval` earlier.
    public static func - (left: Instant, interval: Interval) -> Instant {
        Instant(microseconds: left.microseconds - interval.microseconds)
    }

    /// The time from `right` to `left`.
    public static func - (left: Instant, right: Instant) -> Interval {
        Interval(microseconds: left.microseconds - right.microseconds)
    }

    /// 1970-01-01T00:00:00Z.
    public static let epoch = Instant(microseconds: 0)
}

/// A length of time in whole microseconds; may be negative.
public struct Interval: Hashable, Comparable, Sendable {
    /// The length in microseconds.
    public let microseconds: Int64

    /// A length in microseconds.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// The length in whole seconds, rounded down.
    public var seconds: Int64 { microseconds.flooredDivision(by: 1_000_000).quotient }

    /// `count` milliseconds.
    public static func milliseconds(_ count: Int64) -> Interval { Interval(microseconds: count * 1_000) }
    /// `count` seconds.
    public static func seconds(_ count: Int64) -> Interval { Interval(microseconds: count * 1_000_000) }
    /// `count` minutes.
    public static func minutes(_ count: Int64) -> Interval { .seconds(count * 60) }
    /// `count` hours.
    public static func hours(_ count: Int64) -> Interval { .seconds(count * 3_600) }
    /// `count` days of 24 hours: never a calendar day (use `CalendarDate`).
    public static func days(_ count: Int64) -> Interval { .hours(count * 24) }
    /// No time at all.
    public static let zero = Interval(microseconds: 0)

    public static func < (left: Interval, right: Interval) -> Bool { left.microseconds < right.microseconds }

    /// The sum of two lengths.
    public static func + (left: Interval, right: Interval) -> Interval {
        Interval(microseconds: left.microseconds + right.microseconds)
    }

    /// The difference of two lengths; negative when the second is longer.
    public static func - (left: Interval, right: Interval) -> Interval {
        Interval(microseconds: left.microseconds - right.microseconds)
    }
}

extension Int64 {
    /// Division that rounds towards negative infinity, so that times before 1970 fall on the right date.
    func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
