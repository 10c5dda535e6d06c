internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// A field that a change may set, empty or leave alone.
enum Field<Value: Sendable>: Sendable {
    case unchanged
    case cleared
    case set(Value)

    /// - Parameter clear: whether the change empties it.
    init(_ value: Value?, clear: Bool) { self = value.map { Self.set($0) } ?? (clear ? .cleared : .unchanged) }

    func applied(to old: Value?) -> Value? {
        switch self {
        case .unchanged: old
        case .cleared: nil
        case .set(let value): value
        }
    }
}

extension SyncChange {
    /// The names of the fields that it empties.
    ///
    /// - Throws: `VALIDATION_ERROR` for one that cannot be empty.
    fileprivate func cleared(of allowed: Set<String>) throws -> Set<String> {
        // Names that were sent are not repeated: the answer is stored.
        guard clear.allSatisfy(allowed.contains) else {
            throw ServiceError.validation(field: "clear", "may have \(allowed.sorted().joined(separator: ", "))")
        }
        return Set(clear)
    }
}

/// Fields of a habit that a change sets.
struct HabitFields: Sendable {
    var name: String?
    var description: String?
    var color: String?
    var icon: String?
    /// The one it sets; `clearsCategory` says that it has none.
    var category: HabitCategoryID?
    var clearsCategory: Bool
    var unit: String?
    var reminderMinute: Field<Int>
    var reminderDays: Field<Set<Int>>
    /// Every n-th date is counted from whatever date; the version sets it.
    var schedule: Schedule?
    var target: Field<Amount>

    init(_ sent: SyncChange) throws {
        var check = FieldCheck()
        let clear =
            try check.take { try sent.cleared(of: ["category_id", "reminder_time", "reminder_days", "target_value"]) } ?? []
        let fields = sent.habit ?? SyncHabitFields()
        name = try check.take(fields.name) { try HabitText.name($0, field: "name", most: 50) }
        description = try check.take(fields.description) { try HabitText.text($0, field: "description", most: 200) }
        color = try check.take(fields.color) { try HabitText.color($0, field: "color") }
        icon = try check.take(fields.icon) { try HabitText.icon($0, field: "icon") }
        category = try check.take(fields.categoryID) { try HabitCategoryID(parsing: $0, field: "category_id") }
        clearsCategory = clear.contains("category_id")
        unit = try check.take(fields.unit) { try HabitText.line($0, field: "unit", most: 20) }
        let minute = try check.take(fields.reminderTime) { try HabitReminderTime.minute($0, field: "reminder_time") }
        reminderMinute = Field(minute, clear: clear.contains("reminder_time"))
        let days = fields.reminderDays.isEmpty ? nil : Set(fields.reminderDays.map(Int.init))
        _ = try check.take(days) { try HabitReminderTime(minute: 0, days: $0) }
        reminderDays = Field(days, clear: clear.contains("reminder_days"))
        schedule = try check.take(fields.schedule) { try $0.checked() }
        let amount = try check.take(fields.targetValue) { try Amount($0, field: "target_value") }
        target = Field(amount, clear: clear.contains("target_value"))
        try check.finish()
    }

    /// What a habit is after the change.
    ///
    /// - Parameter old: what it was; nil for a new one.
    /// - Throws: `VALIDATION_ERROR`.
    func details(after old: HabitDetails?) throws -> HabitDetails {
        guard let name = name ?? old?.name else { throw ServiceError.validation(field: "name", "Please enter a habit name") }
        var reminder: HabitReminderTime?
        if let minute = reminderMinute.applied(to: old?.reminder?.minute) {
            reminder = try HabitReminderTime(minute: minute, days: reminderDays.applied(to: old?.reminder?.days))
        } else if case .set = reminderDays {
            throw ServiceError.validation(field: "reminder_days", "need a reminder_time")
        }
        return HabitDetails(
            storedName: name,
            description: description ?? old?.description ?? "",
            color: color ?? old?.color ?? HabitDetails.standardColor,
            icon: icon ?? old?.icon ?? HabitDetails.standardIcon,
            category: category ?? (clearsCategory ? nil : old?.category),
            unit: unit ?? old?.unit ?? "",
            reminder: reminder
        )
    }
}

/// Fields of a category that a change sets.
struct CategoryFields: Sendable {
    var name: String?
    var color: String?
    var icon: String?

    init(_ sent: SyncChange) throws {
        let fields = sent.category ?? SyncCategoryFields()
        var check = FieldCheck()
        name = try check.take(fields.name) { try HabitText.name($0, field: "name", most: 30) }
        color = try check.take(fields.color) { try HabitText.color($0, field: "color") }
        icon = try check.take(fields.icon) { try HabitText.icon($0, field: "icon") }
        try check.finish()
    }

    /// - Throws: `VALIDATION_ERROR` for a new one without a name.
    func details(after old: HabitCategoryDetails?) throws -> HabitCategoryDetails {
        guard let name = name ?? old?.name else { throw ServiceError.validation(field: "name", "is needed") }
        return HabitCategoryDetails(
            storedName: name,
            color: color ?? old?.color ?? HabitDetails.standardColor,
            icon: icon ?? old?.icon ?? HabitDetails.standardIcon
        )
    }
}

