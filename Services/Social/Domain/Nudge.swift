public import Kernel

/// When a friend may be nudged (SO-6).
public enum Nudge {
    /// How long after a nudge the same friend may be nudged again.
    public static let wait = Interval.hours(4)

    /// The streak of the two as it stands.
    public enum Streak: Hashable, Sendable {
        /// There is none that runs.
        case none
        /// It runs; the friend has posted today or not.
        case active(friendPosted: Bool)
    }

    /// - Parameters:
    ///   - areFriends: whether the two are friends now.
    ///   - last: when this friend was nudged last by the same person; nil for never.
    /// - Returns: when the friend may be nudged again.
    /// - Throws: `NOT_FOUND`, `STREAK_NOT_ACTIVE`, `FRIEND_ALREADY_POSTED`, `NUDGED_RECENTLY`.
    public static func check(areFriends: Bool, streak: Streak, last: Instant?, now: Instant) throws(ServiceError) -> Instant {
        guard areFriends else { throw ServiceError.notFound("friend") }
        switch streak {
        case .none: throw ServiceError(.failedPrecondition, "STREAK_NOT_ACTIVE", "You have no running streak with this friend.")
        case .active(friendPosted: true):
            throw ServiceError(.failedPrecondition, "FRIEND_ALREADY_POSTED", "Your friend has posted today.")
        case .active(friendPosted: false): break
        }
        if let last, now < last + wait {
            throw ServiceError(
                .resourceExhausted,
                "NUDGED_RECENTLY",
                "A friend may be nudged once in 4 hours.",
                retryAfter: Int((last + wait - now).seconds) + 1
            )
        }
        return now + wait
    }
}
