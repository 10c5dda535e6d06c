/// Schedules in words, for screens.
extension Schedule {
    private static let names = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// "Daily", "3x per week", "Every 2 days".
    public var text: String {
        switch self {
        case .daily: "Daily"
        case .weekdays(let days): Self.text(weekdays: days)
        case .everyNthDate(1, _): "Daily"
        case .everyNthDate(let step, _): "Every \(step) days"
        case .timesPerWeek(let times): "\(times)x per week"
        case .daysOfMonth(let days): "Monthly on \(days.sorted().map(String.init).joined(separator: ", "))"
        }
    }

    /// What may surprise: a day that a month does not have is not due in it (HA-9). nil for schedules that do not meet that.
    public var note: String? {
        guard case .daysOfMonth(let days) = self else { return nil }
        let late = days.filter { $0 > 28 }.sorted().map(String.init)
        switch late.count {
        case 0: return nil
        case 1: return "Day \(late[0]) is not due in months that do not have it."
        default:
            let list = late.dropLast().joined(separator: ", ") + " and " + (late.last ?? "")
            return "Days \(list) are not due in months that do not have them."
        }
    }

    private static func text(weekdays days: Set<Int>) -> String {
        switch days {
        case Set(0...6): "Daily"
        case Set(1...5): "Weekdays"
        case [0, 6]: "Weekends"
        default:
            // A week is read from Monday on.
            days.filter(names.indices.contains).sorted { ($0 + 6) % 7 < ($1 + 6) % 7 }.map { names[$0] }.joined(separator: ", ")
        }
    }
}
