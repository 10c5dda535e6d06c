public import Kernel

/// What a habit is, beside its schedule and target, which the ledger has as dated versions (HA-1).
public struct HabitDetails: Hashable, Sendable {
    /// 1…50 characters (grapheme clusters), trimmed.
    public var name: String
    /// At most 200 characters.
    public var description: String
    /// `#RRGGBB`, in capitals.
    public var color: String
    /// The name of an icon of the app.
    public var icon: String
    public var category: HabitCategoryID?
    /// What the target counts: pages, minutes. At most 20 characters.
    public var unit: String
    /// nil: it reminds of nothing.
    public var reminder: HabitReminderTime?

    /// The mark of a habit for which no color or icon was chosen.
    public static let standardColor = HabitPalette.colors[0]
    public static let standardIcon = HabitPalette.icons[0]

    /// - Throws: `VALIDATION_ERROR` with an entry for each field that is out of its bounds.
    public init(
        name: String,
        description: String = "",
        color: String = Self.standardColor,
        icon: String = Self.standardIcon,
        category: HabitCategoryID? = nil,
        unit: String = "",
        reminder: HabitReminderTime? = nil
    ) throws(ServiceError) {
        self.name = try HabitText.name(name, field: "name", most: 50)
        self.description = try HabitText.text(description, field: "description", most: 200)
        self.color = try HabitText.color(color, field: "color")
        self.icon = try HabitText.icon(icon, field: "icon")
        self.category = category
        self.unit = try HabitText.line(unit, field: "unit", most: 20)
        self.reminder = reminder
    }

    /// As it is stored.
    public init(
        storedName name: String,
        description: String,
        color: String,
        icon: String,
        category: HabitCategoryID?,
        unit: String,
        reminder: HabitReminderTime?
    ) {
        (self.name, self.description, self.color, self.icon) = (name, description, color, icon)
        (self.category, self.unit, self.reminder) = (category, unit, reminder)
    }

    /// Whether it has a color or an icon that only premium users may choose (HA-17).
    public var isPremium: Bool { !HabitPalette.colors.contains(color) || !HabitPalette.icons.contains(icon) }
}

/// When a habit reminds of itself (HA-1).
public struct HabitReminderTime: Hashable, Sendable {
    /// Minutes after midnight by the user's clock, 0…1439.
    public var minute: Int
    /// 0 = Sunday … 6; nil: the dates on which it is due.
    public var days: Set<Int>?

    /// - Throws: `VALIDATION_ERROR` naming `reminder_days` or `reminder_time`.
    public init(minute: Int, days: Set<Int>? = nil) throws(ServiceError) {
        guard (0..<1440).contains(minute) else { throw .validation(field: "reminder_time", "must be between 00:00 and 23:59") }
        if let days {
            guard !days.isEmpty, days.allSatisfy((0...6).contains) else {
                throw .validation(field: "reminder_days", "must be weekdays from 0 (Sunday) to 6, at least one")
            }
        }
        (self.minute, self.days) = (minute, days)
    }

    /// As it is stored.
    public init(storedMinute minute: Int, days: Set<Int>?) { (self.minute, self.days) = (minute, days) }

    /// The minutes after midnight of `HH:MM`.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field`.
    public static func minute(_ text: String, field: String) throws(ServiceError) -> Int {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy { (48...57).contains($0) } }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), hour < 24, minute < 60
        else { throw .validation(field: field, "must be a time like 08:30") }
        return hour * 60 + minute
    }

    /// `HH:MM`.
    public static func text(_ minute: Int) -> String {
        let (hour, rest) = minute.quotientAndRemainder(dividingBy: 60)
        return "\(hour < 10 ? "0" : "")\(hour):\(rest < 10 ? "0" : "")\(rest)"
    }
}

/// A category of a user's habits.
public struct HabitCategoryDetails: Hashable, Sendable {
    /// 1…30 characters (grapheme clusters), trimmed (HA-19).
    public var name: String
    public var color: String
    public var icon: String

