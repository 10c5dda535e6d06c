import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksHabitSync
@testable import StreaksHabits

/// What the user's other devices are sent of a change of habits: one event for each request (NO-7, HA-7).
@Suite(.timeLimit(.minutes(10))) struct HabitNewsTests {
    private static let today = "2026-01-05"

    /// What was emitted since the last call, each event as its changes in short.
    private func news(_ world: HabitWorld) async throws -> [[String]] {
        let rows = try await world.database.query(
            """
            WITH emitted AS (DELETE FROM outbox WHERE subject = \(HabitsChanged.subject) RETURNING position, body)
            SELECT body FROM emitted ORDER BY position
            """
        )
        return try rows.map { row in
            let event = try HabitsChanged(serialized: try row.decode(as: [UInt8].self))
            #expect(event.userID == world.user)
            return event.changes.map(Self.short)
        }
    }

    private static func short(_ change: HabitsChange) -> String {
        let ids = [change.habitID?.description, change.categoryID?.description, change.completionID?.description]
        let parts = [change.entity] + ids + [change.date?.description, change.status, change.count.map { "\($0)" }]
        return parts.compactMap { $0 }.joined(separator: " ")
    }

    @Test func `a habit is new, changed, paused, in the archive, deleted, and back`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Run").id
            #expect(try await news(world) == [["habit \(habit) active 0"]])
            try await world.update(UpdateHabitRequest(habitID: habit, name: "Walk"))
            #expect(try await news(world) == [["habit \(habit) active 0"]])
            try await world.pause(habit, until: "2026-01-10")
            #expect(try await news(world) == [["habit \(habit) paused 0"]])
            try await world.resume(habit)
            #expect(try await news(world) == [["habit \(habit) active 0"]])
            try await world.archive(habit)
            #expect(try await news(world) == [["habit \(habit) archived 0"]])
            try await world.unarchive(habit)
            #expect(try await news(world) == [["habit \(habit) active 0"]])
            try await world.delete(habit)
            #expect(try await news(world) == [["habit \(habit) deleted"]])
            try await world.undelete(habit)
            #expect(try await news(world) == [["habit \(habit) active 0"]])
        }
    }

    @Test func `a date is done, more is noted of it, it is undone, skipped and not skipped`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Run").id
            _ = try await news(world)
            let done = try await world.complete(habit)
            #expect(try await news(world) == [["date \(habit) \(Self.today) done 1"]])
            let completion = try #require(done.completion?.id)
            try await world.change(UpdateCompletionRequest(habitID: habit, completionID: completion, note: "In the rain"))
            #expect(try await news(world) == [["completion \(completion)"]])
            try await world.delete(completion, of: habit)
            #expect(try await news(world) == [["date \(habit) \(Self.today) open 0"]])
            try await world.skip(habit)
            #expect(try await news(world) == [["date \(habit) \(Self.today) skipped 0"]])
            try await world.unskip(habit)
            #expect(try await news(world) == [["date \(habit) \(Self.today) open 0"]])
        }
    }

    @Test func `settings, orders and notes are among it, without a text`() async throws {
        try await withHabits { world in
            let (one, two) = (try await world.create("Run").id, try await world.create("Read").id)
            _ = try await news(world)
            try await world.settings(UpdateHabitSettingsRequest(theme: "dark"))
            #expect(try await news(world) == [["settings"]])
            _ = try await ReorderHabits(changes: world.changes).handle(ReorderHabitsRequest(habitIDs: [two, one]), world.context)
            #expect(try await news(world) == [["habit_order"]])
            for (note, status) in [("A quiet day", "changed"), ("", "deleted")] {
                _ = try await SetDayNote(changes: world.changes).handle(SetDayNoteRequest(note: note), world.context)
                #expect(try await news(world) == [["day_note \(Self.today) \(status)"]])
            }
        }
    }

    @Test func `what is refused, or changes nothing, is no news`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Run").id
            _ = try await news(world)
            #expect(await world.reason { try await world.create("Run") } == "HABIT_NAME_TAKEN")
            #expect(await world.reason { try await world.complete(habit, on: "2026-01-06") } == "DATE_IN_FUTURE")
            try await world.unskip(habit)
            try await world.unarchive(habit)
            #expect(try await news(world).isEmpty)
        }
    }

    @Test func `a sync is one event with the number of its change, and names nothing when it is too much`() async throws {
        try await withHabits { world in
            try await world.push([Push.habit(1, 1, "Run"), Push.done(2, 1, 1, on: Self.today)])
            #expect(
                try await news(world) == [["habit \(habitID(1)) active 0", "date \(habitID(1)) \(Self.today) done 1"]]
            )
            try await world.push((10...48).map { Push.note($0, "Note \($0)", on: "2025-12-0\($0 % 9 + 1)") })
            #expect(try await news(world).map(\.count) == [9], "each date once")
            let dates = (0..<25).map { day("2025-12-01").advanced(by: $0) }
            try await world.push(dates.enumerated().map { Push.note(UInt64(100 + $0), "Note", on: "\($1)") })
            let account = try await HabitAccountRepository.find(world.user, at: world.clock.now(), world.database)
            #expect(try await world.events(HabitsChanged.self).map(\.sequence) == [account.sequence])
            #expect(try await news(world) == [[]])
            try await world.restore()
            #expect(try await news(world) == [[]], "everything is another")
            try await world.push([Push.note(500, "Note", on: "2025-12-01")])
            #expect(try await news(world) == [["day_note 2025-12-01 changed"]])
            // The same change again.
            try await world.push([Push.note(500, "Note", on: "2025-12-01")])
            #expect(try await news(world).isEmpty)
        }
    }
}
