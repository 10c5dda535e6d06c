/// A user's time zone: an IANA name, or a fixed offset from older clients (AU-11).
///
/// The tz database supplies the offsets (`TimeZoneDatabase`); dates are found by arithmetic on day numbers. A newer database that is taken up
/// holds for the zones that there are, too.
public struct Zone: Hashable, Sendable, CustomStringConvertible {
    /// `Europe/Berlin`, `UTC`, or `+05:30` for a fixed offset.
    public let name: String
    private let rules: Rules

    private enum Rules: Sendable {
        case fixed(seconds: Int64)
        case named(ZoneRulesInUse)
    }

    /// Coordinated universal time.
    public static let utc = Zone(name: "UTC", rules: .fixed(seconds: 0))

    private init(name: String, rules: Rules) {
        self.name = name
        self.rules = rules
    }

    /// A zone by IANA name or `±hh:mm`; nil when the name is unknown.
    ///
    /// Safe for any text from a client: an unknown name reads no file (`TimeZoneDatabase`).
    public init?(_ name: String) {
        if name == "UTC" {
            self = .utc
        } else if let first = name.utf8.first, first == UInt8(ascii: "+") || first == UInt8(ascii: "-") {
            guard name.utf8.count == 6, let reference = Instant(rfc3339: "1970-01-02T00:00:00" + name) else { return nil }
            let seconds = 86_400 - reference.seconds
            guard abs(seconds) <= 14 * 3_600 else { return nil }
            self.init(name: name, rules: .fixed(seconds: seconds))
        } else {
            guard let rules = TimeZoneDatabase.system.rules(name) else { return nil }
            self.init(name: name, rules: .named(rules))
        }
    }

    /// A fixed offset in minutes east of UTC, -14 h … +14 h (AU-11 `timezone_offset`); nil outside.
    public init?(offsetMinutes: Int) {
        guard abs(offsetMinutes) <= 14 * 60 else { return nil }
        let size = abs(offsetMinutes)
        let text = "\(CalendarDate.padded(size / 60, 2)):\(CalendarDate.padded(size % 60, 2))"
        self.init((offsetMinutes < 0 ? "-" : "+") + text)
    }

    public var description: String { name }

    // The name decides the rules.
    public static func == (left: Zone, right: Zone) -> Bool { left.name == right.name }

    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// Seconds east of UTC at `instant`.
    public func offset(at instant: Instant) -> Interval {
        switch rules {
        case .fixed(let seconds): return .seconds(seconds)
        case .named(let rules): return .seconds(rules.current.offset(at: instant.seconds))
        }
    }

    /// The date a clock in this zone shows at `instant`.
    public func date(at instant: Instant) -> CalendarDate {
        let local = (instant + offset(at: instant)).seconds
        return CalendarDate(dayNumber: Int32(clamping: local.flooredDivision(by: 86_400).quotient))
    }

    /// Seconds since local midnight on the wall clock at `instant`, 0…86399.
    public func secondOfDay(at instant: Instant) -> Int64 {
        (instant + offset(at: instant)).seconds.flooredDivision(by: 86_400).remainder
    }

    /// The first instant at which a clock in this zone shows `date` or a later date.
    ///
    /// Usually midnight; 01:00 where midnight does not exist; the start of the next date where the date does not (SD-1, SD-3).
    /// Cached per zone and date.
    public func start(of date: CalendarDate) -> Instant {
        switch rules {
        case .fixed(let seconds): Instant(seconds: Int64(date.dayNumber) * 86_400 - seconds)
        case .named(let rules): Instant(seconds: rules.current.start(ofDay: date.dayNumber))
        }
    }

    /// The first instant at which a clock in this zone shows a date after `date`.
    public func end(of date: CalendarDate) -> Instant { start(of: date.advanced(by: 1)) }
}
