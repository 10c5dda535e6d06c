public import Kernel

/// At most so many of something within a span of time, wherever the span begins.
public struct SlidingWindow: Hashable, Sendable {
    /// The length of the span.
    public let length: Interval
    /// How many fit.
    public let most: Int

    /// A limit.
    public init(_ most: Int, within length: Interval) { (self.most, self.length) = (most, length) }

    /// In how many whole seconds there is room for one more; nil when there is now.
    ///
    /// - Parameter past: when the earlier ones were, in any order.
    public func wait(after past: [Instant], now: Instant) -> Int? {
        let recent = recent(past, now: now)
        guard recent.count >= most else { return nil }
        // With the window sliding, the one that has to leave it makes room.
        let leaves = recent[recent.count - most] + length
        return max(1, Int((leaves - now).microseconds / 1_000_000) + 1)
    }

    /// What to store after one more at `now`; what left the window is dropped.
    public func adding(to past: [Instant], now: Instant) -> [Instant] { (recent(past, now: now) + [now]).sorted() }

    private func recent(_ past: [Instant], now: Instant) -> [Instant] { past.filter { $0 > now - length }.sorted() }
}

/// How many mails a caller may have sent (AU-13), so that no mailbox can be flooded.
public enum MailLimit {
    /// Mails that callers ask for, to one address; also all mails to an address whose owner has not confirmed it.
    public static let mailbox = SlidingWindow(5, within: .hours(1))
    /// Mails that one account asks for, to whatever addresses.
    public static let account = SlidingWindow(10, within: .hours(1))
    /// Registrations, and mails that are asked for without signing in or by an account whose address is not confirmed, from one client address;
    /// nil: no limit.
    ///
    /// - Parameter most: within an hour; 0 for no limit.
    public static func client(_ most: Int) -> SlidingWindow? { most > 0 ? SlidingWindow(most, within: .hours(1)) : nil }
}

/// How many registrations there may be in all, so that a flood from many addresses ends. Counted by minute: a row for each of many
/// thousand would be read by each.
public enum RegistrationLimit {
    /// The length of the window.
    public static let window = Interval.hours(1)

    /// The minute that counts at `now`.
    public static func minute(_ now: Instant) -> Instant {
        Instant(microseconds: now.microseconds - now.microseconds % 60_000_000)
    }

    /// In how many seconds there is room; nil when there is.
    ///
    /// - Parameters:
    ///   - counts: of each minute of the window, the oldest first, this registration included.
    ///   - most: within the window.
    public static func wait(_ counts: [(minute: Instant, asked: Int)], most: Int, now: Instant) -> Int? {
        var excess = counts.reduce(0) { $0 + $1.asked } - most
        guard excess > 0 else { return nil }
        for (minute, asked) in counts {
            excess -= asked
            if excess <= 0 { return max(1, Int((minute + window - now).seconds) + 1) }
        }
        return Int(window.seconds)
    }
}
