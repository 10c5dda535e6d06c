public import Kernel

/// How high a post stands in a ranked list (PL-2): votes count by their order of magnitude, and 12.5 hours weigh as much as ten times the
/// votes. The score of a post changes with its votes only, never by waiting, so that an index holds it.
public enum PostScore {
    /// The seconds that weigh as much as ten times the votes.
    public static let decay = 45_000.0

    /// sign(s)·log₁₀(max(1, |s|)) + t / 45,000 with s = up − down.
    ///
    /// - Parameter received: when the server received the post: t is its time in seconds, with fractions.
    public static func value(up: Int64, down: Int64, received: Instant) -> Double {
        // As a Double before the difference, which could overflow; votes are exact in it up to 2⁵³.
        let sum = Double(up) - Double(down)
        let votes = Functions.log10(max(1, abs(sum)))
        let seconds = Double(received.microseconds) / 1_000_000
        return (sum < 0 ? -votes : votes) + seconds / decay
    }
}
