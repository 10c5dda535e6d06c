public import Kernel

/// How long to wait before the next attempt: exponential back-off with full jitter (Brooker, AWS 2015), never less than the server asks for.
public enum RetryDelay {
    /// The longest delay before the first repeat.
    static let first = Interval.seconds(2)
    /// The longest delay of all.
    public static let longest = Interval.minutes(5)
    /// The longest that a server's `Retry-After` is followed.
    public static let mostAsked = Interval.hours(1)

    /// - Parameters:
    ///   - attempt: attempts so far, from 1.
    ///   - random: evenly in 0..<1.
    ///   - asked: what the server's `Retry-After` said; nil: nothing.
    public static func after(attempt: Int, random: Double, asked: Interval? = nil) -> Interval {
        let doublings = min(max(attempt, 1) - 1, 20)
        let ceiling = min(Double(first.microseconds) * Double(1 << doublings), Double(longest.microseconds))
        let jitter = Interval(microseconds: Int64(ceiling * min(max(random, 0), 1)))
        guard let asked, asked > .zero else { return jitter }
        // Not before that instant, and not all at once in it.
        return min(asked, mostAsked) + jitter
    }

    /// The value of a `Retry-After` header (RFC 9110, 10.2.3): seconds, or a date in the form of RFC 1123; nil for anything else.
    public static func asked(_ header: String, at now: Instant) -> Interval? {
        if let seconds = Int64(header), seconds >= 0 { return .seconds(seconds) }
        let parts = header.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]), let year = Int(parts[3]),
            let month = months.firstIndex(of: String(parts[2])), let date = CalendarDate(year: year, month: month + 1, day: day)
        else { return nil }
        let time = parts[4].split(separator: ":").compactMap { Int64($0) }
        guard time.count == 3, (0..<24).contains(time[0]), (0..<60).contains(time[1]), (0...60).contains(time[2]) else {
            return nil
        }
        let instant = Zone.utc.start(of: date) + .seconds(time[0] * 3_600 + time[1] * 60 + time[2])
        return max(.zero, instant - now)
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
}
