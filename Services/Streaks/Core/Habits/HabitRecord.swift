package import Database
package import Kernel
package import StreaksDomain

/// A habit as it is stored, and where it stands as of the date that `asOf` names. `HabitStore.refresh` brings it to the present one.
package struct HabitRecord: Sendable {
    package let user: UserID
    package let id: HabitID
    package let streak: StreakID
    package var details: HabitDetails
    package let position: Int
    package let archivedAt: Instant?
    package let deletedAt: Instant?
    package let createdAt: Instant
    package let updatedAt: Instant
    /// The date of the earliest completion, if there is one.
    package let startsOn: CalendarDate?
    /// The date of the user's clock that everything below is as of.
    package let asOf: CalendarDate
    /// What `count` counts.
    package let unit: Schedule.Unit
    package let longestDates: Int
    package let longestWeeks: Int
    /// The week of `asOf`; nil unless weeks are counted.
    package let week: HabitWeek?
    /// The number of its newest change (HA-7).
    package let sequence: Int64
    package let count: Int
    package let runStart: CalendarDate?
    package let lastCompletedDate: CalendarDate?
    /// When its streak began: the creation, or of a restored habit an earlier instant.
    package let startedAt: Instant
    /// When its next date is over, while something can break.
    package let nextDue: Instant?
    /// In order of their first dates, at least one.
    package internal(set) var versions: [HabitEntries.Version]
    /// Pauses in time order, those that are over too.
    package internal(set) var pauses: [StreakLedger.Pause]

    /// The longest run, in the unit of the present one.
    package var longest: Int { unit == .weeks ? longestWeeks : longestDates }
    package var isArchived: Bool { archivedAt != nil }
    package var isDeleted: Bool { deletedAt != nil }
    /// Whether it counts against the plan's limit.
    package var isActive: Bool { !isArchived && !isDeleted }

    /// The first date that counts: that of the creation, or of an earlier completion (HA-11).
    ///
    /// - Parameter zones: the user's clock.
    package func startDate(_ zones: ZoneHistory) -> CalendarDate {
        let created = zones.date(at: startedAt)
        return min(created, startsOn ?? created)
    }

    /// What holds on a date (HA-10).
    package func version(on date: CalendarDate) -> HabitEntries.Version {
        versions.last { $0.from <= date } ?? versions[0]
    }

    /// The pause that holds on a date.
    package func pause(on date: CalendarDate) -> StreakLedger.Pause? {
        pauses.first { $0.from <= date && date < $0.until }
    }
}

extension HabitRecord {
    /// In the order `init` reads them, of `habit` h and `streak` s.
    static let columns: Query = """
        h.user_id, h.id, h.streak_id, h.name, h.description, h.color, h.icon, h.category_id, h.unit, h.reminder_minute,
        h.reminder_days, h.position, h.archived_at, h.deleted_at, h.created_at, h.updated_at, h.starts_on, h.as_of, h.counts,
        h.longest_dates, h.longest_weeks, h.week_first, h.week_last, h.week_done, h.week_excused, h.week_needed, h.week_left,
        h.week_is_cut, h.sequence, s.current_count, s.run_start, s.last_completed_date, s.started_at, s.next_due
        """

    init(_ row: Row) throws {
        user = try row.get(at: 0)
        id = try row.get(at: 1)
        streak = try row.get(at: 2)
        let days = try row.get(at: 10, as: [Int32]?.self).map { Set($0.map(Int.init)) }
        details = HabitDetails(
            storedName: try row.get(at: 3),
            description: try row.get(at: 4),
            color: try row.get(at: 5),
            icon: try row.get(at: 6),
            category: try row.get(at: 7),
            unit: try row.get(at: 8),
            reminder: try row.get(at: 9, as: Int32?.self).map { HabitReminderTime(storedMinute: Int($0), days: days) }
        )
        position = Int(try row.get(at: 11, as: Int32.self))
        archivedAt = try row.get(at: 12)
        deletedAt = try row.get(at: 13)
        createdAt = try row.get(at: 14)
        updatedAt = try row.get(at: 15)
        startsOn = try row.get(at: 16)
        asOf = try row.get(at: 17)
        unit = Schedule.Unit(stored: try row.get(at: 18)) ?? .dates
        longestDates = Int(try row.get(at: 19, as: Int32.self))
        longestWeeks = Int(try row.get(at: 20, as: Int32.self))
        week = try HabitWeek(row, at: 21)
        sequence = try row.get(at: 28)
        count = Int(try row.get(at: 29, as: Int32.self))
        runStart = try row.get(at: 30)
        lastCompletedDate = try row.get(at: 31)
        startedAt = try row.get(at: 32)
        nextDue = try row.get(at: 33)
        versions = []
        pauses = []
    }
}

