import Database
import Kernel
import Replicas
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksHabitSync
@testable import StreaksHabits
@testable import StreaksService

/// How much of their habits one user may store (D22).
@Suite(.timeLimit(.minutes(5))) struct HabitQuotaTests {
    /// A world whose users may have so many rows of a table.
    private func withQuota(_ limits: [String: Int], _ body: (HabitWorld) async throws -> Void) async throws {
        try await withHabits { world in
            let core = StreaksCore(
                database: world.database,
                bus: NoServices(),
                avatars: AvatarLinks(base: ""),
                quotas: Quotas(limits),
                StreaksModule.extensions
            )
            try await body(
                HabitWorld(
                    database: world.database,
                    clock: world.clock,
                    work: world.work,
                    mutations: world.mutations,
                    core: core,
                    user: world.user
                )
            )
        }
    }

    private func count(_ table: Query, _ world: HabitWorld) async throws -> Int {
        try await world.database.query("SELECT count(*) FROM \(table)").first?.get(at: 0) ?? -1
    }

    @Test func `a completion beyond the quota is refused with nothing stored, and a deleted one makes room`() async throws {
        try await withQuota(["habit_completion": 2]) { world in
            let habit = try await world.create("Read").id
            try await world.complete(habit, on: "2026-01-03", id: completionID(1))
            try await world.complete(habit, on: "2026-01-04", id: completionID(2))
            let error = await #expect(throws: ServiceError.self) { try await world.complete(habit) }
            #expect(error?.reason == "QUOTA_EXCEEDED")
            #expect(
                error?.message.hasPrefix("You have 2 completions of habits, as many as one account can have. Delete ") == true
            )
            #expect(try await count("habit_completion", world) == 2)
            // What is there already needs no room: a repeat of it has its answer.
            let repeated = try await world.complete(habit, on: "2026-01-04", id: completionID(2))
            #expect(repeated.completion?.id == completionID(2))
            try await world.delete(completionID(1), of: habit)
            #expect(try await world.complete(habit).completion != nil)
            #expect(try await count("habit_completion", world) == 2)
        }
    }

    @Test func `of the changes of a device those that have room are applied, and each other one is refused for itself`()
        async throws
    {
        try await withQuota(["habit_completion": 3]) { world in
            try await world.push([Push.habit(1, 1, "Water", target: 1_000), Push.habit(2, 2, "Read")])
            let some = SyncCompletionFields(value: 1)
            let reply = try await world.push([
                Push.done(10, 10, 1, on: "2026-01-05", some), Push.done(11, 11, 1, on: "2026-01-05", some),
                Push.done(12, 12, 1, on: "2026-01-05", some), Push.done(13, 13, 1, on: "2026-01-05", some),
                Push.note(14, "thirsty", on: "2026-01-05"),
            ])
            #expect(reply.answers == ["applied", "applied", "applied", "QUOTA_EXCEEDED", "applied"])
            let full = try await world.push([Push.done(20, 20, 1, on: "2026-01-05", some)])
            #expect(full.answers == ["QUOTA_EXCEEDED"])
            #expect(full.results.first?.message?.contains("3 completions") == true)
            #expect(try await world.push([Push.undone(30, 11)]).answers == ["applied"])
            #expect(try await world.push([Push.done(31, 31, 2, on: "2026-01-05")]).answers == ["applied"])
            #expect(try await count("habit_completion", world) == 3)
        }
    }

    @Test func `a device of an account that is full is never refused as a whole: what adds no row is taken`() async throws {
        try await withQuota(["habit_completion": 1]) { world in
            try await world.push([
                Push.habit(1, 1, "Water", target: 1_000), Push.habit(2, 2, "Read"), Push.done(10, 10, 2, on: "2026-01-05"),
            ])
            let full = try await world.push(
                [
                    Push.done(20, 20, 1, on: "2026-01-05"), Push.done(21, 21, 2, on: "2026-01-05"),
                    Push.edit(22, 10, SyncCompletionFields(note: "twenty pages")), Push.skip(23, 1, on: "2026-01-05"),
                    Push.note(24, "rain", on: "2026-01-05"), Push.update(25, 1, SyncHabitFields(name: "Drink")),
                    Push.habit(26, 3, "Walk"), Push.on(27, "archive", 3), Push.on(28, "delete", 3),
                ],
                device: 2
            )
            #expect(full.answers == ["QUOTA_EXCEEDED", "merged"] + Array(repeating: "applied", count: 7))
            #expect(full.results[1].mergedInto == "\(completionID(10))")
            let copy = try await world.everything()
            #expect(copy.completions.mapValues(\.note) == [completionID(10): "twenty pages"])
            #expect(copy.habits[habitID(1)]?.name == "Drink" && copy.notes.count == 1 && copy.skips.count == 1)
            #expect(try await world.push([Push.undone(30, 10)]).answers == ["applied"])
            #expect(try await count("habit_completion", world) == 0)
        }
    }

    @Test func `what a request deletes makes room for what it adds, before it and of other habits too`() async throws {
        try await withQuota(["habit_completion": 2]) { world in
            let some = SyncCompletionFields(value: 1)
            try await world.push([
                Push.habit(1, 1, "Water", target: 1_000), Push.habit(2, 2, "Read"), Push.done(10, 10, 1, on: "2026-01-05", some),
                Push.done(11, 11, 2, on: "2026-01-04"),
            ])
            // The change of the first habit has its completions written before the deletion, which waits.
            let reply = try await world.push([
                Push.done(20, 20, 1, on: "2026-01-05", some), Push.update(21, 1, SyncHabitFields(name: "Drink")),
                Push.undone(22, 11), Push.done(23, 23, 2, on: "2026-01-05"),
            ])
            #expect(reply.answers == ["applied", "applied", "applied", "QUOTA_EXCEEDED"])
            #expect(try await world.everything().completions.keys.sorted() == [completionID(10), completionID(20)])
            // One that is made and deleted takes none, and a deletion that was sent before makes none again.
            let more = try await world.push([
                Push.undone(22, 11), Push.undone(30, 20), Push.done(31, 31, 2, on: "2026-01-03"), Push.undone(32, 31),
                Push.done(33, 33, 2, on: "2026-01-05"), Push.done(34, 34, 2, on: "2026-01-04"),
            ])
            #expect(more.answers == ["applied*", "applied", "applied", "applied", "applied", "QUOTA_EXCEEDED"])
            #expect(try await count("habit_completion", world) == 2)
        }
    }

    @Test func `a change that had no room is judged anew when it is sent again`() async throws {
        try await withQuota(["habit_completion": 1]) { world in
            try await world.push([Push.habit(1, 1, "Read"), Push.done(10, 10, 1, on: "2026-01-04")])
            let late = Push.done(20, 20, 1, on: "2026-01-05", SyncCompletionFields(note: "late"))
            #expect(try await world.push([late]).answers == ["QUOTA_EXCEEDED"])
            #expect(try await world.push([late]).answers == ["QUOTA_EXCEEDED"])
            #expect(try await world.push([late, Push.undone(30, 10)]).answers == ["applied", "applied"])
            #expect(try await world.push([late]).answers == ["applied*"])
            #expect(try await world.everything().completions[completionID(20)]?.note == "late")
        }
    }

    @Test func `changes of what had no room wait with it, and are judged anew when both are sent again`() async throws {
        try await withQuota(["habit_completion": 1]) { world in
            try await world.push([Push.habit(1, 1, "Read"), Push.done(10, 10, 1, on: "2026-01-03")])
            let queue = [
                Push.done(20, 20, 1, on: "2026-01-05"), Push.edit(21, 20, SyncCompletionFields(note: "late")),
                Push.done(22, 22, 1, on: "2026-01-04"), Push.undone(23, 22), Push.note(24, "rain", on: "2026-01-05"),
            ]
            let full = try await world.push(queue)
            #expect(full.answers == Array(repeating: "QUOTA_EXCEEDED", count: 4) + ["applied"])
            let again = try await world.push([Push.undone(30, 10)] + queue)
            #expect(again.answers.first == "applied" && again.answers.last == "applied*", "\(again.answers)")
            #expect(try await world.everything().completions.mapValues(\.note) == [completionID(20): "late"])
        }
    }

    @Test func `at the quota a completion is merged into that of its date, and a date that takes none says so`() async throws {
        try await withQuota(["habit_completion": 1]) { world in
            let habit = try await world.create("Read").id
            try await world.complete(habit, id: completionID(1))
            let merged = try await world.complete(habit, value: 3, id: completionID(2))
            #expect(merged.completion?.id == completionID(1) && merged.completion?.value == 3)
            let change = UpdateCompletionRequest(habitID: habit, completionID: completionID(1), note: "again")
            #expect(try await world.change(change).completion?.note == "again")
            #expect(await world.reason { try await world.complete(habit, on: "2026-01-06") } == "DATE_IN_FUTURE")
            #expect(await world.reason { try await world.complete(habit, on: "2026-01-04") } == "QUOTA_EXCEEDED")
        }
    }

    @Test func `who deletes without end is refused until everything is deleted`() async throws {
        try await withQuota(["habit_tombstone": 2]) { world in
            try await world.push([Push.habit(1, 1, "Water")])
            for id in [UInt64(10), 11] {
                let made = try await world.push([Push.done(id * 10, id, 1, on: "2026-01-05"), Push.undone(id * 10 + 1, id)])
                #expect(made.answers == ["applied", "applied"])
            }
            let refused = try await world.push([Push.done(200, 20, 1, on: "2026-01-05")])
            #expect(refused.answers == ["QUOTA_EXCEEDED"])
            #expect(refused.results.first?.message?.contains("deleted within 400 days") == true)
            // Deleting is never refused.
            #expect(try await world.push([Push.on(210, "delete", 1)]).answers == ["applied"])
            try await world.restore([(id: habitID(1), name: "Water", target: nil)])
            #expect(try await world.push([Push.done(220, 20, 1, on: "2026-01-05")]).answers == ["applied"])
        }
    }

    @Test func `categories that are made and deleted without end are refused too, and those there are change`() async throws {
        try await withQuota(["habit_tombstone": 2]) { world in
            func category(_ change: UInt64, _ operation: String, _ id: UInt64, _ name: String? = nil) -> SyncChange {
                SyncChange(change, "category", operation, id: "\(categoryID(id))").with {
                    $0.category = name.map { SyncCategoryFields(name: $0) }
                }
            }
            let made = try await world.push([
                category(1, "create", 1, "Music"), category(2, "create", 2, "Garden"), category(3, "delete", 2),
                category(4, "create", 3, "Garden"), category(5, "delete", 3), category(6, "create", 4, "Garden"),
                category(7, "update", 1, "Songs"), category(8, "delete", 1),
            ])
            #expect(made.answers == Array(repeating: "applied", count: 5) + ["QUOTA_EXCEEDED", "applied", "applied"])
            let create = CreateHabitCategory(changes: world.changes)
            func make(_ name: String) async -> String? {
                await world.reason { _ = try await create.handle(CreateHabitCategoryRequest(name: name), world.context) }
            }
            #expect(await make("Garden") == "QUOTA_EXCEEDED")
            try await world.restore()
            #expect(await make("Garden") == nil)
        }
    }

    @Test func `habits that were deleted within 30 days take room too, until they are gone`() async throws {
        try await withHabits { world in
            let read = try await world.create("Read")
            try await world.database.execute(
                """
                WITH made AS (INSERT INTO streak (id, kind, started_at, settled_at)
                    SELECT gen_random_uuid(), \(StreakKind.habit.rawValue)::int, now(), now() FROM generate_series(1, 1999) RETURNING id)
                INSERT INTO habit (user_id, id, streak_id, name, name_key, color, icon, position, created_at, updated_at, as_of, sequence,
                    deleted_at)
                SELECT \(world.user), id, id, 'Gone', 'gone', '#6366F1', 'book', 9, \(world.clock.now()), \(world.clock.now()),
                    \(day("2026-01-05")), 1, \(world.clock.now()) FROM made
                """
            )
            let error = await #expect(throws: ServiceError.self) { try await world.create("Walk") }
            #expect(error?.reason == "QUOTA_EXCEEDED")
            #expect(error?.message.contains("2000 habits") == true)
            // What is wrong anyway is said first: a repeat finds that it was made.
            #expect(
                await world.reason { try await world.create(CreateHabitRequest(id: read.id, name: "Walk")) } == "HABIT_ID_TAKEN"
            )
            #expect(await world.reason { try await world.create("Read") } == "HABIT_NAME_TAKEN")
            world.clock.advance(by: .days(31))
            let purge = HabitPurge(work: world.work, database: world.database).jobs.first { $0.name == "deleted_habits" }
            while try await purge?.run(world.clock.now()) ?? 0 > 0 {}
            try await world.create("Walk")
        }
    }

    @Test func `a note belongs to a date since 2000`() async throws {
        try await withHabits { world in
            let handler = SetDayNote(changes: world.changes)
            func note(_ text: String, on date: String) async throws {
                _ = try await handler.handle(SetDayNoteRequest(date: day(date), note: text), world.context)
            }
            try await note("a good day", on: "2000-01-01")
            for text in ["a good day", ""] {
                let fields = await world.fields { try await note(text, on: "1999-12-31") }
                #expect(fields == ["date": "must be 2000-01-01 or later"])
            }
            let long = SetDayNoteRequest(date: day("1999-12-31"), note: String(repeating: "x", count: 501))
            #expect(handler.problems(of: long).map(\.field) == ["date", "note"])
            #expect(try await world.push([Push.note(1, "long ago", on: "0999-01-01")]).answers == ["VALIDATION_ERROR"])
            #expect(try await count("habit_day_note", world) == 1)
            #expect(try await count("habit_tombstone", world) == 0)
        }
    }
}
