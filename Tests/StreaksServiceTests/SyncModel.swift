import Kernel
import StreaksAPI

/// What a server of `HabitSync` does, change after change in the order in which they first reach it: written from the comments of
/// `habit_sync.proto` and the rules HA-7 … HA-19 alone, with dictionaries.
struct SyncModel {
    struct Version {
        var from: CalendarDate
        var schedule: SyncSchedule
        var target: Double?
        var weekStart: Int32

        func isDue(on date: CalendarDate) -> Bool {
            switch schedule.type {
            case "weekdays": schedule.weekdays.contains(Int32(date.isoWeekday % 7))
            case "days_of_month": schedule.days.contains(Int32("\(date)".suffix(2)) ?? 0)
            default: true
            }
        }
    }

    struct Habit {
        var name = ""
        var description = ""
        var color = "#6366F1"
        var icon = "checkmark"
        var category: String?
        var unit = ""
        var reminder: String?
        var reminderDays: [Int32] = []
        var position = 0
        var isArchived = false
        var isDeleted = false
        var created: CalendarDate
        var versions: [Version]
        var pauses: [(from: CalendarDate, until: CalendarDate)] = []
        var skips: Set<CalendarDate> = []
        /// The ids of its completions, in the order they came.
        var dates: [CalendarDate: [String]] = [:]

        func version(on date: CalendarDate) -> Version { versions.last { $0.from <= date } ?? versions[0] }
        /// HA-11.
        var firstDate: CalendarDate { min(created, dates.keys.min() ?? created) }
    }

    struct Completion {
        let habit: String
        let date: CalendarDate
        var value: Double?
        var note = ""
        var mood: String?
    }

    struct Category {
        var name: String
        var color = "#6366F1"
        var icon = "checkmark"
        var position: Int
        var isCustom = true
    }

    // MARK: what there is

    var habits: [String: Habit] = [:]
    var completions: [String: Completion] = [:]
    var categories: [String: Category] = [:]
    var notes: [CalendarDate: String] = [:]
    var settings = SyncSettings(firstDayOfWeek: 1, theme: "auto", haptics: true)
    var gone: Set<String> = []
    /// The numbers of the changes that deleted day notes last.
    var goneNotes: [CalendarDate: Int64] = [:]
    /// Other names of completions and categories.
    var names: [String: String] = [:]
    var answers: [String: String] = [:]
    var lastSyncs: [String: CalendarDate] = [:]
    var epoch: Int32 = 1
    /// The number of the newest change, as the server counts them: each request with changes, and each restore, has at least one.
    var sequence: Int64 = 0
    let isPremium: Bool

    // MARK: the request

    var today: CalendarDate
    var earliest: CalendarDate

    init(isPremium: Bool, today: CalendarDate) {
        (self.isPremium, self.today, earliest) = (isPremium, today, today)
    }

    /// What the first contact makes.
    mutating func begin(_ defaults: [(id: String, name: String, color: String, icon: String)]) {
        sequence = 1
        makeCategories(defaults)
    }

    private mutating func makeCategories(_ defaults: [(id: String, name: String, color: String, icon: String)]) {
        categories = [:]
        for (place, made) in defaults.enumerated() {
            categories[made.id] = Category(
                name: made.name,
                color: made.color,
                icon: made.icon,
                position: place + 1,
                isCustom: false
            )
        }
    }

    /// HA-12.
    func earliest(of device: String) -> CalendarDate {
        let usual = today.advanced(by: -7)
        guard let last = lastSyncs[device] else { return usual }
        return max(today.advanced(by: -366), min(usual, last.advanced(by: -7)))
    }

    /// - Returns: the answer to each change; nil when the whole is refused with `RESYNC_REQUIRED`.
    mutating func take(_ request: SyncRequest, today: CalendarDate) -> [String]? {
        self.today = today
        if !request.changes.isEmpty {
            guard request.epoch == 0 || request.epoch == epoch else { return nil }
            sequence += 1
        }
        earliest = earliest(of: request.deviceID)
        var results: [String] = []
        for change in request.changes {
            if let known = answers[change.changeID] {
                results.append(known + "*")
                continue
            }
            let answer: String
            do throws(Refusal) { answer = try apply(change) } catch { answer = error.code }
            answers[change.changeID] = answer
            results.append(answer)
        }
        if !request.hasMoreChanges || lastSyncs[request.deviceID] == nil { lastSyncs[request.deviceID] = today }
        return results
    }

