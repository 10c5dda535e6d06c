package import StreaksAPI
package import StreaksDomain

/// A date of a habit as replies show it.
extension HabitSquare {
    /// - Parameter status: nil for a date without one.
    package init(_ status: HabitDay.Status?) {
        self =
            switch status {
            case nil: .none
            case .done: .done
            case .partial: .partial
            case .missed: .missed
            case .open: .open
            case .skipped: .skipped
            case .paused: .paused
            case .archived: .archived
            case .excused: .excused
            case .notDue: .notDue
            case .extra: .extra
            case .free: .free
            }
    }
}
