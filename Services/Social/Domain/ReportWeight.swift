public import Kernel

/// How much a report of a post counts for hiding it (SO-8): accounts that are made for it, seconds old and with an address that is not theirs, hide
/// nothing. Moderators see each report, whatever it counts.
///
/// | account | counts |
/// |---|---|
/// | younger than a day, its address not confirmed | 0 |
/// | a day old, or its address confirmed | 1 |
/// | both | 2 |
public enum ReportWeight {
    /// What an account without either counts.
    public static let none: Int32 = 0
    private static let youth = Interval.days(1)

    /// - Parameters:
    ///   - reporter: its id says when the account was made.
    ///   - isVerified: whether the account's address is confirmed.
    public static func of(_ reporter: UserID, isVerified: Bool, now: Instant) -> Int32 {
        // UUIDv7 begins with milliseconds (RFC 9562 §5.7).
        let made = Instant(milliseconds: Int64(reporter.high >> 16))
        return (now - made >= youth ? 1 : 0) + (isVerified ? 1 : 0)
    }
}