extension HabitWeek {
    /// - Parameter first: the column of its first date; nil when that is null.
    package init?(_ row: Row, at first: Int) throws {
        guard let from = try row.get(at: first, as: CalendarDate?.self),
            let through = try row.get(at: first + 1, as: CalendarDate?.self)
        else { return nil }
        func number(_ column: Int) throws -> Int { Int(try row.get(at: first + column, as: Int32.self)) }
        self.init(
            dates: from...through,
            done: try number(2),
            excused: try number(3),
            needed: try number(4),
            left: try number(5),
            isCut: try row.get(at: first + 6)
        )
    }
}

/// A category as it is stored.
package struct HabitCategoryRecord: Sendable {
    package let id: HabitCategoryID
    package let details: HabitCategoryDetails
    package let position: Int
    /// One of the user's own; the five of the start are not (HA-19).
    package let isCustom: Bool
    package let createdAt: Instant
    package let updatedAt: Instant
    package let sequence: Int64

    package static let columns: Query = "id, name, color, icon, position, is_custom, created_at, updated_at, sequence"

    /// - Parameter row: begins with `columns`.
    package init(_ row: Row) throws {
        id = try row.get(at: 0)
        details = HabitCategoryDetails(storedName: try row.get(at: 1), color: try row.get(at: 2), icon: try row.get(at: 3))
        position = Int(try row.get(at: 4, as: Int32.self))
        isCustom = try row.get(at: 5)
        createdAt = try row.get(at: 6)
        updatedAt = try row.get(at: 7)
        sequence = try row.get(at: 8)
    }
}

/// A completion as it is stored.
package struct CompletionRecord: Sendable {
    package let id: CompletionID
    package let streak: StreakID
    package let date: CalendarDate
    package let amount: Amount?
    package let details: CompletionDetails
    package let receivedAt: Instant
    package let updatedAt: Instant
    package let sequence: Int64
    /// The photo of its date, which media has; all completions of the date share it.
    package let photo: HabitPhotoID?

    package static let columns: Query =
        "id, streak_id, on_date, amount, note, mood, done_at, minute, received_at, updated_at, sequence, photo_id"
    /// The same of `habit_completion` c.
    package static let columnsOfC: Query = """
        c.id, c.streak_id, c.on_date, c.amount, c.note, c.mood, c.done_at, c.minute, c.received_at, c.updated_at, c.sequence,
        c.photo_id
        """
    package static let columnCount = 12

    /// - Parameter first: the column at which `columns` begin.
    package init(_ row: Row, at first: Int = 0) throws {
        id = try row.get(at: first)
        streak = try row.get(at: first + 1)
        date = try row.get(at: first + 2)
        amount = try row.get(at: first + 3, as: Int64?.self).map(Amount.init(thousandths:))
        details = CompletionDetails(
            note: try row.get(at: first + 4),
            mood: try row.get(at: first + 5, as: Int32?.self).flatMap(HabitMood.init(rawValue:)),
            doneAt: try row.get(at: first + 6),
            minute: try row.get(at: first + 7, as: Int32?.self).map(Int.init)
        )
        receivedAt = try row.get(at: first + 8)
        updatedAt = try row.get(at: first + 9)
        sequence = try row.get(at: first + 10)
        photo = try row.get(at: first + 11)
    }
}

/// A user's habits as a whole.
package struct HabitAccount: Sendable {
    package let user: UserID
    /// The newest number that was given out; inside a change, the number of that change (HA-7).
    package let sequence: Int64
    /// Raised by a restore and by clearing: devices begin anew.
    package let epoch: Int
    package var settings: HabitSettings
    /// The number of the newest change of the settings.
    package let settingsSequence: Int64
    package let backedUpAt: Instant?
    package let createdAt: Instant

    static let columns: Query = """
        sequence, epoch, first_day_of_week, theme, accent_color, haptics, animations, onboarded, reminder_minute,
        settings_sequence, backed_up_at, created_at
        """

    init(_ row: Row, of user: UserID) throws {
        self.user = user
        sequence = try row.get(at: 0)
        epoch = Int(try row.get(at: 1, as: Int32.self))
        settings = HabitSettings(
            firstDayOfWeek: Int(try row.get(at: 2, as: Int32.self)),
            theme: HabitSettings.Theme(rawValue: try row.get(at: 3)) ?? .auto,
            accentColor: try row.get(at: 4),
            haptics: try row.get(at: 5),
            animations: try row.get(at: 6),
            onboarded: try row.get(at: 7),
            reminderMinute: try row.get(at: 8, as: Int32?.self).map(Int.init)
        )
        settingsSequence = try row.get(at: 9)
        backedUpAt = try row.get(at: 10)
        createdAt = try row.get(at: 11)
    }

    /// What a user has who has not changed anything yet.
    init(new user: UserID, at now: Instant) {
        (self.user, sequence, epoch, settings, settingsSequence) = (user, 0, 1, HabitSettings(), 0)
        (backedUpAt, createdAt) = (nil, now)
    }
}
