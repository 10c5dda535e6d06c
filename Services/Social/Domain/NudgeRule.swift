public import Kernel

/// When a friend may be nudged (SO-6).
public enum NudgeRule {
    /// How long after a nudge the same friend may be nudged again.
    public static let wait = Interval.hours(4)

    /// The streak of the two as it stands.
    public enum Streak: Hashable, Sendable {
        /// There is none that runs.
        case none
        /// It runs; the friend has posted today or not.
        case active(StreakID, friendPosted: Bool)
    }

    /// A nudge that may be sent.
    public struct Allowed: Hashable, Sendable {
        /// What the friend is reminded of.
        public let streak: StreakID
        /// When the friend may be nudged again.
        public let nextAt: Instant
    }

    /// - Parameters:
    ///   - areFriends: whether the two are friends now.
    ///   - last: when the same user nudged this friend last; nil for never.
    /// - Throws: `NOT_FOUND`, `STREAK_NOT_ACTIVE`, `FRIEND_ALREADY_POSTED`, `NUDGED_RECENTLY`.
    public static func check(areFriends: Bool, streak: Streak, last: Instant?, now: Instant) throws(ServiceError) -> Allowed {
        guard areFriends else { throw ServiceError.notFound("friend") }
        guard case .active(let id, let friendPosted) = streak else {
            throw ServiceError(.failedPrecondition, "STREAK_NOT_ACTIVE", "You have no running streak with this friend.")
        }
        guard !friendPosted else {
            throw ServiceError(.failedPrecondition, "FRIEND_ALREADY_POSTED", "Your friend has posted today.")
        }
        if let last, now < last + wait {
            throw ServiceError(
                .resourceExhausted,
                "NUDGED_RECENTLY",
                "A friend may be nudged once in 4 hours.",
                retryAfter: Int((last + wait - now).seconds) + 1
            )
        }
        return Allowed(streak: id, nextAt: now + wait)
    }
}
