public import Kernel

/// Who may see what of a date that both can post for (PH-4).
public enum MutualReveal {
    /// Whether a friend's snap of a date is kept from the reader: the reader has not posted for it and still can.
    ///
    /// - Parameter openFrom: the earliest date the reader could still post for; nil when there is none any more.
    public static func isLocked(
        _ date: CalendarDate,
        youPosted: Bool,
        friendPosted: Bool,
        openFrom: CalendarDate?
    ) -> Bool {
        guard friendPosted, !youPosted, let openFrom else { return false }
        return date >= openFrom
    }
}
