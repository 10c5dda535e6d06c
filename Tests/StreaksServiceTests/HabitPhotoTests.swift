import Bus
import Database
import Kernel
import MediaAPI
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import Outbox
@testable import ServiceRuntime
@testable import StreaksCore
@testable import StreaksHabitSync
@testable import StreaksHabits

private func photoID(_ number: UInt64) -> HabitPhotoID { HabitPhotoID(high: 0xF0, low: number) }

/// The ids of photos on completions, as media sets and streaks drops them.
@Suite(.timeLimit(.minutes(10))) struct HabitPhotoTests {
    private static let today = "2026-01-05"

    /// Media's event about a date.
    private func receive(_ world: HabitWorld, _ photo: UInt64?, _ version: Int64, of habit: HabitID, on date: String = Self.today)
        async throws
    {
        let event = HabitPhotoChanged(
            userID: world.user,
            habitID: habit,
            date: day(date),
            version: version,
            photoID: photo.map(photoID)
        )
        try await world.work.consume(event, by: [PhotoConsumer(habits: world.habits).handler])
    }

    /// The photos that media is to delete.
    private func dropped(_ world: HabitWorld) async throws -> [HabitPhotoID] {
        try await world.events(HabitPhotosDropped.self).flatMap { event in
            #expect(event.userID == world.user)
            return event.photoIDs
        }
    }

    @Test func `every reply that shows a completion names its photo, and devices are sent it`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Run").id
            try await world.complete(habit)
            var device = SyncDevice(1)
            try await device.sync { try await world.sync($0) }
            #expect(device.completions.values.map(\.photoID) == [nil])
            try await receive(world, 1, 1, of: habit)
            let photo = photoID(1)
            #expect(try await world.card(habit).lastCompletion?.photoID == photo)
            #expect(try await world.detail(habit).completionsToday.map(\.photoID) == [photo])
            #expect(try await world.month(habit).days.compactMap(\.lastCompletion?.photoID) == [photo])
            let list = try await ListCompletions(habits: world.habits).handle(
                ListCompletionsRequest(habitID: habit),
                world.context
            )
            #expect(list.completions.map(\.completion?.photoID) == [photo])
            try await device.sync { try await world.sync($0) }
            #expect(device.completions.values.map(\.photoID) == [photo])
            #expect(try await world.complete(habit, note: "Rain").completion?.photoID == photo, "a change keeps it")
            try await receive(world, nil, 2, of: habit)
            try await device.sync { try await world.sync($0) }
            #expect(device.completions.values.map(\.photoID) == [nil])
            #expect(try await dropped(world).isEmpty)
        }
    }

    @Test func `an older event never overwrites a newer`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Run").id
            try await world.complete(habit)
            try await receive(world, nil, 5, of: habit)
            // The photo was cleared while its event was on the way.
            try await receive(world, 1, 4, of: habit)
            #expect(try await world.card(habit).lastCompletion?.photoID == nil)
            try await receive(world, 2, 7, of: habit)
            try await receive(world, nil, 6, of: habit)
            try await receive(world, 2, 7, of: habit)
            #expect(try await world.card(habit).lastCompletion?.photoID == photoID(2))
            #expect(try await dropped(world).isEmpty)
        }
    }

    @Test func `completions of a date share its photo, and the last one takes it along`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Water", target: 8).id
            let first = try #require(try await world.complete(habit, value: 1).completion)
            try await receive(world, 1, 1, of: habit)
            let second = try #require(try await world.complete(habit, value: 1).completion)
            #expect(second.photoID == photoID(1))
            try await world.delete(first.id, of: habit)
            #expect(try await dropped(world).isEmpty)
            try await world.delete(second.id, of: habit)
            #expect(try await dropped(world) == [photoID(1)])
            // What comes afterwards on this date has no photo, and a photo that was on its way is not wanted without one.
            #expect(try await world.complete(habit, value: 1).completion?.photoID == nil)
            try await receive(world, 2, 2, of: habit, on: "2026-01-04")
            #expect(try await dropped(world) == [photoID(1), photoID(2)])
        }
    }

    @Test func `clearing and deletion for good drop photos, a restore keeps those of dates that come back`() async throws {
        try await withHabits { world in
            let (kept, lost) = (try await photographed(world, "Run", 1), try await photographed(world, "Read", 2))
            // As a restore does.
            let completion = completionID(1)
            try await world.work.run(world.context) { [habits = world.habits, user = world.user] work in
                let book = try await habits.open(user, work)
                _ = try await book.clear(keepsPhotos: true)
                try await book.create(HabitBook.NewHabit(try HabitDetails(name: "Run"), schedule: .daily, id: kept))
                let edits = HabitBook.Edits([.complete(completion, on: day(Self.today), nil)])
                _ = try await book.edit(try await book.lock(kept), edits)
                try await book.dropStrayPhotos()
            }
            #expect(try await world.card(kept).lastCompletion?.photoID == photoID(1))
            #expect(try await dropped(world) == [photoID(2)])

            try await world.delete(kept)
            #expect(try await dropped(world) == [photoID(2)], "it can come back")
            world.clock.advance(by: .days(31))
            for job in HabitPurge(work: world.work, database: world.database).jobs { _ = try await job.run(world.clock.now()) }
            #expect(try await dropped(world) == [photoID(2), photoID(1)])

            _ = try await photographed(world, "Swim", 3)
            try await world.work.run(world.context) { [habits = world.habits, user = world.user] work in
                _ = try await habits.open(user, work).clear()
            }
            #expect(try await dropped(world) == [photoID(2), photoID(1), photoID(3)])
            // An event about a habit that is gone.
            try await receive(world, 4, 9, of: lost)
            #expect(try await dropped(world).last == photoID(4))
        }
    }

    /// A habit that is done today, with a photo.
    private func photographed(_ world: HabitWorld, _ name: String, _ photo: UInt64) async throws -> HabitID {
        let habit = try await world.create(name).id
        let date = try await world.complete(habit).date
        try await receive(world, photo, Int64(photo), of: habit, on: "\(date)")
        return habit
    }

    @Test func `a photo of an account that is not there is dropped, and no account is made`() async throws {
        try await withHabits { world in
            try await receive(world, 1, 1, of: habitID(1))
            try await receive(world, nil, 2, of: habitID(1))
            #expect(try await dropped(world) == [photoID(1)])
            #expect(try await world.database.query("SELECT 1 FROM habit_account").isEmpty)
            #expect(try await world.database.query("SELECT 1 FROM habit_photo").isEmpty)
        }
    }

    @Test func `only a date with a completion may have a photo`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Run").id
            try await world.complete(habit)
            func check(_ habit: HabitID, _ date: String, by user: UserID) async throws -> [Bool] {
                let request = CheckHabitDateRequest(userID: user, habitID: habit, date: day(date))
                let reply = try await CheckHabitDate(habits: world.habits).handle(request, world.context)
                return [reply.habitExists, reply.isCompleted]
            }
            #expect(try await check(habit, Self.today, by: world.user) == [true, true])
            #expect(try await check(habit, "2026-01-04", by: world.user) == [true, false])
            #expect(try await check(habit, Self.today, by: UserID(high: 1, low: 2)) == [false, false])
            try await world.delete(habit)
            #expect(try await check(habit, Self.today, by: world.user) == [false, false])
        }
    }
}
