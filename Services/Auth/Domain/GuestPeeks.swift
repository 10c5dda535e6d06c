public import Kernel

/// How often a guest may look at something today (AU-8). The day is a date in UTC: a guest has no zone.
public enum GuestPeeks {
    /// Peeks of one device on one date.
    public static let daily = 3
    /// Peeks of all devices at one client address on one date: who makes up device ids has no more of them.
    public static let dailyOfAddress = 15

    /// The date that counts at `now`.
    public static func date(_ now: Instant) -> CalendarDate { Zone.utc.date(at: now) }

    /// When the next date begins.
    public static func resetAt(_ now: Instant) -> Instant { Zone.utc.end(of: date(now)) }

    /// Peeks left.
    ///
    /// - Parameters:
    ///   - used: peeks on `usedOn`.
    ///   - usedOn: the date they were counted for.
    ///   - most: of one date.
    public static func remaining(used: Int, usedOn: CalendarDate, of most: Int = daily, now: Instant) -> Int {
        usedOn == date(now) ? max(0, most - used) : most
    }
}
