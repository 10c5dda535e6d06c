public import Kernel

/// A habit with all that belongs to it, as a backup, an export or an import has it (HA-6).
public struct HabitRecord: Hashable, Sendable {
    /// nil in files that have none.
    public var id: StreakID?
    public var name: String
    public var description = ""
    /// `#RRGGBB`; nil: the standard one.
    public var color: String?
    public var icon: String?
    /// Position in `HabitImport.categories`.
    public var category: Int?
    public var unit = ""
    public var reminder: Reminder?
    /// nil when the file does not say: the first date decides.
    public var createdAt: Instant?
    /// In order of their first dates, at least one (HA-10).
    public var versions: [HabitEntries.Version]
    public var archivings: [HabitEntries.Archiving] = []
    public var pauses: [Pause] = []
    public var skips: Set<CalendarDate> = []
    /// By date.
    public var completions: [Completion] = []

    public init(id: StreakID? = nil, name: String, versions: [HabitEntries.Version]) {
        (self.id, self.name, self.versions) = (id, name, versions)
    }

    public struct Reminder: Hashable, Sendable {
        /// Minutes since midnight, 0…1439.
        public var minute: Int
        /// 0 = Sunday … 6; empty: those of the schedule.
        public var days: Set<Int>

        public init(minute: Int, days: Set<Int> = []) { (self.minute, self.days) = (minute, days) }

        /// `hh:mm`
        public var time: String {
            [minute / 60, minute % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
        }
    }

    public struct Pause: Hashable, Sendable {
        public var from: CalendarDate
        /// The first date after it.
        public var until: CalendarDate

        public init(from: CalendarDate, until: CalendarDate) { (self.from, self.until) = (from, until) }
    }

    public enum Mood: String, Hashable, Sendable, CaseIterable {
        case great, good, okay, bad
    }

    public struct Completion: Hashable, Sendable {
        /// nil in files that have none.
        public var id: CompletionID?
        public var date: CalendarDate
        public var amount: Amount?
        public var note: String
        public var mood: Mood?
        /// When it was done; nil: unknown, so that it says nothing of the time of day (HA-16).
        public var at: Instant?

        public init(
            id: CompletionID? = nil,
            date: CalendarDate,
            amount: Amount? = nil,
            note: String = "",
            mood: Mood? = nil,
            at: Instant? = nil
        ) {
            (self.id, self.date, self.amount, self.note, self.mood, self.at) = (id, date, amount, note, mood, at)
        }
    }

    /// The version that holds on a date.
    public func version(on date: CalendarDate) -> HabitEntries.Version? {
        versions.last { $0.from <= date } ?? versions.first
    }

    /// Whether the completions of a date reach the target of that date (HA-8).
    func isReached(_ completions: some Collection<Completion>, on date: CalendarDate) -> Bool {
        guard let target = version(on: date)?.target else { return !completions.isEmpty }
        if completions.contains(where: { $0.amount == nil }) { return true }
        return completions.reduce(.zero) { $0 + ($1.amount ?? .zero) } >= target
    }

    /// The first date that the file knows something of.
    var firstDate: CalendarDate? {
        ([versions.first?.from] + [completions.map(\.date).min(), skips.min()]).compactMap { $0 }.min()
    }
}

/// A category of habits.
public struct HabitCategoryRecord: Hashable, Sendable {
    /// As the file has it: refers to it there, and is of no use elsewhere.
    public var id: String
    public var name: String
    public var color: String?
    public var icon: String?

    public init(id: String, name: String, color: String? = nil, icon: String? = nil) {
        (self.id, self.name, self.color, self.icon) = (id, name, color, icon)
    }
}

/// What a file has brought: nothing of it is stored yet (HA-6).
public struct HabitImport: Hashable, Sendable {
    /// In the order they are listed.
    public var habits: [HabitRecord] = []
    /// In the order they are listed.
    public var categories: [HabitCategoryRecord] = []
    public var dayNotes: [CalendarDate: String] = [:]
    /// Only a backup has them.
    public var settings: HabitSettingsRecord?
    public var problems = HabitFileProblems()

    public init() {}

    /// Completions of all habits.
    public var completionCount: Int { habits.reduce(0) { $0 + $1.completions.count } }
    public var skipCount: Int { habits.reduce(0) { $0 + $1.skips.count } }
}

/// The settings of a person that a backup has; nil: not said.
public struct HabitSettingsRecord: Hashable, Sendable {
    public enum Theme: String, Hashable, Sendable, CaseIterable {
        case light, dark, auto
    }

    public var theme: Theme?
    /// `#RRGGBB`
    public var accentColor: String?
    /// 0 = Sunday … 6.
    public var firstDayOfWeek: Int?
    public var notificationsEnabled: Bool?
    public var hapticFeedbackEnabled: Bool?
    public var animationsEnabled: Bool?
    public var onboardingCompleted: Bool?

    public init() {}
}

/// What every reader of a file must know of the person.
public struct HabitFileContext: Hashable, Sendable {
    /// The date that the person's clock shows: nothing may lie after it.
    public var today: CalendarDate
    /// Times in a file are dates of this zone.
    public var zone: Zone
    /// Of new versions (HA-10).
    public var weekStart: Int

    public init(today: CalendarDate, zone: Zone, weekStart: Int = 1) {
        (self.today, self.zone, self.weekStart) = (today, zone, weekStart)
    }

    /// Earlier dates are refused: every date since the first one is judged.
    public static let earliest = CalendarDate(dayNumber: 10_957)

    /// What is wrong with a date; nil: nothing.
    func problem(with date: CalendarDate) -> String? {
        if date > today { return "is in the future" }
        return date < Self.earliest ? "is before \(Self.earliest)" : nil
    }
}
