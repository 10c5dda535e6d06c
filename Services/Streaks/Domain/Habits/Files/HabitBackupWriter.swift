public import Kernel

/// Writes the document of a backup, or of an export as JSON, habit by habit (HA-6).
///
/// ```json
/// {"version":"2.0","kind":"backup","created_at":"2026-01-02T03:04:05Z","account_id":"…","data":{
///   "settings":{"theme":"auto","first_day_of_week":1},
///   "categories":[{"id":"…","name":"Health","color":"#00FF00","icon":"heart","is_custom":true}],
///   "day_notes":[{"date":"2026-01-01","text":"…"}],
///   "habits":[{"id":"…","name":"Read","versions":[{"from":"2026-01-01","schedule":{"type":"daily"},"target_value":20}],
///     "archivings":[{"from":"…","until":null}],"pauses":[{"from":"…","until":"…"}],"skips":["2026-01-01"],
///     "completions":[{"id":"…","date":"2026-01-02","value":20,"note":"…","mood":"good","at":"…","photo_id":"…"}]}]}}
/// ```
/// What is not set is left out.
public struct HabitBackupWriter: Sendable {
    public static let version = "2.0"

    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// All of a person's habits: can be restored.
        case backup
        /// What was asked for: cannot.
        case export
    }

    private var json = JSONWriter()
    private let range: HabitExportRange
    private let categories: [FileCategory]

    /// - Parameter document: its habits are written one by one afterwards.
    public init(
        _ kind: Kind,
        of account: UserID,
        at now: Instant,
        settings: HabitSettings? = nil,
        categories: [FileCategory],
        dayNotes: [CalendarDate: String] = [:],
        range: HabitExportRange = HabitExportRange()
    ) {
        (self.range, self.categories) = (range, categories)
        json.beginObject()
        member("version", Self.version)
        member("kind", kind.rawValue)
        member("created_at", now.description)
        member("account_id", account.description)
        json.name("data")
        json.beginObject()
        if let settings { write(settings) }
        list("categories", categories) { json, category in
            json.beginObject()
            Self.member("id", category.id, &json)
            Self.member("name", category.name, &json)
            Self.member("color", category.color, &json)
            Self.member("icon", category.icon, &json)
            if let isCustom = category.isCustom {
                json.name("is_custom")
                json.bool(isCustom)
            }
            json.endObject()
        }
        let notes = range.includesNotes ? dayNotes.filter { range.contains($0.key) }.sorted { $0.key < $1.key } : []
        list("day_notes", notes) { json, note in
            json.beginObject()
            Self.member("date", note.key.description, &json)
            Self.member("text", note.value, &json)
            json.endObject()
        }
        json.name("habits")
        json.beginArray()
    }

    public mutating func add(_ habit: FileHabit) {
        let habit = range.cut(habit)
        json.beginObject()
        member("id", habit.id?.description)
        member("name", habit.name)
        member("description", habit.description.isEmpty ? nil : habit.description)
        member("color", habit.color)
        member("icon", habit.icon)
        member("category_id", habit.category.flatMap { categories.indices.contains($0) ? categories[$0].id : nil })
        member("unit", habit.unit.isEmpty ? nil : habit.unit)
        member("created_at", habit.createdAt?.description)
        if let reminder = habit.reminder {
            json.name("reminder")
            json.beginObject()
            member("time", HabitReminderTime.text(reminder.minute))
            list("days", reminder.days?.sorted() ?? []) { $0.integer($1) }
            json.endObject()
        }
        list("versions", habit.versions) { json, version in
            json.beginObject()
            Self.member("from", version.from.description, &json)
            json.name("schedule")
            Self.write(version.schedule, &json)
            if let target = version.target {
                json.name("target_value")
                json.thousandths(target.thousandths)
            }
            json.name("first_day_of_week")
            json.integer(version.weekStart)
            json.endObject()
        }
        list("archivings", habit.archivings) { Self.span($1.from, $1.until, &$0) }
        list("pauses", habit.pauses) { Self.span($1.from, $1.until, &$0) }
        list("skips", habit.skips.sorted()) { $0.string($1.description) }
        list("completions", habit.completions) { Self.write($1, &$0) }
        json.endObject()
    }

    /// Ends the document.
    public mutating func finish() {
        json.endArray()
        json.endObject()
        json.endObject()
    }

    /// Takes what has been written.
    public mutating func drain() -> [UInt8] { json.drain() }
}

extension HabitBackupWriter {
    private mutating func member(_ name: String, _ text: String?) { Self.member(name, text, &json) }

    private static func member(_ name: String, _ text: String?, _ json: inout JSONWriter) {
        guard let text else { return }
        json.name(name)
        json.string(text)
    }

    private mutating func member(_ name: String, _ value: Bool) {
        json.name(name)
        json.bool(value)
    }

    private mutating func list<Element>(_ name: String, _ elements: [Element], _ write: (inout JSONWriter, Element) -> Void) {
        guard !elements.isEmpty else { return }
        json.name(name)
        json.beginArray()
        for element in elements { write(&json, element) }
        json.endArray()
    }

    private static func span(_ from: CalendarDate, _ until: CalendarDate?, _ json: inout JSONWriter) {
        json.beginObject()
        member("from", from.description, &json)
        member("until", until?.description, &json)
        json.endObject()
    }

    private mutating func write(_ settings: HabitSettings) {
        json.name("settings")
        json.beginObject()
        member("theme", settings.theme.rawValue)
        member("accent_color", settings.accentColor)
        json.name("first_day_of_week")
        json.integer(settings.firstDayOfWeek)
        member("haptics", settings.haptics)
        member("animations", settings.animations)
        member("onboarded", settings.onboarded)
        member("daily_reminder_time", settings.reminderMinute.map(HabitReminderTime.text))
        json.endObject()
    }

    private static func write(_ completion: FileHabit.Completion, _ json: inout JSONWriter) {
        json.beginObject()
        member("id", completion.id?.description, &json)
        member("date", completion.date.description, &json)
        if let amount = completion.amount {
            json.name("value")
            json.thousandths(amount.thousandths)
        }
        member("note", completion.note.isEmpty ? nil : completion.note, &json)
        member("mood", completion.mood?.name, &json)
        member("at", completion.at?.description, &json)
        member("photo_id", completion.photo?.description, &json)
        json.endObject()
    }

    private static func write(_ schedule: Schedule, _ json: inout JSONWriter) {
        func days(_ days: Set<Int>) {
            json.name("days")
            json.beginArray()
            for day in days.sorted() { json.integer(day) }
            json.endArray()
        }
        json.beginObject()
        switch schedule {
        case .daily: member("type", "daily", &json)
        case .weekdays(let weekdays):
            member("type", "weekdays", &json)
            days(weekdays)
        case .everyNthDate(let step, let from):
            member("type", "every_n_days", &json)
            json.name("interval")
            json.integer(step)
            member("from", from.description, &json)
        case .daysOfMonth(let numbers):
            member("type", "days_of_month", &json)
            days(numbers)
        case .timesPerWeek(let times):
            member("type", "times_per_week", &json)
            json.name("times")
            json.integer(times)
        }
        json.endObject()
    }
}