/// Fields of a completion that a change sets.
struct CompletionFields: Sendable {
    var amount: Field<Amount>
    var note: String?
    var mood: Field<HabitMood>
    /// By the device's clock.
    var doneAt: Field<Instant>

    init(_ sent: SyncChange) throws {
        var check = FieldCheck()
        let clear = try check.take { try sent.cleared(of: ["value", "mood", "done_at"]) } ?? []
        let fields = sent.completion ?? SyncCompletionFields()
        let value = try check.take(fields.value) { try Amount($0, field: "value") }
        amount = Field(value, clear: clear.contains("value"))
        note = try check.take(fields.note) { try HabitText.text($0, field: "note", most: 100) }
        let known = try check.take(fields.mood) { name in
            guard let mood = HabitMood(name: name) else {
                throw ServiceError.validation(field: "mood", "must be great, good, okay or bad")
            }
            return mood
        }
        mood = Field(known, clear: clear.contains("mood"))
        doneAt = Field(fields.doneAt, clear: clear.contains("done_at"))
        try check.finish()
    }

    /// The parts of the details that are others from now on. A time that cannot be right is left out: a wrong clock decides nothing.
    func patch(on date: CalendarDate, _ clock: HabitDate) -> CompletionPatch {
        var patch = CompletionPatch(note: note)
        switch mood {
        case .unchanged: break
        case .cleared: patch.mood = .some(nil)
        case .set(let mood): patch.mood = .some(mood)
        }
        switch doneAt {
        case .unchanged: break
        case .cleared: patch.time = CompletionPatch.Time()
        case .set(let instant):
            let time = min(instant, clock.now)
            guard instant <= clock.now + SyncProtocol.clockTolerance, clock.zones.date(at: time) == date else { break }
            patch.time = CompletionPatch.Time(doneAt: time, minute: clock.minute(at: time))
        }
        return patch
    }

    /// What a new completion has.
    func details(on date: CalendarDate, _ clock: HabitDate) -> CompletionDetails {
        let patch = patch(on: date, clock)
        return CompletionDetails(
            note: patch.note ?? "",
            mood: patch.mood ?? nil,
            doneAt: patch.time?.doneAt,
            minute: patch.time?.minute
        )
    }
}

/// Settings that a change sets.
struct SettingsFields: Sendable {
    private let fields: SyncSettingsFields
    private let reminder: Field<Int>

    init(_ sent: SyncChange) throws {
        let clear = try sent.cleared(of: ["daily_reminder_time"])
        fields = sent.settings ?? SyncSettingsFields()
        let minute = try fields.dailyReminderTime.map { try HabitReminderTime.minute($0, field: "daily_reminder_time") }
        reminder = Field(minute, clear: clear.contains("daily_reminder_time"))
    }

    /// - Throws: `VALIDATION_ERROR`.
    func applied(to old: HabitSettings) throws -> HabitSettings {
        var new = old
        if let first = fields.firstDayOfWeek { new.firstDayOfWeek = Int(first) }
        if let name = fields.theme {
            guard let theme = HabitSettings.Theme(rawValue: name) else {
                throw ServiceError.validation(field: "theme", "must be light, dark or auto")
            }
            new.theme = theme
        }
        new.accentColor = fields.accentColor ?? old.accentColor
        new.haptics = fields.haptics ?? old.haptics
        new.animations = fields.animations ?? old.animations
        new.onboarded = fields.onboarded ?? old.onboarded
        new.reminderMinute = reminder.applied(to: old.reminderMinute)
        try new.validate()
        return new
    }
}

extension SyncSchedule {
    /// - Throws: `VALIDATION_ERROR` naming the field that its type needs.
    fileprivate func checked() throws -> Schedule {
        let (schedule, field): (Schedule, String) =
            switch type {
            case "daily": (.daily, "type")
            case "weekdays": (.weekdays(Set(weekdays.map(Int.init))), "weekdays")
            case "every_n_days": (.everyNthDate(Int(every ?? 0), from: CalendarDate(dayNumber: 0)), "every")
            case "times_per_week": (.timesPerWeek(Int(times ?? 0)), "times")
            case "days_of_month": (.daysOfMonth(Set(days.map(Int.init))), "days")
            default: throw ServiceError.validation(field: "schedule.type", "is no schedule")
            }
        try schedule.validate(field: "schedule.\(field)")
        return schedule
    }

    /// As replies show it.
    init(_ schedule: Schedule) {
        self.init()
        switch schedule {
        case .daily: type = "daily"
        case .weekdays(let numbers): (type, weekdays) = ("weekdays", numbers.sorted().map { Int32($0) })
        case .everyNthDate(let step, _): (type, every) = ("every_n_days", Int32(step))
        case .timesPerWeek(let number): (type, times) = ("times_per_week", Int32(number))
        case .daysOfMonth(let numbers): (type, days) = ("days_of_month", numbers.sorted().map { Int32($0) })
        }
    }
}
