internal import Kernel
private import Synchronization

/// Dates as HTTP writes them (RFC 9110 §5.6.7).
public enum HTTPDate {
    private static let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let present = Mutex((second: Int64.min, text: ""))

    /// The value of `Date`: `Sun, 06 Nov 1994 08:49:37 GMT`. Made once a second.
    public static func now() -> String {
        let instant = SystemClock.now()
        return present.withLock { present in
            if present.second != instant.seconds { present = (instant.seconds, text(instant)) }
            return present.text
        }
    }

    static func text(_ instant: Instant) -> String {
        let second = ((instant.seconds % 86_400) + 86_400) % 86_400
        let date = CalendarDate(dayNumber: Int32(clamping: (instant.seconds - second) / 86_400))
        let (year, month, day) = date.components
        let time = [second / 3_600, second / 60 % 60, second % 60].map { padded(Int($0), 2) }.joined(separator: ":")
        return "\(days[date.isoWeekday - 1]), \(padded(day, 2)) \(months[month - 1]) \(padded(year, 4)) \(time) GMT"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
