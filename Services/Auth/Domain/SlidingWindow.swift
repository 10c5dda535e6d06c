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
    /// Mails that are asked for without signing in, from one client address.
    public static let client = SlidingWindow(30, within: .hours(1))
}
