public import Kernel

/// A streak's calendar as a file (RFC 4180, RFC 5545).
public struct CalendarFile: Sendable {
    public struct Day: Sendable {
        public let date: CalendarDate
        /// complete, covered, neutral, …
        public let mark: String

        public init(_ date: CalendarDate, _ mark: String) { (self.date, self.mark) = (date, mark) }
    }

    public let type: TypedType
    /// Oldest first.
    public let days: [Day]

    public init(_ type: TypedType, _ days: [Day]) { (self.type, self.days) = (type, days) }

    /// A header and a line for each date.
    public var csv: String {
        (["type,date,mark"] + days.map { "\(type.kind.typeName),\($0.date),\($0.mark)" }).map { $0 + "\r\n" }.joined()
    }

    /// An all-day event for each date that something became of.
    ///
    /// - Parameters:
    ///   - owner: makes the events' ids unique: the streak's id.
    ///   - now: when the file is made.
    public func iCalendar(owner: String, now: Instant) -> String {
        let stamp = now.description.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
        var lines = [
            "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//StreakSnap//Streaks//EN", "CALSCALE:GREGORIAN",
            "X-WR-CALNAME:\(type.displayName)",
        ]
        for day in days where day.mark != "none" && day.mark != "open" {
            lines += [
                "BEGIN:VEVENT", "UID:\(owner)-\(day.date)@streaksnap", "DTSTAMP:\(stamp)",
                "DTSTART;VALUE=DATE:\(Self.basic(day.date))",
                "DTEND;VALUE=DATE:\(Self.basic(day.date.advanced(by: 1)))",
                "SUMMARY:\(type.icon) \(type.displayName): \(day.mark)",
                "TRANSP:TRANSPARENT", "END:VEVENT",
            ]
        }
        lines.append("END:VCALENDAR")
        return lines.map { Self.folded($0) + "\r\n" }.joined()
    }

    private static func basic(_ date: CalendarDate) -> String { date.description.filter { $0 != "-" } }

    /// Lines have at most 75 bytes; what follows begins with a space.
    private static func folded(_ line: String) -> String {
        var (text, bytes) = ("", 0)
        for character in line {
            let size = character.utf8.count
            if bytes + size > 75 {
                text += "\r\n "
                bytes = 1
            }
            text.append(character)
            bytes += size
        }
        return text
    }
}
