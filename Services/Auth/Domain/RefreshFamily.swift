public import Kernel

/// The refresh tokens of one session: each is used once, and using an old one again is theft (AU-4).
public enum RefreshFamily {
    /// How long a refresh token lives.
    public static let lifetime = Interval.days(7)
    /// How long the token just used still gives the same successor: the reply may have been lost.
    public static let lostReplyGrace = Interval.seconds(10)

    /// What is known of a presented token and its session.
    public struct Presented: Hashable, Sendable {
        /// Its place in the family, from 0.
        public var generation: Int
        /// The newest place in the family.
        public var newestGeneration: Int
        /// When it was exchanged; nil when it never was.
        public var usedAt: Instant?
        /// When it stops being valid.
        public var expiresAt: Instant
        /// Whether the session was ended.
        public var isRevoked: Bool

        /// What the store knows.
        public init(generation: Int, newestGeneration: Int, usedAt: Instant?, expiresAt: Instant, isRevoked: Bool) {
            self.generation = generation
            self.newestGeneration = newestGeneration
            self.usedAt = usedAt
            self.expiresAt = expiresAt
            self.isRevoked = isRevoked
        }
    }

    /// What to do with it.
    public enum Decision: Hashable, Sendable {
        /// First use: make the next generation.
        case rotate
        /// The lost-reply rule: give the successor again, unchanged.
        case repeatSuccessor
        /// Too old, or of an ended session.
        case refuse
        /// A used token came back: end the session.
        case revokeFamily
    }

    /// Decides. A token whose session is ended is refused, never "stolen" again.
    public static func decide(_ token: Presented, now: Instant) -> Decision {
        if token.isRevoked || token.expiresAt <= now { return .refuse }
        guard let usedAt = token.usedAt else { return .rotate }
        let isPreceding = token.generation == token.newestGeneration - 1
        return isPreceding && now - usedAt <= lostReplyGrace ? .repeatSuccessor : .revokeFamily
    }
}
