/// A point in time, in whole microseconds since 1970-01-01T00:00:00Z (no leap seconds).
///
/// The only time type of domain code. PostgreSQL's `timestamptz` and RFC 3339 convert without loss. Arithmetic never traps: results
/// are clamped to the first and last instant (about 292,000 years either way).
public struct Instant: Hashable, Comparable, Sendable {
    /// Microseconds since the Unix epoch; negative before it.
    public let microseconds: Int64

    /// An instant from microseconds since the Unix epoch.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// An instant from whole seconds since the Unix epoch.
    public init(seconds: Int64) { self.microseconds = seconds.clampedProduct(with: 1_000_000) }

    /// An instant from milliseconds since the Unix epoch.
    public init(milliseconds: Int64) { self.microseconds = milliseconds.clampedProduct(with: 1_000) }

    /// Whole seconds since the Unix epoch, rounded down.
    public var seconds: Int64 { microseconds.flooredDivision(by: 1_000_000).quotient }

    /// Whole milliseconds since the Unix epoch, rounded down.
    public var milliseconds: Int64 { microseconds.flooredDivision(by: 1_000).quotient }

    public static func < (left: Instant, right: Instant) -> Bool { left.microseconds < right.microseconds }

    /// The instant `interval` later (earlier when negative).
    public static func + (left: Instant, interval: Interval) -> Instant {
        Instant(microseconds: left.microseconds.clampedSum(with: interval.microseconds))
    }

    /// The instant `interval` earlier.
    public static func - (left: Instant, interval: Interval) -> Instant {
        Instant(microseconds: left.microseconds.clampedDifference(minus: interval.microseconds))
    }

    /// The time from `right` to `left`.
    public static func - (left: Instant, right: Instant) -> Interval {
        Interval(microseconds: left.microseconds.clampedDifference(minus: right.microseconds))
    }

    /// 1970-01-01T00:00:00Z.
    public static let epoch = Instant(microseconds: 0)

    /// The instants that every format can hold: RFC 3339, `google.protobuf.Timestamp` and PostgreSQL all have the years 1 to 9999.
    public static let writable = Instant(seconds: -62_135_596_800)...Instant(microseconds: 253_402_300_799_999_999)
}

/// A length of time in whole microseconds; may be negative. Arithmetic never traps: results are clamped.
public struct Interval: Hashable, Comparable, Sendable {
    /// The length in microseconds.
    public let microseconds: Int64

    /// A length in microseconds.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// The length in whole seconds, rounded down.
    public var seconds: Int64 { microseconds.flooredDivision(by: 1_000_000).quotient }

    /// `count` milliseconds.
    public static func milliseconds(_ count: Int64) -> Interval { Interval(microseconds: count.clampedProduct(with: 1_000)) }
    /// `count` seconds.
    public static func seconds(_ count: Int64) -> Interval { Interval(microseconds: count.clampedProduct(with: 1_000_000)) }
    /// `count` minutes.
    public static func minutes(_ count: Int64) -> Interval { .seconds(count.clampedProduct(with: 60)) }
    /// `count` hours.
    public static func hours(_ count: Int64) -> Interval { .seconds(count.clampedProduct(with: 3_600)) }
    /// `count` days of 24 hours: never a calendar day (use `CalendarDate`).
    public static func days(_ count: Int64) -> Interval { .hours(count.clampedProduct(with: 24)) }
    /// No time at all.
    public static let zero = Interval(microseconds: 0)

    public static func < (left: Interval, right: Interval) -> Bool { left.microseconds < right.microseconds }

    /// The sum of two lengths.
    public static func + (left: Interval, right: Interval) -> Interval {
        Interval(microseconds: left.microseconds.clampedSum(with: right.microseconds))
    }

    /// The difference of two lengths; negative when the second is longer.
    public static func - (left: Interval, right: Interval) -> Interval {
        Interval(microseconds: left.microseconds.clampedDifference(minus: right.microseconds))
    }
}

extension Int64 {
    /// Division that rounds towards negative infinity, so that times before 1970 fall on the right date.
    func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    /// The sum, clamped to the range.
    func clampedSum(with other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (self < 0 ? .min : .max) : sum
    }

    /// The difference, clamped to the range.
    func clampedDifference(minus other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (self < 0 ? .min : .max) : difference
    }

    /// The product with a positive factor, clamped to the range.
    func clampedProduct(with factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? (self < 0 ? .min : .max) : product
    }
}