    /// - Throws: `VALIDATION_ERROR`.
    public init(
        name: String,
        color: String = HabitDetails.standardColor,
        icon: String = HabitDetails.standardIcon
    )
        throws(ServiceError)
    {
        self.name = try HabitText.name(name, field: "name", most: 30)
        self.color = try HabitText.color(color, field: "color")
        self.icon = try HabitText.icon(icon, field: "icon")
    }

    /// As it is stored.
    public init(storedName name: String, color: String, icon: String) {
        (self.name, self.color, self.icon) = (name, color, icon)
    }

    /// What each user has from the start (HA-19).
    public static let defaults: [HabitCategoryDetails] = [
        HabitCategoryDetails(storedName: "Activity", color: "#F43F5E", icon: "barbell"),
        HabitCategoryDetails(storedName: "Health", color: "#10B981", icon: "heart"),
        HabitCategoryDetails(storedName: "Work", color: "#6366F1", icon: "briefcase"),
        HabitCategoryDetails(storedName: "Learning", color: "#F59E0B", icon: "book"),
        HabitCategoryDetails(storedName: "Social", color: "#06B6D4", icon: "people"),
    ]
}

/// How one felt at a completion (HA-2). The raw value is the one in SQL.
public enum HabitMood: Int32, Hashable, Sendable, CaseIterable {
    case great = 1
    case good = 2
    case okay = 3
    case bad = 4

    /// Its name in requests and files: `great`.
    public var name: String {
        switch self {
        case .great: "great"
        case .good: "good"
        case .okay: "okay"
        case .bad: "bad"
        }
    }

    public init?(name: String) {
        guard let mood = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = mood
    }
}

/// The colors and icons that every user may choose; others are for premium users (HA-17).
public enum HabitPalette {
    public static let colors = [
        "#6366F1", "#06B6D4", "#A855F7", "#10B981", "#F59E0B", "#F43F5E", "#3B82F6", "#14B8A6", "#84CC16", "#EAB308", "#F97316",
        "#EF4444", "#EC4899", "#8B5CF6", "#64748B", "#0EA5E9",
    ]

    public static let icons = [
        "checkmark", "barbell", "bicycle", "body", "football", "footsteps", "walk", "heart", "bed", "cafe", "fitness", "leaf",
        "medkit", "nutrition", "water", "briefcase", "build", "calendar", "cash", "laptop", "mail", "time", "book", "brush",
        "camera", "code", "language", "library", "musical-notes", "pencil", "school", "call", "chatbubbles", "gift", "home",
        "people", "paw", "star", "sunny", "moon",
    ]
}

/// How many of what a plan allows (HA-1, HA-17).
public struct HabitLimits: Hashable, Sendable {
    /// Habits that are neither in the archive nor deleted.
    public let activeHabits: Int
    /// Categories of the user's own.
    public let ownCategories: Int
    /// Reminders a date.
    public let reminders: Int

    public static let free = HabitLimits(activeHabits: 5, ownCategories: 3, reminders: 3)
    /// Premium has no limit that a person would meet; these bound what one account can store.
    public static let premium = HabitLimits(activeHabits: 300, ownCategories: 100, reminders: 300)

    /// Habits of an account, those in the archive too.
    public static let mostHabits = 1_000
    /// Habits of an account that take room: those that were deleted within 30 days too.
    public static let mostStored = 2_000
    /// Dates of all habits of an account, from the first of each, that files may bring: each is judged, and what became of it stored.
    public static let mostDates = 1_000_000
    /// Completions of one habit on one date.
    public static let mostCompletions = 100
    /// Versions, pauses or times in the archive of one habit: each of its dates is looked up in them, now and with every later change.
    public static let mostSpans = 1_000

    public static func of(isPremium: Bool) -> HabitLimits { isPremium ? premium : free }
}
