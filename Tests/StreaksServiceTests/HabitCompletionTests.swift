import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksHabits

/// What is done of habits: values, notes, past dates, skips, pauses, weeks (HA-2, HA-8 … HA-14).
struct HabitCompletionTests {
    @Test func `without a target a date has one completion, and another updates it`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read")
            let first = try await world.complete(habit.id, note: "Chapter 1", mood: "good")
            #expect(first.status == .done && first.currentStreak == 1 && first.dayComplete && first.completions == 1)
            #expect(first.completion?.doneAt == world.clock.now() && first.completion?.mood == "good")
            #expect(first.progress?.text == "Perfect!" && first.progress?.done == 1 && first.progress?.total == 1)
            let again = try await world.complete(habit.id, value: 3, note: "Chapter 2")
            #expect(again.completion?.id == first.completion?.id && again.completions == 1 && !again.dayComplete)
            #expect(again.completion?.note == "Chapter 2" && again.completion?.mood == "good" && again.value == 3)
            #expect(try await world.complete(habit.id, increment: 1.5).value == 4.5)
        }
    }

    @Test func `with a target values add up, exactly, and what is missing is added without one`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Water", target: 0.3)
            let first = try await world.complete(habit.id, value: 0.1)
            #expect(first.status == .partial && first.currentStreak == 0 && !first.dayComplete)
            #expect(try await world.complete(habit.id, increment: 0.2).status == .done)
            let second = try await world.create("Read", target: 50)
            try await world.complete(second.id, value: 45)
            let filled = try await world.complete(second.id)
            #expect(filled.value == 50 && filled.status == .done && filled.completion?.value == 5 && filled.dayComplete)
            let nothing = try await world.complete(second.id)
            #expect(nothing.value == 50 && nothing.completions == 2 && nothing.completion == nil)
            #expect(try await world.card(second.id).quickValues == [5, 10, 25])
        }
    }

    @Test func `a client's id makes a repeat harmless, and is taken by one habit and date`() async throws {
        try await withHabits { world in
            let (habit, other) = (try await world.create("Read", target: 10), try await world.create("Walk"))
            let id = CompletionID(high: 3, low: 3)
            for _ in 0..<3 { #expect(try await world.complete(habit.id, value: 4, id: id).value == 4) }
            #expect(await world.reason { try await world.complete(other.id, id: id) } == "COMPLETION_ID_TAKEN")
            #expect(await world.reason { try await world.complete(habit.id, on: "2026-01-04", id: id) } == "COMPLETION_ID_TAKEN")
        }
    }

    @Test func `values, notes and times out of their bounds are refused by name`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read").id
            for value in [Double.nan, 0, -3, 1e10, 0.0001] {
                let bad = await world.fields { try await world.complete(habit, value: value) }
                #expect(Array(bad.keys) == ["value"], "\(value)")
            }
            let both = await world.fields { try await world.complete(habit, value: 1, increment: 1) }
            #expect(Array(both.keys) == ["increment"])
            let long = String(repeating: "x", count: 101)
            #expect(await world.fields { try await world.complete(habit, note: long) }.keys.contains("note"))
            func at(_ time: String, on date: String? = nil) async -> [String: String] {
                await world.fields {
                    try await world.complete(CompleteHabitRequest(habitID: habit, date: date.map(day), doneAt: moment(time)))
                }
            }
            #expect(await at("2026-01-05T13:00:00Z").keys.contains("done_at"))
            #expect(await at("2026-01-04T13:00:00Z", on: "2026-01-03").keys.contains("done_at"))
            #expect(try await world.detail(habit).totalCompletions == 0)
            // The date follows from the time.
            let yesterday = try await world.complete(
                CompleteHabitRequest(habitID: habit, doneAt: moment("2026-01-04T22:15:00Z"))
            )
            #expect(yesterday.date == day("2026-01-04") && yesterday.completion?.doneAt == moment("2026-01-04T22:15:00Z"))
        }
    }

    @Test func `seven dates back are taken, and not eight, nor tomorrow`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read").id
            #expect(await world.reason { try await world.complete(habit, on: "2025-12-29") } == nil)
            #expect(await world.reason { try await world.complete(habit, on: "2025-12-28") } == "DATE_TOO_OLD")
            #expect(await world.reason { try await world.complete(habit, on: "2026-01-06") } == "DATE_IN_FUTURE")
            #expect(await world.reason { try await world.skip(habit, on: "2025-12-28") } == "DATE_TOO_OLD")
            let start = try await world.detail(habit)
            #expect(start.habit?.startDate == day("2025-12-29"), "an earlier completion moves the start")
            #expect(start.today?.lastCompletion == nil && start.daysDone == 1)
            // What was entered later has no time of day.
            let entries = try await ListCompletions(habits: world.habits)
                .handle(ListCompletionsRequest(habitID: habit), world.context)
            #expect(entries.completions.map { $0.completion?.doneAt } == [nil])
        }
    }

    @Test func `a habit starts with its creation, however late the first completion comes`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read").id
            world.clock.set(moment("2026-01-08T12:00:00Z"))
            try await world.complete(habit)
            #expect(try await world.detail(habit).habit?.startDate == day("2026-01-05"))
        }
    }

    @Test func `a gap that is filled joins the runs, and what is deleted parts them, also behind the checkpoint`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read").id
            var first: CompletionID?
            for number in 5...11 where number != 8 {
                world.clock.set(moment("2026-01-\(number < 10 ? "0" : "")\(number)T12:00:00Z"))
                let reply = try await world.complete(habit)
                if number == 6 { first = reply.completion?.id }
            }
            #expect(try await world.card(habit).currentStreak == 3)
            let joined = try await world.complete(habit, on: "2026-01-08")
            #expect(joined.currentStreak == 7 && joined.longestStreak == 7 && joined.milestone == 7)
            #expect(try await world.events(HabitMilestoneReached.self).map(\.count) == [7])
            world.clock.set(moment("2026-03-20T12:00:00Z"))
            #expect(try await world.detail(habit).bestRun?.count == 7)
            let parted = try await world.delete(try #require(first), of: habit)
            #expect(parted.date == day("2026-01-06") && parted.status == .missed && parted.longestStreak == 5)
            let best = try await world.detail(habit).bestRun
            #expect(best?.from == day("2026-01-07") && best?.to == day("2026-01-11") && best?.running == false)
        }
    }

    @Test func `fields of a completion change alone, the value for seven dates and the note always`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read", target: 10).id
            let id = try #require(try await world.complete(habit, value: 4, note: "good", mood: "great").completion?.id)
            let more = try await world.change(UpdateCompletionRequest(habitID: habit, completionID: id, value: 12))
            #expect(more.status == .done && more.dayComplete && more.completion?.note == "good")
            let noted = try await world.change(
                UpdateCompletionRequest(habitID: habit, completionID: id, note: "", clear: ["mood", "done_at"])
            )
            #expect(noted.completion?.note == "" && noted.completion?.mood == nil && noted.completion?.doneAt == nil)
            #expect(noted.value == 12)
            let empty = UpdateCompletionRequest(habitID: habit, completionID: id, clear: ["value"])
            #expect(await world.fields { try await world.change(empty) }.keys.contains("value"))
            world.clock.set(moment("2026-01-15T12:00:00Z"))
            let late = UpdateCompletionRequest(habitID: habit, completionID: id, value: 1)
            #expect(await world.reason { try await world.change(late) } == "DATE_TOO_OLD")
            let note = UpdateCompletionRequest(habitID: habit, completionID: id, note: "later")
            #expect(try await world.change(note).completion?.note == "later")
            let unknown = UpdateCompletionRequest(habitID: habit, completionID: CompletionID(high: 1, low: 9), note: "x")
            #expect(await world.reason { try await world.change(unknown) } == "COMPLETION_NOT_FOUND")
        }
    }

    @Test func `a skip keeps the run, is of due dates only, and what is done beats it`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read", .weekdays(1, 2, 3)).id
            try await world.complete(habit)
            world.clock.set(moment("2026-01-06T12:00:00Z"))
            let skipped = try await world.skip(habit)
            #expect(skipped.status == .skipped && skipped.currentStreak == 1 && skipped.progress?.emptyReason == "none_due")
            try await world.skip(habit)
            world.clock.set(moment("2026-01-07T12:00:00Z"))
            #expect(try await world.complete(habit).currentStreak == 2)
            #expect(try await world.unskip(habit, on: "2026-01-06").status == .missed)
            #expect(try await world.card(habit).currentStreak == 1)
            try await world.unskip(habit, on: "2026-01-06")
            try await world.skip(habit, on: "2026-01-06")
            #expect(try await world.complete(habit, on: "2026-01-06").currentStreak == 3)
            #expect(await world.reason { try await world.skip(habit, on: "2026-01-04") } == "DATE_NOT_DUE")
        }
    }

    @Test func `the last open habit that is skipped completes the day`() async throws {
        try await withHabits { world in
            let (one, two) = (try await world.create("A").id, try await world.create("B").id)
            #expect(try await !world.complete(one).dayComplete)
            let skipped = try await world.skip(two)
            #expect(skipped.dayComplete && skipped.progress?.total == 1)
            #expect(try await !world.unskip(two).dayComplete)
            #expect(try await world.complete(two).dayComplete)
        }
    }

    @Test func `a pause excuses its dates, ends by itself, and may be taken back`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read").id
            try await world.complete(habit)
            let paused = try await world.pause(habit, from: "2026-01-06", until: "2026-01-10")
            #expect(paused.pause?.from == day("2026-01-06") && paused.pause?.until == day("2026-01-10"))
            #expect(await world.reason { try await world.pause(habit, until: "2026-01-08") } == "ALREADY_PAUSED")
            #expect(
                await world.reason { try await world.pause(habit, from: "2026-02-01", until: "2026-05-10") } == "PAUSE_TOO_LONG"
            )
            #expect(
                await world.reason { try await world.pause(habit, from: "2026-01-04", until: "2026-01-05") } == "VALIDATION_ERROR"
            )
            world.clock.set(moment("2026-01-08T12:00:00Z"))
            #expect(try await world.today().progress?.emptyReason == "none_due")
            #expect(try await world.list().groups.flatMap(\.habits).map(\.paused) == [true])
            #expect(try await world.month(habit).days[5...7].map(\.status) == [.paused, .paused, .paused])
            #expect(try await world.resume(habit).pause == nil)
            #expect(await world.reason { try await world.resume(habit) } == "NOT_PAUSED")
            #expect(try await world.complete(habit).currentStreak == 2)
        }
    }

    @Test func `a weekly habit counts weeks, and in the day when it is done or cannot wait`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Gym", .weekly(2)).id
            let monday = try await world.card(habit)
            #expect(!monday.counts && monday.week?.needed == 2 && monday.week?.left == 7 && monday.status == .open)
            #expect(try await world.today().progress?.emptyReason == "none_due")
            let done = try await world.complete(habit)
            #expect(done.streakUnit == .weeks && done.currentStreak == 0 && done.week?.done == 1 && done.dayComplete)
            world.clock.set(moment("2026-01-11T12:00:00Z"))
            let sunday = try await world.card(habit)
            #expect(sunday.counts && sunday.week?.left == 1 && sunday.week?.done == 1)
            #expect(try await world.complete(habit).currentStreak == 1)
            // The screen of a past date is as it was.
            #expect(try await world.card(habit, "2026-01-10").counts == false)
            #expect(try await world.card(habit, "2026-01-10").week?.done == 1)
            #expect(try await world.card(habit, "2026-01-05").counts)
            world.clock.set(moment("2026-01-26T12:00:00Z"))
            #expect(try await world.detail(habit).habit?.currentStreak == 0)
            #expect(try await world.detail(habit).bestRun?.count == 1)
        }
    }

    @Test func `another first day of the week gives weekly habits other weeks`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Gym", .weekly(1)).id
            #expect(try await world.card(habit).week?.to == day("2026-01-11"))
            let settings = try await world.settings(UpdateHabitSettingsRequest(theme: "dark", firstDayOfWeek: 0))
            #expect(settings.theme == "dark" && settings.firstDayOfWeek == 0 && settings.hapticFeedbackEnabled)
            #expect(try await world.card(habit).week?.to == day("2026-01-10"))
            // Also those that come back later.
            try await world.delete(habit)
            _ = try await world.settings(UpdateHabitSettingsRequest(firstDayOfWeek: 1))
            try await world.undelete(habit)
            #expect(try await world.card(habit).week?.to == day("2026-01-11"))
        }
    }

    @Test func `two completions at once both count, and milestones are reported once`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Water", target: 8).id
            for number in -6 ... -1 {
                let date = day("2026-01-05").advanced(by: number)
                try await world.complete(habit, on: "\(date)")
            }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<8 { tasks.addTask { try await world.complete(habit, value: 1) } }
                try await tasks.waitForAll()
            }
            let card = try await world.card(habit)
            #expect(card.value == 8 && card.completions == 8 && card.status == .done && card.currentStreak == 7)
            #expect(try await world.events(HabitMilestoneReached.self).map(\.count) == [7])
        }
    }

    @Test func `a date takes a hundred completions`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Water", target: 1000).id
            for _ in 0..<100 { try await world.complete(habit, value: 1) }
            #expect(await world.reason { try await world.complete(habit, value: 1) } == "TOO_MANY_COMPLETIONS")
            #expect(try await world.detail(habit).completionsToday.count == 100)
        }
    }
}
