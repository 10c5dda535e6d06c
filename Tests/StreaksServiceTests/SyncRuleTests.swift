import Database
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksHabitSync
@testable import StreaksHabits

/// Sync of habits, rule by rule: answers, repeats, what was deleted, dates, limits and epochs (HA-7, HA-12, HA-13).
@Suite(.timeLimit(.minutes(10))) struct SyncRuleTests {
    @Test func `what one device pushes, another pulls`() async throws {
        try await withHabits { world in
            let pushed = try await world.push([
                SyncChange(1, "category", "create", id: "\(categoryID(1))").with {
                    $0.category = SyncCategoryFields(name: "Garden", color: "#84cc16", icon: "leaf")
                },
                Push.habit(2, 1, "Read", target: 30).with {
                    $0.habit?.categoryID = "\(categoryID(1))"
                    $0.habit?.unit = "pages"
                    $0.habit?.reminderTime = "21:30"
                    $0.habit?.reminderDays = [1, 3]
                    $0.habit?.schedule = SyncSchedule(type: "weekdays", weekdays: [1, 2, 3])
                },
                Push.done(3, 1, 1, on: "2026-01-05", SyncCompletionFields(value: 12.5, note: "Chapter 1", mood: "good")),
                Push.skip(4, 1, on: "2026-01-05"),
                Push.note(5, "Rain", on: "2026-01-04"),
                SyncChange(6, "settings", "update").with {
                    $0.settings = SyncSettingsFields(firstDayOfWeek: 0, theme: "dark", haptics: false, dailyReminderTime: "20:00")
                },
            ])
            #expect(pushed.answers == Array(repeating: "applied", count: 6))
            #expect(pushed.epoch == 1 && pushed.today == day("2026-01-05") && pushed.earliestDate == day("2025-12-29"))
            let other = try await world.everything()
            let habit = try #require(other.habits[habitID(1)])
            #expect(habit.name == "Read" && habit.unit == "pages" && habit.categoryID == categoryID(1))
            #expect(habit.reminderTime == "21:30" && habit.reminderDays == [1, 3] && !habit.archived)
            let version = try #require(habit.versions.last)
            #expect(version.schedule == SyncSchedule(type: "weekdays", weekdays: [1, 2, 3]) && version.targetValue == 30)
            #expect(version.weekStart == 0)
            let completion = try #require(other.completions[completionID(1)])
            #expect(completion.value == 12.5 && completion.note == "Chapter 1" && completion.mood == "good")
            #expect(completion.habitID == habitID(1) && completion.date == day("2026-01-05") && completion.doneAt == nil)
            #expect(other.skips == ["\(habitID(1)) 2026-01-05"])
            #expect(other.notes[day("2026-01-04")]?.note == "Rain")
            #expect(other.categories.count == 6 && other.categories[categoryID(1)]?.color == "#84CC16")
            #expect(other.settings?.theme == "dark" && other.settings?.haptics == false && other.settings?.firstDayOfWeek == 0)
            #expect(other.streaks == [SyncStreak(habitID: habitID(1), count: 0, longest: 0, counts: "days")])
            // The one that has pushed has been sent the same.
            var first = SyncDevice(1)
            first.take(pushed, [])
            #expect(first.wholeLines == other.wholeLines)
        }
    }

    @Test func `no reply is kept: of a request with changes that it came, of one that only reads nothing`() async throws {
        try await withHabits { world in
            var context = world.context
            let handler = Sync(habits: world.habits, mutations: world.mutations)
            for (key, changes) in [("pull-1", []), ("push-1", [Push.habit(1, 1, "Read")]), ("pull-2", [])] {
                context.idempotencyKey = key
                let request = SyncRequest(deviceID: "\(HabitID(high: 0xD0, low: 1))", schemaVersion: 1, changes: changes)
                for isRepeated in [false, true] {
                    let results = try await handler.handle(request, context).reply.results
                    #expect(results.allSatisfy { $0.outcome == .applied && $0.repeated == isRepeated })
                    #expect(results.count == changes.count)
                }
            }
            context.idempotencyKey = "push-1"
            let device = "\(HabitID(high: 0xD0, low: 1))"
            let other = SyncRequest(deviceID: device, schemaVersion: 1, changes: [Push.habit(2, 2, "Walk")])
            let refusal = await #expect(throws: ServiceError.self) { _ = try await handler.handle(other, context) }
            #expect(refusal?.reason == "IDEMPOTENCY_KEY_REUSED")
            let kept = try await world.database.query("SELECT reply IS NULL FROM stored_reply")
            #expect(try kept.map { try $0.decode(as: Bool.self) } == [true])
        }
    }

    @Test func `of answers to changes the newest 20,000 of a user are kept, and others' all`() async throws {
        try await withHabits { world in
            let first = Push.habit(1, 1, "Read")
            try await world.push([first])
            try await world.database.execute(
                """
                INSERT INTO habit_sync_change (user_id, change_id, outcome, answered_at)
                SELECT \(UserID(high: 7, low: 7)), change_id, outcome, answered_at FROM habit_sync_change
                """
            )
            let many: Query = """
                INSERT INTO habit_sync_change (user_id, change_id, outcome, answered_at)
                SELECT \(world.user), gen_random_uuid(), 1, first.at + n * interval '1 millisecond'
                FROM (SELECT max(answered_at) AS at FROM habit_sync_change) AS first, generate_series(1, 20000) AS n
                """
            _ = try await world.database.withSession(statementTimeout: .minutes(2)) { session in try await session.execute(many) }
            world.clock.advance(by: .hours(1))
            #expect(try await world.push([first, Push.habit(2, 2, "Walk")]).answers.count == 2)
            let counts = try await world.database.query(
                "SELECT count(*) FROM habit_sync_change GROUP BY user_id ORDER BY 1"
            ).map { try $0.decode(as: Int64.self) }
            #expect(counts == [1, 20_001] && SyncRepository.mostAnswers == 20_000)
        }
    }

    @Test func `a change that was answered gets the same answer again and does nothing`() async throws {
        try await withHabits { world in
            let changes = [
                Push.habit(1, 1, "Read", target: 10), Push.done(2, 1, 1, on: "2026-01-05", SyncCompletionFields(value: 4)),
                Push.done(3, 2, 1, on: "2025-01-05"), Push.done(4, 3, 2, on: "2026-01-05"),
            ]
            let first = try await world.push(changes)
            #expect(first.answers == ["applied", "applied", "DATE_TOO_OLD", "HABIT_NOT_FOUND"])
            // What would be another answer by now is the first one still.
            try await world.push([Push.habit(5, 2, "Walk"), Push.undone(6, 1)])
            let again = try await world.push(changes + [changes[1]], device: 2)
            #expect(again.answers == ["applied*", "applied*", "DATE_TOO_OLD*", "HABIT_NOT_FOUND*", "applied*"])
            #expect(again.results[2].message == first.results[2].message && again.results[2].message != nil)
            let copy = try await world.everything()
            #expect(copy.completions.isEmpty && copy.habits.count == 2)
            // The same in one request.
            let twice = try await world.push([Push.habit(7, 3, "Run"), Push.habit(7, 4, "Swim")])
            #expect(twice.answers == ["applied", "applied*"])
            #expect(try await world.everything().habits[habitID(4)] == nil)
        }
    }

    @Test func `a change that is refused leaves the others alone`() async throws {
        try await withHabits { world in
            let reply = try await world.push([
                Push.habit(1, 1, "Read"), Push.habit(2, 2, ""), Push.done(3, 1, 1, on: "2026-01-06"),
                Push.done(4, 2, 1, on: "2026-01-05"), Push.skip(5, 9, on: "2026-01-05"), Push.on(6, "archive", 9),
                Push.note(7, "Tomorrow", on: "2026-01-06"), Push.note(8, "Today", on: "2026-01-05"),
                Push.edit(9, 8, SyncCompletionFields(note: "x")), Push.undone(10, 8),
            ])
            let answers = reply.answers
            #expect(answers[0...4] == ["applied", "VALIDATION_ERROR", "DATE_IN_FUTURE", "applied", "HABIT_NOT_FOUND"])
            #expect(
                answers[5...] == ["HABIT_NOT_FOUND", "DATE_IN_FUTURE", "applied", "COMPLETION_NOT_FOUND", "COMPLETION_NOT_FOUND"]
            )
            #expect(reply.results[1].field == "name")
            let copy = try await world.everything()
            #expect(copy.habits.count == 1 && copy.completions.count == 1 && copy.notes.count == 1)
        }
    }

    @Test func `a change that cannot be read names all of its wrong fields`() async throws {
        try await withHabits { world in
            let wrong = SyncChange(changeID: "1", entity: "habits", operation: "upsert", entityID: "7", date: "today")
            let other = Push.habit(1, 1, " ").with { ($0.operation, $0.date) = ("upsert", "2026-13-01") }
            let results = try await world.push([wrong, other]).results
            let texts = results.map { $0.message ?? "" }
            #expect(results.map(\.code) == ["VALIDATION_ERROR", "VALIDATION_ERROR"])
            for part in ["change_id must be a UUID", "entity must be one of category,", "entity_id must be", "date must be"] {
                #expect(texts[0].contains(part), "\(texts[0])")
            }
            for part in ["operation must be one of create, update, delete, undelete", "date must be"] {
                #expect(texts[1].contains(part), "\(texts[1])")
            }
        }
    }

    @Test func `what is deleted is gone for changes that come later, and deleting it again is done`() async throws {
        try await withHabits { world in
            try await world.push([
                Push.habit(1, 1, "Read"), Push.habit(2, 2, "Walk"), Push.done(3, 1, 1, on: "2026-01-05"),
                Push.done(4, 2, 2, on: "2026-01-05"),
                SyncChange(5, "category", "create", id: "\(categoryID(1))").with { $0.category = SyncCategoryFields(name: "A") },
            ])
            let category = SyncChange(10, "category", "delete", id: "\(categoryID(1))")
            var deletions = [Push.on(11, "delete", 1), Push.undone(12, 2), category]
            #expect(try await world.push(deletions).answers == ["applied", "applied", "applied"])
            for index in deletions.indices { deletions[index].changeID = "\(HabitID(high: 0xC0, low: UInt64(20 + index)))" }
            let later = [
                Push.update(30, 1, SyncHabitFields(name: "Book")), Push.habit(31, 1, "Read"),
                Push.done(32, 3, 1, on: "2026-01-05"),
                Push.edit(33, 1, SyncCompletionFields(note: "x")), Push.skip(34, 1, on: "2026-01-05"), Push.on(35, "archive", 1),
                Push.edit(36, 2, SyncCompletionFields(note: "x")), Push.done(37, 2, 2, on: "2026-01-05"),
                SyncChange(38, "category", "update", id: "\(categoryID(1))").with { $0.category = SyncCategoryFields(name: "B") },
                SyncChange(39, "category", "create", id: "\(categoryID(1))").with { $0.category = SyncCategoryFields(name: "B") },
            ]
            #expect(
                try await world.push(deletions + later).answers == ["applied", "applied", "applied"] + later.map { _ in "GONE" }
            )
            let done = [Push.undone(40, 1), Push.skip(41, 1, on: "2026-01-05", "delete")]
            #expect(try await world.push(done).answers == ["applied", "applied"])
            // A category that is gone is none: the habit is not refused for it.
            let habit = Push.habit(50, 5, "Run").with { $0.habit?.categoryID = "\(categoryID(1))" }
            #expect(try await world.push([habit]).answers == ["applied"])
            #expect(try await world.everything().habits[habitID(5)]?.categoryID == nil)
        }
    }

    @Test func `one request and many come to the same, whatever is done and undone in it`() async throws {
        let changes = [
            Push.habit(1, 1, "Read"), Push.done(2, 1, 1, on: "2026-01-05", SyncCompletionFields(value: 2, note: "a")),
            Push.done(3, 2, 1, on: "2026-01-05", SyncCompletionFields(note: "b")),
            Push.edit(4, 2, SyncCompletionFields(mood: "bad")),
            Push.undone(5, 1), Push.done(6, 1, 1, on: "2026-01-05"), Push.edit(7, 2, SyncCompletionFields(note: "c")),
            Push.undone(8, 2), Push.done(9, 3, 1, on: "2025-11-01"), Push.undone(10, 3), Push.done(11, 3, 1, on: "2026-01-04"),
            Push.skip(12, 1, on: "2026-01-03"), Push.skip(13, 1, on: "2026-01-05"), Push.skip(14, 1, on: "2026-01-05", "delete"),
            Push.note(15, "x", on: "2026-01-05"), Push.note(16, "", on: "2026-01-05"), Push.note(17, "y", on: "2026-01-05"),
            Push.on(18, "archive", 1), Push.on(19, "archive", 1), Push.on(20, "unarchive", 1), Push.on(21, "delete", 1),
            Push.update(22, 1, SyncHabitFields(name: "Book")), Push.on(23, "undelete", 1), Push.undone(24, 3),
            Push.on(25, "undelete", 1), Push.update(26, 1, SyncHabitFields(name: "Book", targetValue: 5)),
            SyncChange(27, "settings", "update").with { $0.settings = SyncSettingsFields(firstDayOfWeek: 3) },
            SyncChange(28, "settings", "update").with { $0.settings = SyncSettingsFields(theme: "light") },
            Push.done(29, 4, 1, on: "2026-01-05"), Push.habit(30, 2, "book"),
        ]
        let expected = [
            "applied", "applied", "merged", "applied", "applied", "GONE", "GONE", "applied", "DATE_TOO_OLD",
            "COMPLETION_NOT_FOUND",
            "applied", "DATE_NOT_DUE", "applied", "applied", "applied", "applied", "applied", "applied", "applied", "applied",
            "applied",
            "GONE", "applied", "applied", "applied", "applied", "applied", "applied", "applied", "applied",
        ]
        try await withHabits { world in
            let whole = try await world.push(changes)
            #expect(whole.answers == expected)
            let other = world.of(UserID(high: 1, low: 2))
            try await other.register()
            for (change, answer) in zip(changes, expected) {
                #expect(try await other.push([change]).answers == [answer], "\(change)")
            }
            let (one, many) = (try await world.everything(), try await other.everything())
            // The categories of the start have ids of their own.
            let lines = [one, many].map { $0.lines.filter { !$0.hasPrefix("category") && !$0.hasPrefix("groups") } }
            #expect(lines[0] == lines[1])
            #expect(one.streaks == many.streaks)
            #expect(one.habits[habitID(2)]?.name == "book (2)" && one.notes[day("2026-01-05")]?.note == "y")
        }
    }

    @Test func `another user's ids neither collide nor answer`() async throws {
        try await withHabits { world in
            let changes = [Push.habit(1, 1, "Read"), Push.done(2, 1, 1, on: "2026-01-05"), Push.note(3, "a", on: "2026-01-05")]
            try await world.push(changes)
            let other = world.of(UserID(high: 1, low: 2))
            try await other.register()
            // Nothing of the first user answers, by any id.
            let before = try await other.push(
                [Push.update(10, 1, SyncHabitFields(name: "Mine")), Push.undone(11, 1), Push.on(12, "undelete", 1)]
            )
            #expect(before.answers == ["HABIT_NOT_FOUND", "COMPLETION_NOT_FOUND", "HABIT_NOT_FOUND"])
            #expect(try await other.push([changes[1]]).answers == ["HABIT_NOT_FOUND"])
            #expect(try await other.push([changes[0]]).answers == ["applied"], "the same ids of change and habit are another's")
            #expect(try await other.push([Push.done(4, 1, 1, on: "2026-01-04")]).answers == ["applied"])
            let (first, second) = (try await world.everything(), try await other.everything())
            #expect(first.completions[completionID(1)]?.date == day("2026-01-05"))
            #expect(second.completions[completionID(1)]?.date == day("2026-01-04") && second.notes.isEmpty)
            // Deleting one's own leaves the other's.
            try await other.push([Push.on(20, "delete", 1)])
            #expect(try await world.everything().wholeLines == first.wholeLines)
        }
    }

    @Test func `a device reaches back to 7 dates before its last sync, all of its queue, and at most 366`() async throws {
        try await withHabits { world in
            try await world.push([Push.habit(1, 1, "Read")])
            world.clock.advance(by: .days(10))
            let first = try await world.push([Push.done(2, 1, 1, on: "2025-12-29")], more: true)
            #expect(first.answers == ["applied"] && first.earliestDate == day("2025-12-29"), "the queue goes on")
            let refused = try await world.push([Push.done(3, 2, 1, on: "2025-12-28")], more: true)
            #expect(refused.answers == ["DATE_TOO_OLD"])
            let last = try await world.push([Push.skip(4, 1, on: "2025-12-29")])
            #expect(last.answers == ["applied"] && last.earliestDate == day("2026-01-08"))
            #expect(try await world.push([Push.done(5, 3, 1, on: "2026-01-07")]).answers == ["DATE_TOO_OLD"])
            // A device that was never here reaches 7 dates.
            #expect(try await world.push([Push.done(6, 4, 1, on: "2026-01-07")], device: 2).answers == ["DATE_TOO_OLD"])
            #expect(try await world.push([Push.done(7, 4, 1, on: "2026-01-08")], device: 2).answers == ["applied"])
            world.clock.advance(by: .days(390))
            let year = try await world.push([Push.done(8, 5, 1, on: "2026-02-07"), Push.done(9, 6, 1, on: "2026-02-08")])
            #expect(year.today == day("2027-02-09"))
            #expect(year.answers == ["DATE_TOO_OLD", "applied"])
        }
    }

    @Test func `a restore begins an epoch: older pushes are refused whole, and what was unsent survives`() async throws {
        try await withHabits { world in
            var (phone, pad) = (SyncDevice(1), SyncDevice(2))
            phone.queue = [Push.habit(1, 1, "Read"), Push.habit(2, 2, "Walk")]
            try await phone.sync { try await world.sync($0) }
            try await pad.sync { try await world.sync($0) }
            try await world.restore([(habitID(1), "Read", nil)])
            let stale = [Push.done(3, 1, 1, on: "2026-01-05"), Push.done(4, 2, 2, on: "2026-01-05")]
            #expect(await world.reason { try await world.push(stale, epoch: 1) } == "RESYNC_REQUIRED")
            #expect(try await world.everything().completions.isEmpty, "nothing of it was done")
            // A pull of an earlier epoch begins anew.
            try await pad.sync { request in
                let reply = try await world.sync(request)
                #expect(reply.reset && reply.epoch == 2)
                return reply
            }
            #expect(pad.habits.keys.sorted() == [habitID(1)] && pad.categories.count == 5)
            phone.queue = stale
            try await phone.sync { try await world.sync($0) }
            #expect(phone.results.suffix(2).map(\.code) == [nil, "HABIT_NOT_FOUND"])
            #expect(phone.completions.keys.sorted() == [completionID(1)] && phone.epoch == 2)
            try await pad.sync { try await world.sync($0) }
            #expect(pad.lines == phone.lines)
            // Clearing does the same.
            try await world.restore()
            phone.queue = [Push.habit(5, 3, "Run")]
            try await phone.sync { try await world.sync($0) }
            #expect(phone.epoch == 3 && phone.habits.keys.sorted() == [habitID(3)] && phone.completions.isEmpty)
            let fresh = try await world.everything()
            #expect(fresh.lines == phone.lines)
        }
    }

    @Test func `what comes back has its completions and skips on all devices again`() async throws {
        try await withHabits { world in
            var (phone, pad) = (SyncDevice(1), SyncDevice(2))
            phone.queue = [
                Push.habit(1, 1, "Read"), Push.done(2, 1, 1, on: "2026-01-05"), Push.skip(3, 1, on: "2026-01-05"),
                Push.done(4, 2, 1, on: "2026-01-04", SyncCompletionFields(note: "x")),
            ]
            try await phone.sync { try await world.sync($0) }
            try await pad.sync { try await world.sync($0) }
            let before = pad.lines
            try await world.delete(habitID(1))
            try await pad.sync { try await world.sync($0) }
            #expect(pad.habits.isEmpty && pad.completions.isEmpty && pad.skips.isEmpty && pad.streaks.isEmpty)
            phone.queue = [Push.habit(5, 2, "read"), Push.on(6, "undelete", 1)]
            try await phone.sync { try await world.sync($0) }
            try await pad.sync { try await world.sync($0) }
            #expect(pad.lines == phone.lines)
            #expect(pad.habits[habitID(1)]?.name == "Read (2)", "another has the name meanwhile")
            #expect(pad.completions.count == 2 && pad.skips.count == 1 && pad.streaks.count == 2)
            #expect(Set(before.filter { !$0.hasPrefix("habit") && !$0.hasPrefix("order") }).isSubset(of: pad.lines))
        }
    }
}
