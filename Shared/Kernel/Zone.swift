private import Foundation
private import Synchronization

/// A person's time zone: an IANA name, or a fixed offset from older clients (AU-11).
///
/// Foundation supplies the offsets (it agrees with the system's tz database); dates are found by arithmetic on day numbers.
public struct Zone: Hashable, Sendable, CustomStringConvertible {
    /// `Europe/Berlin`, `UTC`, or `+05:30` for a fixed offset.
    public let name: String
    private let rules: Rules

    private enum Rules: Hashable, Sendable {
        case fixed(seconds: Int64)
        case named(TimeZone)
    }

    /// Coordinated universal time.
    public static let utc = Zone(name: "UTC", rules: .fixed(seconds: 0))

    private init(name: String, rules: Rules) {
        self.name = name
        self.rules = rules
    }

    /// A zone by IANA name or `±hh:mm`; nil when there is none of that name.
    public init?(_ name: String) {
        if name == "UTC" {
            self = .utc
        } else if let first = name.utf8.first, first == UInt8(ascii: "+") || first == UInt8(ascii: "-") {
            guard let reference = Instant(rfc3339: "1970-01-02T00:00:00" + name) else { return nil }
            let seconds = 86_400 - reference.seconds
            guard abs(seconds) <= 14 * 3_600 else { return nil }
            self.init(name: name, rules: .fixed(seconds: seconds))
        } else {
            // Foundation also accepts abbreviations, "GMT+5" and ICU's own names, and lists only some of the tz database's names
            // ("Asia/Calcutta", but not "Asia/Kolkata"): a name is one with a slash that it knows, or a listed one without.
            let isListed = Self.plainNames.contains(name)
            guard name.utf8.count <= 64, isListed || (name.utf8.contains(UInt8(ascii: "/")) && !name.hasPrefix("SystemV/")),
                let zone = TimeZone(identifier: name)
            else { return nil }
            self.init(name: name, rules: .named(zone))
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

    /// Seconds east of UTC at `instant`.
    public func offset(at instant: Instant) -> Interval {
        switch rules {
        case .fixed(let seconds): return .seconds(seconds)
        case .named(let zone):
            return .seconds(Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant.seconds)))))
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
        if case .fixed(let seconds) = rules { return Instant(seconds: Int64(date.dayNumber) * 86_400 - seconds) }
        let key = StartKey(zone: name, date: date)
        if let known = Self.starts.withLock({ $0[key] }) { return known }
        // Zones lie within 16 hours of UTC and only ever move by whole seconds: bisect on seconds.
        var before = Int64(date.dayNumber) * 86_400 - 16 * 3_600
        var after = Int64(date.dayNumber) * 86_400 + 40 * 3_600
        while after - before > 1 {
            let middle = (before + after) / 2
            if self.date(at: Instant(seconds: middle)) >= date { after = middle } else { before = middle }
        }
        // A clock set back just after midnight (St. John's until 2011) shows the date twice; the first time counts.
        let earlier = offset(at: Instant(seconds: after - 3 * 3_600)).seconds
        let midnight = Int64(date.dayNumber) * 86_400 - earlier
        if midnight < after, self.date(at: Instant(seconds: midnight)) >= date { after = midnight }
        let start = Instant(seconds: after)
        Self.starts.withLock { starts in
            if starts.count >= 50_000 { starts.removeAll(keepingCapacity: true) }
            starts[key] = start
        }
        return start
    }

    /// The first instant at which a clock in this zone shows a date after `date`.
    public func end(of date: CalendarDate) -> Instant { start(of: date.advanced(by: 1)) }

    private struct StartKey: Hashable {
        let zone: String
        let date: CalendarDate
    }

    private static let starts = Mutex<[StartKey: Instant]>([:])
    /// The tz database's names without a slash.
    private static let plainNames: Set<String> = [
        "CET", "CST6CDT", "Cuba", "EET", "EST", "EST5EDT", "Egypt", "Eire", "GB", "GB-Eire", "GMT", "GMT+0", "GMT-0", "GMT0",
        "Greenwich", "HST", "Hongkong", "Iceland", "Iran", "Israel", "Jamaica", "Japan", "Kwajalein", "Libya", "MET", "MST",
        "MST7MDT", "NZ", "NZ-CHAT", "Navajo", "PRC", "PST8PDT", "Poland", "Portugal", "ROC", "ROK", "Singapore", "Turkey", "UCT",
        "Universal", "W-SU", "WET", "Zulu",
    ]
}
