public import Kernel

/// The refresh tokens of one session: each is exchanged once, and using an old one again is theft (AU-4).
///
/// Only the parent of the newest token, as long as that one was never used, gives that same one again, whatever the time: the reply may have been
/// lost, and a phone may ask again much later.
public enum RefreshFamily {
    /// How many days a session may go on after its last use; what `auth.session-days` may say.
    public static let days = 1...400

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
        /// When its session ends, as the newest token does.
        public var sessionExpiresAt: Instant
        /// Whether the session was ended.
        public var isRevoked: Bool

        /// What the store knows.
        public init(
            generation: Int,
            newestGeneration: Int,
            usedAt: Instant?,
            expiresAt: Instant,
            sessionExpiresAt: Instant,
            isRevoked: Bool
        ) {
            self.generation = generation
            self.newestGeneration = newestGeneration
            self.usedAt = usedAt
            self.expiresAt = expiresAt
            self.sessionExpiresAt = sessionExpiresAt
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
        if token.isRevoked { return .refuse }
        // The newest token was never used: its use would have made a newer one. Its parent is good for as long as it is.
        if token.usedAt != nil, token.generation == token.newestGeneration - 1 {
            return now < token.sessionExpiresAt ? .repeatSuccessor : .refuse
        }
        if token.expiresAt <= now { return .refuse }
        return token.usedAt == nil ? .rotate : .revokeFamily
    }
}
