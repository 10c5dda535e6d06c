public import Kernel

/// A habit with all that belongs to it, as a backup, an export or an import has it (HA-6).
public struct FileHabit: Hashable, Sendable {
    /// nil in files that have none.
    public var id: HabitID?
    public var name: String
    public var description = ""
    /// `#RRGGBB`; nil: the standard one.
    public var color: String?
    public var icon: String?
    /// Position in `HabitImport.categories`.
    public var category: Int?
    public var unit = ""
    public var reminder: HabitReminderTime?
    /// nil when the file does not say: the first date decides.
    public var createdAt: Instant?
    /// In order of their first dates, at least one (HA-10).
    public var versions: [HabitEntries.Version]
    public var archivings: [HabitEntries.Archiving] = []
    public var pauses: [Pause] = []
    public var skips: Set<CalendarDate> = []
    /// By date.
    public var completions: [Completion] = []

    public init(id: HabitID? = nil, name: String, versions: [HabitEntries.Version]) {
        (self.id, self.name, self.versions) = (id, name, versions)
    }

    public struct Pause: Hashable, Sendable {
        public var from: CalendarDate
        /// The first date after it.
        public var until: CalendarDate

        public init(from: CalendarDate, until: CalendarDate) { (self.from, self.until) = (from, until) }
    }

    public struct Completion: Hashable, Sendable {
        /// nil in files that have none.
        public var id: CompletionID?
        public var date: CalendarDate
        public var amount: Amount?
        public var note: String
        public var mood: HabitMood?
        /// When it was done; nil: unknown, so that it says nothing of the time of day (HA-16).
        public var at: Instant?
        /// The photo of its date; written to documents, not read from them: a photo stays where its date has a completion.
        public var photo: HabitPhotoID?

        public init(
            id: CompletionID? = nil,
            date: CalendarDate,
            amount: Amount? = nil,
            note: String = "",
            mood: HabitMood? = nil,
            at: Instant? = nil,
            photo: HabitPhotoID? = nil
        ) {
            (self.id, self.date, self.amount, self.note, self.mood, self.at) = (id, date, amount, note, mood, at)
            self.photo = photo
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
    public var firstDate: CalendarDate? {
        [versions.first?.from, completions.map(\.date).min(), skips.min()].compactMap { $0 }.min()
    }
}

/// A category of habits.
public struct FileCategory: Hashable, Sendable {
    /// As the file has it: refers to it there, and is of no use elsewhere.
    public var id: String
    public var name: String
    public var color: String?
    public var icon: String?
    /// One of the user's own (HA-19); nil: the file does not say.
    public var isCustom: Bool?

    public init(id: String, name: String, color: String? = nil, icon: String? = nil, isCustom: Bool? = nil) {
        (self.id, self.name, self.color, self.icon, self.isCustom) = (id, name, color, icon, isCustom)
    }
}

/// What a file has brought: nothing of it is stored yet (HA-6).
public struct HabitImport: Hashable, Sendable {
    /// In the order they are listed.
    public var habits: [FileHabit] = []
    /// In the order they are listed.
    public var categories: [FileCategory] = []
    public var dayNotes: [CalendarDate: String] = [:]
    /// Only a backup has them.
    public var settings: HabitSettings?
    /// Whose backup it is; nil: not said. The ids of another one's are not used.
    public var account: UserID?
    public var problems = HabitFileProblems()

    public init() {}

    /// Completions of all habits.
    public var completionCount: Int { habits.reduce(0) { $0 + $1.completions.count } }
    public var skipCount: Int { habits.reduce(0) { $0 + $1.skips.count } }

    /// Notes dates on which a habit has more completions than can be stored.
    mutating func checkDates() {
        for habit in habits {
            var counts: [CalendarDate: Int] = [:]
            for completion in habit.completions { counts[completion.date, default: 0] += 1 }
            let most = HabitLimits.mostCompletions
            for (date, count) in counts.filter({ $0.value > most }).sorted(by: { $0.key < $1.key }) {
                problems.error("", "“\(habit.name)” has \(count) completions on \(date), more than \(most)")
            }
        }
    }
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
