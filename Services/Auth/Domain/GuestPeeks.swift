public import Kernel

/// How often a guest may look at something today (AU-8). The day is a date in UTC: a guest has no zone.
public enum GuestPeeks {
    /// Peeks of one device on one date.
    public static let daily = 3

    /// The date that counts at `now`.
    public static func date(_ now: Instant) -> CalendarDate { Zone.utc.date(at: now) }

    /// When the next date begins.
    public static func resetAt(_ now: Instant) -> Instant { Zone.utc.end(of: date(now)) }

    /// Peeks left.
    ///
    /// - Parameters:
    ///   - used: peeks on `usedOn`.
    ///   - usedOn: the date they were counted for.
    public static func remaining(used: Int, usedOn: CalendarDate, now: Instant) -> Int {
        usedOn == date(now) ? max(0, daily - used) : daily
    }
}
