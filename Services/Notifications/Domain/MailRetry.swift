public import Kernel

/// When a mail that could not be handed over is tried again: a pause of any length up to a bound that doubles with each try, so that mails
/// which failed together do not come back together.
public enum MailRetry {
    /// Bound of the first pause.
    public static let first = Interval.seconds(15)
    /// Longest bound.
    public static let longest = Interval.hours(1)
    /// Tries without an answer after which a mail is given up: the server may have taken it each time.
    public static let unanswered = 2

    /// The pause after a try, from 1 s to the bound.
    ///
    /// - Parameters:
    ///   - tries: how many there were, at least 1.
    ///   - chance: any random number.
    public static func pause(after tries: Int, chance: UInt64) -> Interval {
        let doublings = Int64(min(max(0, tries - 1), 20))
        let bound = min(longest.microseconds, first.microseconds << doublings)
        return max(.seconds(1), Interval(microseconds: Int64(chance % UInt64(bound + 1))))
    }
}
