public import Kernel

/// What the ledger of a habit has besides that of other kinds. All of it is rows of the feature; the fold reads nothing else.
public struct HabitEntries: Hashable, Sendable {
    /// Schedule, target and week start as they hold from a date on, until the next version does (HA-10).
    public struct Version: Hashable, Sendable {
        /// The first date. The first version holds for the dates before it too: a start may move back (HA-11).
        public var from: CalendarDate
        public var schedule: Schedule
        /// What the values of a date must reach; nil: one completion is enough (HA-8).
        public var target: Amount?
        /// The weekday that weeks begin with, 0 = Sunday … 6.
        public var weekStart: Int

        public init(from: CalendarDate, schedule: Schedule, target: Amount? = nil, weekStart: Int = 1) {
            (self.from, self.schedule, self.target, self.weekStart) = (from, schedule, target, weekStart)
        }
    }

    /// A time in the archive (HA-13).
    public struct Archiving: Hashable, Sendable {
        public var from: CalendarDate
        /// The first date that counts again; nil: archived still.
        public var until: CalendarDate?

        public init(from: CalendarDate, until: CalendarDate? = nil) { (self.from, self.until) = (from, until) }

        func contains(_ date: CalendarDate) -> Bool { from <= date && until.map { date < $0 } ?? true }
    }

    /// A milestone that was reported (HA-11).
    public struct Reported: Hashable, Sendable {
        public var count: Int
        public var unit: Schedule.Unit
        /// The date that brought the count; of weeks the last one.
        public var date: CalendarDate

        public init(count: Int, unit: Schedule.Unit, date: CalendarDate) {
            (self.count, self.unit, self.date) = (count, unit, date)
        }
    }

    /// In order of their first dates, at least one.
    public internal(set) var versions: [Version]
    /// Skipped dates.
    public internal(set) var skips: Set<CalendarDate>
    /// In time order; only the last may be open.
    public internal(set) var archivings: [Archiving]
    /// In the order they were reported.
    public internal(set) var reported: [Reported]
    /// The date of the earliest completion, when it lies before the creation (HA-11). Store it: a ledger that begins with a checkpoint
    /// cannot find it again.
    public internal(set) var startsOn: CalendarDate?

    /// A habit from its rows.
    ///
    /// - Parameters:
    ///   - version: the earliest version.
    ///   - later: the others, in any order.
    public init(
        _ version: Version,
        later: [Version] = [],
        skips: Set<CalendarDate> = [],
        archivings: [Archiving] = [],
        reported: [Reported] = [],
        startsOn: CalendarDate? = nil
    ) {
        versions = ([version] + later).sorted { $0.from < $1.from }
        self.skips = skips
        self.archivings = archivings.sorted { $0.from < $1.from }
        self.reported = reported
        self.startsOn = startsOn
    }

    /// It goes into the archive (HA-13). Nothing happens when it is there.
    public mutating func archive(from date: CalendarDate) {
        if !isArchived { archivings.append(Archiving(from: date)) }
    }

    func isArchived(_ date: CalendarDate) -> Bool { archivings.contains { $0.contains(date) } }

    /// Whether it is in the archive now.
    public var isArchived: Bool { archivings.last.map { $0.until == nil } ?? false }
}

/// What was done of a habit on a date: a decimal above 0 with at most 3 places, at most 10⁹.
///
/// Kept in thousandths, so that 0.1 + 0.2 reaches 0.3.
public struct Amount: Hashable, Comparable, Sendable {
    /// Sums may be 0 or exceed what one completion may have.
    public let thousandths: Int64

    /// The largest value of one completion or target.
    public static let largest = Amount(thousandths: 1_000_000_000_000)
    /// Nothing.
    public static let zero = Amount(thousandths: 0)

    public init(thousandths: Int64) { self.thousandths = thousandths }

    /// A value or target from a request.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field` when it is not above 0, has more than 3 places, exceeds 10⁹ or is no number.
    public init(_ value: Double, field: String) throws(ServiceError) {
        guard value.isFinite, value > 0, value <= 1e9 else {
            throw .validation(field: field, "Please enter a valid number")
        }
        let thousandths = Int64((value * 1000).rounded())
        // The nearest number with 3 places must be the one that was meant.
        guard thousandths > 0, Double(thousandths) / 1000 == value else {
            throw .validation(field: field, "must have at most 3 decimal places")
        }
        self.init(thousandths: thousandths)
    }

    /// As a number of JSON.
    public var value: Double { Double(thousandths) / 1000 }

    public static func < (left: Self, right: Self) -> Bool { left.thousandths < right.thousandths }
    public static func + (left: Self, right: Self) -> Self { Self(thousandths: left.thousandths + right.thousandths) }
    public static func - (left: Self, right: Self) -> Self { Self(thousandths: left.thousandths - right.thousandths) }
}