    /// Everything is replaced.
    mutating func restore(
        _ kept: [(id: String, name: String, target: Double?)],
        _ defaults: [(id: String, name: String, color: String, icon: String)],
        today: CalendarDate
    ) {
        self.today = today
        (habits, completions, notes, gone, goneNotes) = ([:], [:], [:], [], [:])
        makeCategories(defaults)
        epoch += 1
        sequence += 1
        for habit in kept {
            var new = Habit(created: today, versions: [version(SyncSchedule(type: "daily"), habit.target)])
            (new.name, new.position) = (habit.name, habits.count + 1)
            habits[habit.id] = new
        }
    }

    // MARK: what it shows

    /// As `SyncDevice.lines`.
    var lines: [String] {
        var lines: [String] = []
        let present = habits.filter { !$0.value.isDeleted }
        for (id, habit) in present {
            let (version, pauses) = (habit.versions.last, habit.pauses.filter { $0.from < $0.until }.sorted { $0.from < $1.from })
            lines.append(
                [
                    "habit \(id) \(habit.name)", habit.description, habit.color, habit.icon, habit.category ?? "-", habit.unit,
                    habit.reminder ?? "-", "\(habit.reminderDays)", habit.isArchived ? "archived" : "active",
                    pauses.map { "\($0.from)…\($0.until)" }.joined(separator: " "), version?.schedule.type ?? "",
                    version?.target.map { "\($0)" } ?? "-",
                ].joined(separator: "|")
            )
            lines += habit.skips.map { "skip \(id) \($0)" }
        }
        lines += categories.map { "category \($0.key) \($0.value.name)|\($0.value.color)|\($0.value.icon)|\($0.value.isCustom)" }
        for (id, completion) in completions where present[completion.habit] != nil {
            let value = completion.value.map { "\($0)" } ?? "-"
            lines.append(
                "completion \(id) \(completion.habit) \(completion.date) \(value)|\(completion.note)|\(completion.mood ?? "-")"
            )
        }
        lines += notes.map { "note \($0.key) \($0.value)" }
        lines.append(
            "settings \(settings.firstDayOfWeek) \(settings.theme) \(settings.haptics) \(settings.dailyReminderTime ?? "-")"
        )
        let order = present.sorted { ($0.value.position, $0.key) < ($1.value.position, $1.key) }.map(\.key)
        let groups = categories.sorted { ($0.value.position, $0.key) < ($1.value.position, $1.key) }.map(\.key)
        return lines.sorted() + ["order " + order.joined(separator: ","), "groups " + groups.joined(separator: ",")]
    }

    // MARK: tools of the rules

    struct Refusal: Error { let code: String }

    static let merged = "merged>"

    func version(_ schedule: SyncSchedule, _ target: Double?) -> Version {
        Version(from: today, schedule: schedule, target: target, weekStart: settings.firstDayOfWeek)
    }

    /// HA-13: names compare trimmed and case-folded.
    static func free(_ name: String, taken: [String]) -> String {
        let keys = Set(taken.map { $0.lowercased() })
        var (candidate, number) = (name, 1)
        while keys.contains(candidate.lowercased()) {
            number += 1
            candidate = "\(name) (\(number))"
        }
        return candidate
    }

    /// HA-8.
    func isDone(_ habit: Habit, on date: CalendarDate) -> Bool {
        let values = (habit.dates[date] ?? []).map { completions[$0]?.value }
        guard let target = habit.version(on: date).target else { return !values.isEmpty }
        return values.contains { $0 == nil } || values.compactMap(\.self).reduce(0, +) >= target
    }

    /// HA-10: holds from today, from tomorrow if today is done. What was to hold later is replaced.
    mutating func change(_ id: String, _ new: Version) {
        guard var habit = habits[id] else { return }
        var new = new
        new.from = today
        // What is done on a date that is not due is `extra` (HA-9).
        while habit.version(on: new.from).isDue(on: new.from), isDone(habit, on: new.from) { new.from = new.from.advanced(by: 1) }
        let first = habit.versions[0]
        habit.versions.removeAll { $0.from >= new.from }
        if habit.versions.isEmpty, habit.firstDate < new.from {
            habit.versions = [first]
            habit.versions[0].from = habit.firstDate
        }
        let last = habit.versions.last
        if last?.schedule != new.schedule || last?.target != new.target || last?.weekStart != new.weekStart {
            habit.versions.append(new)
        }
        habits[id] = habit
    }
}
