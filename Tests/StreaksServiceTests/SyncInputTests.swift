import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksHabitSync
@testable import StreaksHabits

/// What devices must not send: each is refused by name, changes nothing, and leaves the other changes alone (HA-7).
@Suite(.timeLimit(.minutes(10))) struct SyncInputTests {
    private struct Bad {
        let change: SyncChange
        let field: String
        var code = "VALIDATION_ERROR"
    }

    /// - Parameter field: that is to blame.
    private func bad(
        _ change: SyncChange,
        _ field: String,
        _ code: String = "VALIDATION_ERROR",
        _ spoil: (inout SyncChange) -> Void
    )
        -> Bad
    {
        Bad(change: change.with(spoil), field: field, code: code)
    }

    /// Sends each between two good changes.
    private func expectRefusals(_ all: [Bad]) async throws {
        try await withHabits { world in
            try await world.push([
                Push.habit(1, 1, "Read", target: 10), Push.done(2, 1, 1, on: "2026-01-05"),
                SyncChange(3, "category", "create", id: "\(categoryID(1))").with { $0.category = SyncCategoryFields(name: "A") },
            ])
            let before = try await world.everything()
            for (index, bad) in all.enumerated() {
                let number = UInt64(1_000 + index * 10)
                let id = "\(HabitID(high: 0xC0, low: number))"
                let change = bad.change.with { if $0.changeID.isEmpty { $0.changeID = id } }
                let reply = try await world.push([
                    Push.note(number + 1, "before \(index)", on: "2026-01-04"), change,
                    Push.note(number + 2, "after \(index)", on: "2026-01-05"),
                ])
                let answers = reply.answers
                #expect(answers == ["applied", bad.code, "applied"], "\(index) \(bad.field): \(answers) \(change)")
                let result = reply.results[1]
                #expect(result.field == (bad.field.isEmpty ? nil : bad.field), "\(index) \(change)")
                #expect(result.message?.isEmpty == false && (result.message?.utf8.count ?? 0) < 500, "\(index) \(change)")
                #expect(result.changeID == change.changeID)
                let again = try await world.push([change])
                #expect(again.results[0].code == bad.code && again.results[0].message == result.message)
            }
            let after = try await world.everything()
            #expect(after.notes.count == 2 && after.notes[day("2026-01-05")]?.note == "after \(all.count - 1)")
            let lines = [before, after].map { $0.lines.filter { !$0.hasPrefix("note") } }
            #expect(lines[0] == lines[1], "nothing is left behind")
        }
    }

    /// Without an id of its own: `expectRefusals` gives it one.
    private func change(_ entity: String, _ operation: String, id: String = "") -> SyncChange {
        SyncChange(0, entity, operation, id: id).with { $0.changeID = "" }
    }

    private var habit: SyncChange {
        change("habit", "create", id: "\(habitID(9))").with { $0.habit = SyncHabitFields(name: "New") }
    }
    private var update: SyncChange {
        change("habit", "update", id: "\(habitID(1))").with { $0.habit = SyncHabitFields(name: "New") }
    }
    private var category: SyncChange {
        change("category", "create", id: "\(categoryID(9))").with { $0.category = SyncCategoryFields(name: "New") }
    }
    private var completion: SyncChange {
        change("completion", "create", id: "\(completionID(9))").with {
            ($0.habitID, $0.date, $0.completion) = ("\(habitID(1))", "2026-01-05", SyncCompletionFields(value: 1))
        }
    }
    private var skip: SyncChange { change("skip", "create").with { ($0.habitID, $0.date) = ("\(habitID(1))", "2026-01-05") } }
    private var pause: SyncChange {
        change("pause", "create").with {
            ($0.habitID, $0.pause) = ("\(habitID(1))", SyncPauseFields(from: "2026-01-06", until: "2026-01-09"))
        }
    }
    private var note: SyncChange { change("day_note", "create").with { ($0.date, $0.note) = ("2026-01-03", "x") } }
    private var settings: SyncChange { change("settings", "update").with { $0.settings = SyncSettingsFields(theme: "dark") } }

    private static let badIDs = [
        "", "1", "7c1f6c1a-8d0b-4a57-9c2f-3f6f1f9f2a1", "7c1f6c1a-8d0b-4a57-9c2f-3f6f1f9f2a1g", "'; DROP TABLE habit", "\0",
    ]
    private static let badDates = [
        "", "2026-1-5", "2026-02-30", "2026-13-01", "05.01.2026", "2026-01-05T00:00:00Z", "today", "99999-01-01", "2026-01-05\0",
    ]
    /// Above a limit of so many characters, or not text that shows.
    private static func badTexts(_ most: Int) -> [String] {
        [
            String(repeating: "x", count: most + 1), String(repeating: "e\u{301}", count: most + 1),
            "x" + String(repeating: "\u{301}", count: 33 * most), "a\0b", "a\u{7}b", "a\u{202E}b",
        ]
    }

    @Test func `ids, entities and operations that are none`() async throws {
        var all: [Bad] = []
        for text in Self.badIDs {
            all.append(bad(habit, "entity_id") { $0.entityID = text })
            all.append(bad(category, "entity_id") { $0.entityID = text })
            all.append(bad(completion, "entity_id") { $0.entityID = text })
            all.append(bad(completion, "habit_id") { $0.habitID = text })
            all.append(bad(skip, "habit_id") { $0.habitID = text })
            all.append(bad(pause, "habit_id") { $0.habitID = text })
            all.append(bad(change("habit_order", "update"), "ids") { $0.ids = ["\(habitID(1))", text] })
            all.append(bad(update, "category_id") { $0.habit?.categoryID = text })
        }
        for operation in ["create", "update", "delete", "undelete", "archive", "unarchive", "", "CREATE", "x\0"] {
            all.append(bad(change("planet", operation), "entity") { _ in })
            all.append(bad(change("", operation), "entity") { _ in })
        }
        for (entity, operation) in [
            ("habit", "upsert"), ("habit", ""), ("habit", "\0"), ("category", "archive"), ("completion", "undelete"),
            ("skip", "update"),
            ("pause", "update"), ("habit_order", "create"), ("category_order", "delete"), ("settings", "delete"),
            ("day_note", "archive"),
        ] { all.append(bad(change(entity, operation), "operation") { $0.pause = entity == "pause" ? SyncPauseFields() : nil }) }
        let twice = ["\(categoryID(1))", "\(categoryID(1))"]
        all.append(bad(change("category_order", "update"), "ids") { $0.ids = twice })
        all.append(bad(change("habit_order", "update"), "ids") { $0.ids = ["\(habitID(1))", "\(habitID(2))", "\(habitID(1))"] })
        try await expectRefusals(all)
    }

    @Test func `a change without an id of its own is refused, and is not remembered`() async throws {
        try await withHabits { world in
            for text in Self.badIDs {
                let change = Push.habit(1, 1, "Read").with { $0.changeID = text }
                let reply = try await world.push([change, change, Push.note(2, "x", on: "2026-01-05")])
                #expect(
                    reply.results.prefix(2).allSatisfy {
                        $0.code == "VALIDATION_ERROR" && $0.field == "change_id" && !$0.repeated
                    }
                )
                #expect(reply.results.map(\.changeID).first == text)
            }
            #expect(try await world.everything().habits.isEmpty)
        }
    }

    @Test func `fields that the change does not have`() async throws {
        var all: [Bad] = []
        let spoils: [(String, (inout SyncChange) -> Void)] = [
            ("habit_id", { $0.habitID = "\(habitID(1))" }), ("date", { $0.date = "2026-01-05" }),
            ("clear", { $0.clear = ["mood"] }),
            ("habit", { $0.habit = SyncHabitFields() }), ("category", { $0.category = SyncCategoryFields() }),
            ("completion", { $0.completion = SyncCompletionFields() }), ("pause", { $0.pause = SyncPauseFields() }),
            ("settings", { $0.settings = SyncSettingsFields() }), ("note", { $0.note = "" }),
            ("ids", { $0.ids = ["\(habitID(1))"] }),
            ("entity_id", { $0.entityID = "\(habitID(1))" }),
        ]
        let owners: [(SyncChange, Set<String>)] = [
            (habit, ["entity_id", "habit", "clear"]), (change("habit", "archive", id: "\(habitID(1))"), ["entity_id"]),
            (category, ["entity_id", "category"]), (completion, ["entity_id", "habit_id", "date", "completion"]),
            (change("completion", "delete", id: "\(completionID(1))"), ["entity_id"]), (skip, ["habit_id", "date"]),
            (pause, ["habit_id", "pause"]), (change("habit_order", "update"), ["ids"]), (settings, ["settings", "clear"]),
            (note, ["date", "note"]), (change("day_note", "delete").with { $0.date = "2026-01-03" }, ["date"]),
        ]
        for (owner, own) in owners {
            for (field, spoil) in spoils where !own.contains(field) { all.append(bad(owner, field, "VALIDATION_ERROR", spoil)) }
        }
        for name in ["name", "", "value", "\0", "clear", String(repeating: "x\u{301}\u{301}\u{301}", count: 5_000)] {
            all.append(bad(update, "clear") { $0.clear = ["unit", name] })
            all.append(bad(settings, "clear") { $0.clear = [name] })
        }
        all.append(bad(change("pause", "create"), "pause") { $0.habitID = "\(habitID(1))" })
        all.append(bad(change("day_note", "create"), "note") { $0.date = "2026-01-03" })
        try await expectRefusals(all)
    }

    @Test func `dates and times that are none`() async throws {
        var all: [Bad] = []
        for text in Self.badDates {
            all.append(bad(completion, "date") { $0.date = text })
            all.append(bad(skip, "date") { $0.date = text })
            all.append(bad(note, "date") { $0.date = text })
            all.append(bad(pause, "from") { $0.pause?.from = text })
            all.append(bad(pause, "until") { $0.pause?.until = text })
        }
        for (date, code) in [
            ("2026-01-06", "DATE_IN_FUTURE"), ("9999-12-31", "DATE_IN_FUTURE"), ("2025-12-28", "DATE_TOO_OLD"),
            ("0001-01-01", "DATE_TOO_OLD"),
        ] {
            all.append(bad(completion, "", code) { $0.date = date })
            all.append(bad(skip, "", code) { $0.date = date })
        }
        all.append(bad(note, "", "DATE_IN_FUTURE") { $0.date = "9999-12-31" })
        all.append(bad(pause, "until") { $0.pause?.until = "2026-01-06" })
        all.append(bad(pause, "until") { $0.pause = SyncPauseFields(from: "2025-01-01", until: "2025-02-01") })
        all.append(bad(pause, "", "PAUSE_TOO_LONG") { $0.pause?.until = "9999-12-31" })
        for text in ["", "8:30", "24:00", "12:60", "noon", "-1:00", "08:30:00", "08:3\0", "٠٨:٣٠"] {
            all.append(bad(update, "reminder_time") { $0.habit?.reminderTime = text })
            all.append(bad(settings, "daily_reminder_time") { $0.settings?.dailyReminderTime = text })
        }
        for days in [[7], [-1], [Int32.max], [1, 7]] as [[Int32]] {
            all.append(
                bad(update, "reminder_days") {
                    $0.habit?.reminderTime = "08:00"
                    $0.habit?.reminderDays = days
                }
            )
        }
        try await expectRefusals(all)
    }

    @Test func `numbers out of their bounds`() async throws {
        var all: [Bad] = []
        for value in [Double.nan, .infinity, -.infinity, 0, -0.0, -1, 1e9 + 1, 1e300, .leastNonzeroMagnitude, 0.0001, 1.0005] {
            all.append(bad(completion, "value") { $0.completion?.value = value })
            all.append(bad(update, "target_value") { $0.habit?.targetValue = value })
        }
        for day in [Int32.min, -1, 7, .max] {
            all.append(bad(settings, "first_day_of_week") { $0.settings?.firstDayOfWeek = day })
            all.append(
                bad(update, "schedule.weekdays") { $0.habit?.schedule = SyncSchedule(type: "weekdays", weekdays: [1, day]) }
            )
        }
        for number in [Int32.min, -1, 0, 366, .max] {
            all.append(bad(update, "schedule.every") { $0.habit?.schedule = SyncSchedule(type: "every_n_days", every: number) })
            all.append(bad(update, "schedule.times") { $0.habit?.schedule = SyncSchedule(type: "times_per_week", times: number) })
            all.append(
                bad(update, "schedule.days") { $0.habit?.schedule = SyncSchedule(type: "days_of_month", days: [1, number]) }
            )
        }
        for (type, field) in [
            ("weekdays", "weekdays"), ("every_n_days", "every"), ("times_per_week", "times"), ("days_of_month", "days"),
            ("hourly", "type"),
            ("", "type"), ("daily\0", "type"),
        ] { all.append(bad(update, "schedule.\(field)") { $0.habit?.schedule = SyncSchedule(type: type) }) }
        for base in [1_000_000, Int64.max] { all.append(bad(update, "base_sequence") { $0.baseSequence = base }) }
        try await expectRefusals(all)
    }

    @Test func `texts over their limits, with control characters, or of nothing`() async throws {
        var all: [Bad] = []
        for text in Self.badTexts(50) + ["", "  ", "\u{301}", "\u{200B}", "a\nb"] {
            all.append(bad(habit, "name") { $0.habit?.name = text })
            all.append(bad(update, "name") { $0.habit?.name = text })
        }
        all.append(bad(habit, "name") { $0.habit = nil })
        for text in Self.badTexts(30) + ["", "a\r\nb"] { all.append(bad(category, "name") { $0.category?.name = text }) }
        for text in Self.badTexts(200) { all.append(bad(update, "description") { $0.habit?.description = text }) }
        for text in Self.badTexts(20) + ["a\nb"] { all.append(bad(update, "unit") { $0.habit?.unit = text }) }
        for text in Self.badTexts(100) { all.append(bad(completion, "note") { $0.completion?.note = text }) }
        for text in Self.badTexts(500) { all.append(bad(note, "note") { $0.note = text }) }
        for text in ["", "red", "#12345", "#1234567", "#GGGGGG", "#12345\0", "＃123456"] {
            all.append(bad(update, "color") { $0.habit?.color = text })
            all.append(bad(category, "color") { $0.category?.color = text })
            all.append(bad(settings, "accent_color") { $0.settings?.accentColor = text })
        }
        for text in ["", "Book", "a b", "../x", String(repeating: "x", count: 41), "a\0"] {
            all.append(bad(update, "icon") { $0.habit?.icon = text })
            all.append(bad(category, "icon") { $0.category?.icon = text })
        }
        for text in ["", "happy", "Good", "good\0"] { all.append(bad(completion, "mood") { $0.completion?.mood = text }) }
        for text in ["", "Dark", "dark\0"] { all.append(bad(settings, "theme") { $0.settings?.theme = text }) }
        try await expectRefusals(all)
    }

    @Test func `texts at their limits are kept as they are`() async throws {
        try await withHabits { world in
            let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{200D}\u{1F466}"
            let name = String(repeating: family, count: 50)
            let reply = try await world.push([
                Push.habit(1, 1, name), Push.habit(2, 2, name),
                Push.done(
                    3,
                    1,
                    1,
                    on: "2026-01-05",
                    SyncCompletionFields(value: 0.001, note: String(repeating: "e\u{301}", count: 100))
                ),
                Push.note(4, "a\n" + String(repeating: "x", count: 498), on: "2026-01-05"),
            ])
            #expect(reply.answers == ["applied", "applied", "applied", "applied"])
            let copy = try await world.everything()
            #expect(copy.habits[habitID(1)]?.name == name)
            #expect(copy.habits[habitID(2)]?.name == String(repeating: family, count: 46) + " (2)")
            #expect(copy.completions[completionID(1)]?.value == 0.001)
            #expect(copy.completions[completionID(1)]?.note == String(repeating: "e\u{301}", count: 100))
            #expect(copy.notes.values.first?.note.count == 500)
        }
    }

    @Test func `a change says everything that is wrong with it`() async throws {
        try await withHabits { world in
            let change = Push.habit(1, 1, "Read").with {
                $0.habit?.name = " "
                $0.habit?.color = "red"
                $0.habit?.targetValue = -1
            }
            let result = try #require(try await world.push([change]).results.first)
            #expect(result.code == "VALIDATION_ERROR" && result.field == "name")
            for field in ["name", "color", "target_value"] {
                #expect(result.message?.contains(" \(field) ") == true, "\(result.message ?? "")")
            }
        }
    }

    @Test func `a request that is wrong as a whole changes nothing and says why`() async throws {
        try await withHabits { world in
            let device = SyncDevice(1).id
            let good = SyncRequest(deviceID: device, schemaVersion: 1, changes: [Push.habit(1, 1, "Read")])
            func reason(_ spoil: (inout SyncRequest) -> Void) async -> String? {
                var request = good
                spoil(&request)
                let sent = request
                return await world.reason { _ = try await world.sync(sent) }
            }
            for version in [Int32.min, -1, 0, 2, .max] {
                #expect(await reason { $0.schemaVersion = version } == "SYNC_SCHEMA_UNSUPPORTED")
            }
            for text in Self.badIDs { #expect(await reason { $0.deviceID = text } == "VALIDATION_ERROR", "\(text)") }
            for epoch in [2, Int32.max] { #expect(await reason { $0.epoch = epoch } == "RESYNC_REQUIRED") }
            // What the wire checks before the handler.
            func broken(_ spoil: (inout SyncRequest) -> Void) -> [String] {
                var request = good
                spoil(&request)
                do throws(ServiceError) { try request.validate() } catch { return error.details.map(\.field) }
                return []
            }
            #expect(broken { _ in } == [])
            #expect(broken { $0.changes = (0...1_000).map { Push.note($0, "x", on: "2026-01-05") } } == ["changes"])
            #expect(broken { $0.changes[0].baseSequence = -1 } == ["changes[0].base_sequence"])
            #expect(broken { $0.changes[0].ids = Array(repeating: "x", count: 1_001) } == ["changes[0].ids"])
            #expect(broken { $0.changes[0].clear = Array(repeating: "x", count: 21) } == ["changes[0].clear"])
            #expect(
                broken { $0.changes[0].habit?.reminderDays = Array(repeating: 1, count: 8) } == ["changes[0].habit.reminder_days"]
            )
            #expect(broken { ($0.epoch, $0.limit) = (-1, -1) } == ["epoch", "limit"])
            #expect(broken { $0.cursor = String(repeating: "A", count: 201) } == ["cursor"])
            #expect(broken { $0.deviceID = String(repeating: "A", count: 37) } == ["device_id"])
            let copy = try await world.everything()
            #expect(copy.habits.isEmpty && copy.notes.isEmpty)
            let rows = try await world.database.query("SELECT 1 FROM habit_sync_change")
            #expect(rows.isEmpty)
        }
    }
}
