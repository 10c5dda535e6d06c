public import Kernel

/// The sums by day, kind, metric and bucket, and what is computed from them (TS-5).
public struct AnalyticsFigures: Sendable {
    /// One sum.
    public struct Sum: Hashable, Sendable {
        public let day: CalendarDate
        public let kind: StreakKind?
        public let metric: AnalyticsMetric
        public let bucket: Int32
        public let value: Int64

        public init(day: CalendarDate, kind: StreakKind?, _ metric: AnalyticsMetric, bucket: Int32, value: Int64) {
            (self.day, self.kind, self.metric, self.bucket, self.value) = (day, kind, metric, bucket, value)
        }
    }

    private struct Key: Hashable {
        let kind: StreakKind?
        let metric: AnalyticsMetric
    }

    /// By bucket, of each day in the range.
    private var days: [CalendarDate: [Key: [Int32: Int64]]] = [:]
    /// By bucket, of all days before the range.
    private var before: [Key: [Int32: Int64]] = [:]
    public let range: ClosedRange<CalendarDate>

    /// - Parameters:
    ///   - sums: those of days in the range; and of what lies before it, as sums of any earlier day.
    public init(_ sums: some Sequence<Sum>, range: ClosedRange<CalendarDate>) {
        self.range = range
        for sum in sums where sum.day <= range.upperBound {
            let key = Key(kind: sum.kind, metric: sum.metric)
            if sum.day < range.lowerBound {
                before[key, default: [:]][sum.bucket, default: 0] += sum.value
            } else {
                days[sum.day, default: [:]][key, default: [:]][sum.bucket, default: 0] += sum.value
            }
        }
    }

    /// The kinds that have any figure.
    public var kinds: [StreakKind] {
        let keys = Set(before.keys.compactMap(\.kind)).union(days.values.flatMap { $0.keys.compactMap(\.kind) })
        return StreakKind.counted.filter(keys.contains)
    }

    /// A day's sum over all buckets, or those of one.
    public func value(_ day: CalendarDate, _ kind: StreakKind?, _ metric: AnalyticsMetric, _ bucket: Int32? = nil) -> Int64 {
        Self.sum(days[day]?[Key(kind: kind, metric: metric)], bucket)
    }

    /// The sum over the days of the range.
    public func total(_ kind: StreakKind?, _ metric: AnalyticsMetric, _ bucket: Int32? = nil) -> Int64 {
        days.values.reduce(0) { $0 + Self.sum($1[Key(kind: kind, metric: metric)], bucket) }
    }

    /// The sum over all days up to the end of the range.
    public func ever(_ kind: StreakKind?, _ metric: AnalyticsMetric, _ bucket: Int32? = nil) -> Int64 {
        Self.sum(before[Key(kind: kind, metric: metric)], bucket) + total(kind, metric, bucket)
    }

    /// What a metric of changes came to at the end of each day of the range.
    public func levels(_ kind: StreakKind, _ metric: AnalyticsMetric, _ bucket: Int32? = nil) -> [Int64] {
        var level = Self.sum(before[Key(kind: kind, metric: metric)], bucket)
        return range.map { day in
            level += value(day, kind, metric, bucket)
            return level
        }
    }

    /// The buckets that a metric has by the end of the range, in order.
    public func buckets(_ kind: StreakKind?, _ metric: AnalyticsMetric) -> [Int32] {
        let key = Key(kind: kind, metric: metric)
        let all = days.values.reduce(into: Set(before[key]?.keys.map(\.self) ?? [])) {
            $0.formUnion($1[key]?.keys.map(\.self) ?? [])
        }
        return all.sorted()
    }

    private static func sum(_ buckets: [Int32: Int64]?, _ bucket: Int32?) -> Int64 {
        guard let buckets else { return 0 }
        return bucket.map { buckets[$0] ?? 0 } ?? buckets.values.reduce(0, +)
    }

    /// A share in percent with one decimal, rounded half up; nil of nothing.
    public static func percent(_ part: Int64, of whole: Int64) -> Double? {
        guard whole > 0 else { return nil }
        return Double((2_000 * part + whole) / (2 * whole)) / 10
    }

    /// A mean with two decimals, rounded half up; nil of nothing.
    public static func mean(_ sum: Int64, of count: Int64) -> Double? {
        guard count > 0 else { return nil }
        return Double((200 * sum + count) / (2 * count)) / 100
    }
}

extension StreakKind {
    /// The kinds that there are figures of, in the order they are shown.
    public static let counted: [StreakKind] = [.mutual] + solo + [.team]
}

/// Runs that started in one week (TS-5).
public struct AnalyticsCohort: Hashable, Sendable {
    /// The Monday.
    public let week: CalendarDate
    public let kind: StreakKind
    public let started: Int64
    /// Those that still ran so many days after their start, counted among those of which it is known.
    public let after: [Int: Int64]

    public init(week: CalendarDate, kind: StreakKind, started: Int64, after: [Int: Int64]) {
        (self.week, self.kind, self.started, self.after) = (week, kind, started, after)
    }

    public static let ages = [7, 30, 90]

    /// How many still ran at an age; nil while some of the week are younger. A run is that old when the date is over.
    public func running(after age: Int, today: CalendarDate) -> Int64? {
        week.advanced(by: 6 + age) < today ? after[age] : nil
    }
}
