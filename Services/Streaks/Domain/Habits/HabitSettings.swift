public import Kernel

/// What a user has chosen for the app (HA-1): stored for the person, so that it is the same on every device.
public struct HabitSettings: Hashable, Sendable {
    public enum Theme: String, Hashable, Sendable, CaseIterable {
        case light, dark, auto
    }

    /// 0 = Sunday … 6. Weeks of weekly habits and of calendars begin with it; changing it makes versions (HA-10).
    public var firstDayOfWeek: Int
    public var theme: Theme
    public var accentColor: String
    public var haptics: Bool
    public var animations: Bool
    public var onboarded: Bool
    /// What new habits are offered for their reminder, in minutes after midnight.
    public var reminderMinute: Int?

    public init(
        firstDayOfWeek: Int = 1,
        theme: Theme = .auto,
        accentColor: String = HabitDetails.standardColor,
        haptics: Bool = true,
        animations: Bool = true,
        onboarded: Bool = false,
        reminderMinute: Int? = nil
    ) {
        (self.firstDayOfWeek, self.theme, self.accentColor) = (firstDayOfWeek, theme, accentColor)
        (self.haptics, self.animations, self.onboarded) = (haptics, animations, onboarded)
        self.reminderMinute = reminderMinute
    }

    /// - Throws: `VALIDATION_ERROR` naming the field that is out of its bounds.
    public mutating func validate() throws(ServiceError) {
        guard (0...6).contains(firstDayOfWeek) else { throw .validation(field: "first_day_of_week", "must be between 0 and 6") }
        accentColor = try HabitText.color(accentColor, field: "accent_color")
        if let reminderMinute, !(0..<1440).contains(reminderMinute) {
            throw .validation(field: "daily_reminder_time", "must be between 00:00 and 23:59")
        }
    }
}
