import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksHabitSync
@testable import StreaksHabits

/// What two devices have done to the same: merges, names, fields, order and limits (HA-7, HA-13, HA-14).
@Suite(.timeLimit(.minutes(10))) struct SyncMergeTests {
    @Test func `two completions of a date without target become one, under the id that came first`() async throws {
        try await withHabits { world in
            let first = SyncCompletionFields(value: 3, note: "from the phone", mood: "good")
            try await world.push([Push.habit(1, 1, "Read"), Push.done(2, 1, 1, on: "2026-01-05", first)])
            let merged = try await world.push(
                [Push.done(3, 2, 1, on: "2026-01-05", SyncCompletionFields(mood: "bad"))],
                device: 2
            )
            #expect(merged.answers == ["merged"] && merged.results[0].mergedInto == "\(completionID(1))")
            let copy = try await world.everything()
            let kept = try #require(copy.completions[completionID(1)])
            #expect(copy.completions.count == 1)
            #expect(kept.value == 3 && kept.note == "from the phone" && kept.mood == "bad", "fields that were not sent stay")
            // The other id is another name of it, also for a device that does not know of the merge.
            let edit = Push.edit(4, 2, SyncCompletionFields(value: 5, note: "from the pad"))
            #expect(try await world.push([edit], device: 2).answers == ["applied"])
            let edited = try await world.everything().completions[completionID(1)]
            #expect(edited?.value == 5 && edited?.note == "from the pad" && edited?.mood == "bad")
            let again = try await world.push([Push.done(3, 2, 1, on: "2026-01-05")], device: 2)
            #expect(again.answers == ["merged*"] && again.results[0].mergedInto == "\(completionID(1))")
            #expect(try await world.push([Push.done(5, 2, 1, on: "2026-01-05")]).answers == ["COMPLETION_ID_TAKEN"])
            #expect(try await world.push([Push.undone(6, 2)], device: 2).answers == ["applied"])
            #expect(try await world.everything().completions.isEmpty)
            #expect(try await world.push([Push.edit(7, 1, SyncCompletionFields(note: "x"))]).answers == ["GONE"])
        }
    }

    @Test func `with a target completions add up, and one without value adds what is missing`() async throws {
        try await withHabits { world in
            try await world.push([Push.habit(1, 1, "Water", target: 8), Push.habit(2, 2, "Walk")])
            try await world.push([Push.done(3, 1, 1, on: "2026-01-05", SyncCompletionFields(value: 3))])
            let second = try await world.push(
                [Push.done(4, 2, 1, on: "2026-01-05", SyncCompletionFields(value: 2)), Push.done(5, 3, 1, on: "2026-01-05")],
                device: 2
            )
            #expect(second.answers == ["applied", "applied"])
            let filled = try await world.push(
                [Push.done(6, 4, 1, on: "2026-01-05", SyncCompletionFields(note: "late"))],
                device: 3
            )
            #expect(filled.answers == ["merged"] && filled.results[0].mergedInto == "\(completionID(1))")
            let copy = try await world.everything()
            #expect((1...3).map { copy.completions[completionID($0)]?.value } == [3, 2, 3])
            #expect(copy.completions.count == 3 && copy.completions[completionID(1)]?.note == "late")
            #expect(copy.streaks.first { $0.habitID == habitID(1) }?.count == 1)
            let without = Push.edit(7, 1, SyncCompletionFields()).with { $0.clear = ["value"] }
            let refused = try await world.push([without])
            #expect(refused.answers == ["VALIDATION_ERROR"] && refused.results[0].field == "value")
            // One id is of one habit and date.
            let taken = try await world.push([Push.done(8, 1, 2, on: "2026-01-05"), Push.done(9, 1, 1, on: "2026-01-04")])
            #expect(taken.answers == ["COMPLETION_ID_TAKEN", "COMPLETION_ID_TAKEN"])
        }
    }

    @Test func `equal names get a number, and a category of the start is the one that is there`() async throws {
        try await withHabits { world in
            func category(_ change: UInt64, _ id: UInt64, _ name: String, _ color: String? = nil) -> SyncChange {
                SyncChange(change, "category", "create", id: "\(categoryID(id))").with {
                    $0.category = SyncCategoryFields(name: name, color: color)
                }
            }
            try await world.push([Push.habit(1, 1, "Read"), category(2, 1, "Garden")])
            let long = String(repeating: "x", count: 50)
            let reply = try await world.push(
                [
                    Push.habit(3, 2, " READ "), Push.habit(4, 3, "Caf\u{E9}"), Push.habit(5, 4, "Cafe\u{301}"),
                    category(6, 2, "garden"), category(7, 3, "hEALTH", "#14B8A6"),
                    Push.habit(8, 5, long).with { $0.habit?.categoryID = "\(categoryID(3))" },
                    Push.update(9, 2, SyncHabitFields(name: long)), category(10, 4, "Work"),
                    SyncChange(11, "category", "update", id: "\(categoryID(4))").with {
                        $0.category = SyncCategoryFields(name: "Job")
                    },
                    SyncChange(12, "category", "update", id: "\(categoryID(2))").with {
                        $0.category = SyncCategoryFields(name: "GARDEN")
                    },
                    category(13, 3, "Third"),
                ],
                device: 2
            )
            let answers = reply.answers
            #expect(answers[..<4] == ["applied", "applied", "applied", "applied"])
            #expect(answers[4...] == ["merged", "applied", "applied", "merged", "applied", "applied", "CATEGORY_ID_TAKEN"])
            let copy = try await world.everything()
            let names = (1...5).map { copy.habits[habitID($0)]?.name }
            #expect(names == ["Read", long.dropLast(4) + " (2)", "Caf\u{E9}", "Cafe\u{301} (2)", long])
            let health = try #require(copy.categories.values.first { $0.name == "hEALTH" })
            #expect(copy.habits[habitID(5)]?.categoryID == health.id, "the own id is another name of it")
            #expect(health.color == "#14B8A6" && !health.isCustom && "\(health.id)" == reply.results[4].mergedInto)
            #expect(Set(copy.categories.values.map(\.name)).isSuperset(of: ["Garden", "GARDEN (2)", "Job"]))
            #expect(copy.categories.count == 7)
            // Also in later requests, twice in an order, and when it is deleted.
            let order = SyncChange(20, "category_order", "update").with {
                $0.ids = ["\(categoryID(2))", "\(categoryID(3))", "\(health.id)", "\(categoryID(1))"]
            }
            #expect(try await world.push([order]).answers == ["applied"])
            let ordered = try await world.everything().categories.values.sorted { $0.position < $1.position }
            #expect(ordered.prefix(3).map(\.id) == [categoryID(2), health.id, categoryID(1)])
            #expect(try await world.push([SyncChange(21, "category", "delete", id: "\(categoryID(3))")]).answers == ["applied"])
            let after = try await world.everything()
            #expect(after.categories[health.id] == nil && after.habits[habitID(5)]?.categoryID == nil)
        }
    }

    @Test func `each field has its last writer by the server, whatever the clocks of devices say`() async throws {
        try await withHabits { world in
            try await world.push([Push.habit(1, 1, "Read"), Push.done(2, 1, 1, on: "2026-01-05")])
            let base = try #require(try await world.everything().habits[habitID(1)]).sequence
            func update(_ change: UInt64, _ fields: SyncHabitFields) -> SyncChange {
                Push.update(change, 1, fields).with { $0.baseSequence = base }
            }
            try await world.push([update(3, SyncHabitFields(name: "Book", color: "#10B981"))], device: 2)
            world.clock.advance(by: .hours(1))
            try await world.push([update(4, SyncHabitFields(color: "#F43F5E", unit: "pages"))], device: 3)
            let habit = try #require(try await world.everything().habits[habitID(1)])
            #expect(habit.name == "Book" && habit.unit == "pages", "fields that both have not changed are of who has")
            #expect(habit.color == "#F43F5E", "what both have changed is of who came later")
            // The times that devices send decide nothing, and one that cannot be right is left out.
            let early = SyncCompletionFields(note: "later", doneAt: moment("2026-01-05T06:00:00Z"))
            try await world.push([Push.edit(5, 1, SyncCompletionFields(note: "first", doneAt: world.clock.now()))])
            try await world.push([Push.edit(6, 1, early)], device: 2)
            let done = try #require(try await world.everything().completions[completionID(1)])
            #expect(done.note == "later" && done.doneAt == moment("2026-01-05T06:00:00Z"))
            let wrong = [
                world.clock.now() + .minutes(6), moment("2026-01-04T23:59:59Z"), moment("2031-01-05T06:00:00Z"),
                Instant.writable.lowerBound,
                Instant.writable.upperBound,
            ]
            for (index, time) in wrong.enumerated() {
                let note = "\(index)"
                let edit = Push.edit(10 + UInt64(index), 1, SyncCompletionFields(note: note, doneAt: time))
                #expect(try await world.push([edit]).answers == ["applied"])
                let now = try #require(try await world.everything().completions[completionID(1)])
                #expect(now.note == note && now.doneAt == moment("2026-01-05T06:00:00Z"), "\(time)")
            }
            // A little ahead is now; cleared is none.
            try await world.push([Push.edit(20, 1, SyncCompletionFields(doneAt: world.clock.now() + .minutes(4)))])
            #expect(try await world.everything().completions[completionID(1)]?.doneAt == world.clock.now())
            try await world.push([Push.edit(21, 1, SyncCompletionFields()).with { $0.clear = ["done_at", "mood"] }])
            let cleared = try #require(try await world.everything().completions[completionID(1)])
            #expect(cleared.doneAt == nil && cleared.mood == nil && cleared.note == "4")
        }
    }

    @Test func `fields are emptied by name, and those not named stay`() async throws {
        try await withHabits { world in
            let create = Push.habit(1, 1, "Read", target: 5).with {
                $0.habit?.reminderTime = "08:00"
                $0.habit?.reminderDays = [1, 2]
                $0.habit?.description = "twenty pages"
            }
            try await world.push([create])
            func cleared(_ change: UInt64, _ names: String..., fields: SyncHabitFields? = nil) -> SyncChange {
                SyncChange(change, "habit", "update", id: "\(habitID(1))").with { ($0.clear, $0.habit) = (names, fields) }
            }
            try await world.push([cleared(2, "reminder_days", "target_value", fields: SyncHabitFields(description: ""))])
            let first = try #require(try await world.everything().habits[habitID(1)])
            #expect(first.reminderTime == "08:00" && first.reminderDays.isEmpty && first.description.isEmpty)
            #expect(first.versions.count == 1 && first.versions[0].targetValue == nil)
            try await world.push([cleared(3, "reminder_time")])
            #expect(try await world.everything().habits[habitID(1)]?.reminderTime == nil)
            let refused = try await world.push([cleared(4, fields: SyncHabitFields(reminderDays: [1])), cleared(5, "name")])
            #expect(refused.answers == ["VALIDATION_ERROR", "VALIDATION_ERROR"])
            #expect(refused.results.map(\.field) == ["reminder_days", "clear"])
        }
    }

    @Test func `skips, pauses, the archive, orders, settings and day notes follow the last writer too`() async throws {
        try await withHabits { world in
            func pause(_ change: UInt64, _ from: String, _ until: String) -> SyncChange {
                SyncChange(change, "pause", "create").with {
                    ($0.habitID, $0.pause) = ("\(habitID(1))", SyncPauseFields(from: from, until: until))
                }
            }
            func order(_ change: UInt64, _ ids: UInt64...) -> SyncChange {
                SyncChange(change, "habit_order", "update").with { $0.ids = ids.map { "\(habitID($0))" } }
            }
            let resume = SyncChange(9, "pause", "delete").with { $0.habitID = "\(habitID(1))" }
            try await world.push((1...4).map { Push.habit($0, $0, "Habit \($0)") })
            let reply = try await world.push(
                [
                    Push.skip(5, 1, on: "2026-01-05"), Push.skip(6, 1, on: "2026-01-05"), pause(7, "2025-12-01", "2026-01-10"),
                    pause(8, "2026-01-09", "2026-02-01"), resume, resume.with { $0.changeID = "\(HabitID(high: 0xC0, low: 10))" },
                    pause(11, "2026-01-07", "2026-04-08"), pause(12, "2026-01-01", "2026-01-05"), order(13, 3, 9, 1),
                    Push.on(14, "archive", 2), Push.on(15, "archive", 2),
                ],
                device: 2
            )
            let answers = reply.answers
            #expect(answers[..<4] == ["applied", "applied", "applied", "ALREADY_PAUSED"])
            #expect(answers[4..<8] == ["applied", "NOT_PAUSED", "PAUSE_TOO_LONG", "VALIDATION_ERROR"])
            #expect(answers[8...] == ["applied", "applied", "applied"])
            let copy = try await world.everything()
            #expect(copy.habits.values.sorted { $0.position < $1.position }.map(\.id) == [3, 1, 2, 4].map(habitID))
            #expect(copy.habits[habitID(2)]?.archived == true && copy.habits[habitID(2)]?.archivedAt == world.clock.now())
            #expect(copy.skips == ["\(habitID(1)) 2026-01-05"] && copy.habits[habitID(1)]?.pauses.isEmpty == true)
            try await world.push(
                [Push.skip(20, 1, on: "2026-01-05", "delete"), pause(21, "2026-01-08", "2026-01-20")],
                device: 3
            )
            let later = try await world.everything()
            #expect(later.skips.isEmpty)
            #expect(later.habits[habitID(1)]?.pauses == [SyncPause(from: day("2026-01-08"), until: day("2026-01-20"))])
            // A note that was deleted since is gone for who changes it, and may be written anew.
            try await world.push([Push.note(30, "a", on: "2026-01-05")])
            let base = try #require(try await world.everything().notes[day("2026-01-05")]).sequence
            let notes = try await world.push([
                Push.note(31, "b", on: "2026-01-05", base: base), Push.note(32, "", on: "2026-01-05"),
            ])
            #expect(notes.answers == ["applied", "applied"])
            #expect(try await world.push([Push.note(33, "c", on: "2026-01-05", base: base)], device: 2).answers == ["GONE"])
            #expect(try await world.push([Push.note(34, "d", on: "2026-01-05")], device: 2).answers == ["applied"])
            #expect(try await world.everything().notes[day("2026-01-05")]?.note == "d")
        }
    }

    @Test func `above the plan's limit a habit arrives in the archive, and what only premium has is refused`() async throws {
        try await withHabits { world in
            let reply = try await world.push((1...6).map { Push.habit($0, $0, "Habit \($0)") })
            #expect(reply.answers == Array(repeating: "applied", count: 6))
            #expect(reply.habits.filter(\.archived).map(\.id) == [habitID(6)])
            let more = try await world.push([
                Push.on(10, "unarchive", 6), Push.update(11, 1, SyncHabitFields(color: "#123456")),
                Push.on(12, "delete", 1), Push.on(13, "unarchive", 6), Push.on(14, "undelete", 1), Push.on(15, "unarchive", 1),
            ])
            let answers = more.answers
            #expect(answers[..<3] == ["HABIT_LIMIT_REACHED", "PREMIUM_REQUIRED", "applied"])
            #expect(answers[3...] == ["applied", "applied", "HABIT_LIMIT_REACHED"])
            let copy = try await world.everything()
            #expect(copy.habits.count == 6 && copy.habits.values.filter(\.archived).map(\.id) == [habitID(1)])
            // Completions of it count all the same: it was done on a device that did not know.
            #expect(try await world.push([Push.done(20, 1, 1, on: "2026-01-05")]).answers == ["applied"])
            try await world.premium()
            let premium = try await world.push([
                Push.on(30, "unarchive", 1), Push.update(31, 1, SyncHabitFields(color: "#123456")),
            ])
            #expect(premium.answers == ["applied", "applied"])
        }
    }

    @Test func `a date has at most 100 completions, also one that was settled long ago`() async throws {
        try await withHabits { world in
            try await world.push([Push.habit(1, 1, "Water", target: 1_000_000)])
            func batch(_ first: UInt64, _ count: UInt64, on date: String) -> [SyncChange] {
                (0..<count).map { Push.done(first + $0, first + $0, 1, on: date, SyncCompletionFields(value: 1)) }
            }
            let now = try await world.push(batch(100, 101, on: "2026-01-05"))
            #expect(now.answers == Array(repeating: "applied", count: 100) + ["TOO_MANY_COMPLETIONS"])
            #expect(try await world.push(batch(300, 60, on: "2026-01-04")).answers == Array(repeating: "applied", count: 60))
            world.clock.advance(by: .days(5))
            try await world.settle()
            let later = try await world.push(batch(400, 41, on: "2026-01-04"))
            #expect(later.answers == Array(repeating: "applied", count: 40) + ["TOO_MANY_COMPLETIONS"])
            #expect(try await world.everything().completions.count == 200)
            // What the same request deletes first makes room.
            let full = try await world.push(
                [Push.undone(500, 100)] + batch(501, 2, on: "2026-01-05") + [Push.undone(510, 501)]
                    + batch(511, 2, on: "2026-01-05")
            )
            #expect(
                full.answers
                    == ["applied", "applied", "TOO_MANY_COMPLETIONS", "applied", "applied", "TOO_MANY_COMPLETIONS"]
            )
            #expect(try await world.everything().completions.count == 200)
        }
    }

    @Test func `an account has at most 1,000 habits, and one that is deleted cannot come back above them`() async throws {
        try await withHabits { world in
            try await world.push([Push.habit(1, 1, "First"), Push.on(2, "delete", 1)])
            for first in stride(from: UInt64(1_000), to: 2_000, by: 250) {
                let reply = try await world.push((first..<first + 250).map { Push.habit($0, $0, "Habit \($0)") })
                #expect(reply.answers == Array(repeating: "applied", count: 250))
            }
            let reply = try await world.push([Push.habit(3_000, 3_000, "One more"), Push.on(3_001, "undelete", 1)])
            #expect(reply.answers == ["TOO_MANY_HABITS", "TOO_MANY_HABITS"])
            #expect(try await world.everything().habits.count == 1_000)
        }
    }
}
