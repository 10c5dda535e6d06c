public import Kernel

/// Whether a post is shown, by its reports and what moderators decided (SO-8, SO-9).
public struct PostStanding: Hashable, Sendable {
    /// From so many distinct reporters on it is hidden.
    public static let hidingReports: Int32 = 3
    /// So much must their reports count together (`ReportWeight`).
    public static let hidingWeight: Int32 = 3
    /// So many posts of a user hidden within `oftenWithin` are often: moderators are to look at the user.
    public static let often = 3
    /// The time in which they count.
    public static let oftenWithin = Interval.days(90)

    /// Whether others see it; the raw values are stored.
    public enum Visibility: Int16, Hashable, Sendable, CaseIterable {
        case shown = 1
        case hidden = 2
        /// It is deleted, for good.
        case removed = 3
    }

    /// Whether others see it.
    public private(set) var visibility: Visibility
    /// Grows with every change.
    public private(set) var version: Int64
    /// Since when it is hidden or removed; nil while it is shown.
    public private(set) var hiddenAt: Instant?

    /// One as it is stored; by default of a post that was never hidden.
    public init(visibility: Visibility = .shown, version: Int64 = 0, hiddenAt: Instant? = nil) {
        (self.visibility, self.version, self.hiddenAt) = (visibility, version, hiddenAt)
    }

    /// A user has reported the post.
    ///
    /// - Parameters:
    ///   - reporters: distinct users who did since moderators last decided about it, this one included; never its author.
    ///   - weight: what their reports count together.
    public mutating func reported(reporters: Int32, weight: Int32, now: Instant) {
        guard reporters >= Self.hidingReports, weight >= Self.hidingWeight, visibility == .shown else { return }
        become(.hidden, now)
    }

    /// Moderators have decided about a report of it. A dismissal shows it again; `remove` deletes it; what is done to its author for it keeps it
    /// hidden.
    public mutating func decided(_ action: Moderation.Action, now: Instant) {
        switch action {
        case .dismiss: become(.shown, now)
        case .remove: become(.removed, now)
        case .warn, .suspend, .ban: become(.hidden, now)
        }
    }

    private mutating func become(_ next: Visibility, _ now: Instant) {
        guard next != visibility, visibility != .removed else { return }
        if next == .shown { hiddenAt = nil } else if hiddenAt == nil { hiddenAt = now }
        visibility = next
        version += 1
    }
}
