internal import Kernel

/// How dates and counts read in messages.
enum CheckInWords {
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
    ]

    /// `October 30`.
    static func day(_ date: CalendarDate) -> String {
        let (_, month, day) = date.components
        return "\(months[month - 1]) \(day)"
    }

    /// `1 Streak Freeze`, `5 Streak Freezes`.
    static func freezes(_ count: Int) -> String { "\(count) Streak Freeze\(count == 1 ? "" : "s")" }
}
