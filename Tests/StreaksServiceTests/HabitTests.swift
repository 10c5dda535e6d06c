import Bus
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing
import Wire

@testable import StreaksCore
@testable import StreaksHabits

/// Habits and categories: making, changing, the archive, deletion, order, limits (HA-1, HA-9, HA-10, HA-13, HA-17, HA-19).
struct HabitTests {
    @Test func `a habit has what was asked for, and the standard where nothing was`() async throws {
        try await withHabits { world in
            let id = HabitID(high: 5, low: 5)
            let category = try await world.categories()[1].id
            let habit = try await world.create(
                CreateHabitRequest(
                    id: id,
                    name: "  Read ",
                    description: "Before bed",
                    color: "#06b6d4",
                    icon: "book",
                    categoryID: category,
                    schedule: .weekdays(1, 3, 5),
                    targetValue: 2.5,
                    unit: "hours",
                    reminderTime: "08:30",
                    reminderDays: [1, 3]
                )
            )
            #expect(habit.id == id && habit.name == "Read" && habit.color == "#06B6D4" && habit.categoryID == category)
            #expect(habit.schedule?.text == "Mon, Wed, Fri" && habit.schedule?.weekdays == [1, 3, 5])
            #expect(habit.schedule?.from == day("2026-01-05") && habit.startDate == day("2026-01-05"))
            #expect(habit.targetValue == 2.5 && habit.reminderTime == "08:30" && habit.reminderDays == [1, 3])
            #expect(!habit.archived && !habit.isPremium && habit.currentStreak == 0 && habit.streakUnit == .days)
            let plain = try await world.create("Walk")
            #expect(plain.schedule?.type == "daily" && plain.targetValue == nil && plain.reminderTime == nil)
            #expect(plain.order == 2 && plain.color == HabitPalette.colors[0] && plain.icon == HabitPalette.icons[0])
            #expect(try await world.detail(id).habit == habit)
        }
    }

    @Test func `every bad field of what belongs to habits is named`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read", target: 10).id
            let long = String(repeating: "x", count: 101)
            let wrong = await world.fields {
                try await world.complete(CompleteHabitRequest(habitID: habit, value: -1, increment: 0.0001, note: long))
            }
            #expect(Set(wrong.keys) == ["value", "increment", "note"])
            let both = await world.fields {
                try await world.complete(CompleteHabitRequest(habitID: habit, value: 1, increment: 1))
            }
            #expect(both == ["increment": "cannot be combined with value"])
            let done = try #require(try await world.complete(CompleteHabitRequest(habitID: habit, value: 1)).completion).id
            let changed = await world.fields {
                try await world.change(UpdateCompletionRequest(habitID: habit, completionID: done, value: .nan, note: long))
            }
            #expect(Set(changed.keys) == ["value", "note"])
            let settings = await world.fields {
                try await world.settings(UpdateHabitSettingsRequest(accentColor: "red", dailyReminderTime: "8:30"))
            }
            #expect(Set(settings.keys) == ["accent_color", "daily_reminder_time"])
            let reminder = UpdateHabitRequest(habitID: habit, reminderTime: "8:30", reminderDays: [9])
            #expect(HabitForm.problems(reminder).map(\.field) == ["reminder_time", "reminder_days"])
            let category = CategoryForm.problems(name: nil, color: "red", icon: "A!", isNew: true)
            #expect(category.map(\.field) == ["name", "color", "icon"])
            #expect(CategoryForm.problems(name: nil, color: "#654321", icon: nil, isNew: false) == [])
        }
    }

    @Test func `schedules say what may surprise`() async throws {
        try await withHabits { world in
            let monthly = try await world.create("Rent", .monthly(31))
            #expect(monthly.schedule?.text == "Monthly on 31")
            #expect(monthly.schedule?.note == "Day 31 is not due in months that do not have it.")
            let more = try await world.create("Bills", .monthly(1, 29, 30))
            #expect(more.schedule?.note == "Days 29 and 30 are not due in months that do not have them.")
            #expect(try await world.create("Gym", .weekly(3)).streakUnit == .weeks)
            #expect(try await world.create("Water", .every(2)).schedule?.text == "Every 2 days")
        }
    }

    @Test func `every bad field is named, with the texts of the app, and nothing is left behind`() async throws {
        try await withHabits { world in
            let bad = await world.fields {
                try await world.create(
                    CreateHabitRequest(
                        name: " \u{200B} ",
                        color: "red",
                        schedule: HabitSchedule(type: "weekdays"),
                        targetValue: -1,
                        reminderTime: "8:30"
                    )
                )
            }
            #expect(Set(bad.keys) == ["name", "color", "schedule.weekdays", "target_value", "reminder_time"])
            #expect(bad["name"] == "Please enter a habit name" && bad["target_value"] == "Please enter a valid number")
            for value in [Double.nan, .infinity, 0, 1e10] {
                #expect(
                    await world.fields { try await world.create("A", target: value) }.keys.first == "target_value",
                    "\(value)"
                )
            }
            for schedule in [HabitSchedule.every(0), .weekly(8), .monthly(32), HabitSchedule(type: "sometimes")] {
                #expect(await world.reason { try await world.create("A", schedule) } == "VALIDATION_ERROR", "\(schedule)")
            }
            let count = try await world.list().activeCount
            #expect(count == 0)
        }
    }

    @Test func `what breaks a rule of the schedule hides no other bad field`() async throws {
        try await withHabits { world in
            let create = Endpoint(HabitsMethods.createHabit, CreateHabit(changes: world.changes))
            let new = CreateHabitRequest(
                name: "",
                color: "red",
                schedule: HabitSchedule(type: "weekdays", weekdays: [1, 9], every: 0),
                reminderTime: "8:30"
            )
            let bad = await world.fields { _ = try await create.handle(new.serialized(), world.context) }
            #expect(Set(bad.keys) == ["name", "color", "schedule.weekdays[1]", "schedule.every", "reminder_time"], "\(bad)")
            let habit = try await world.create("Read", at: "08:00")
            let update = Endpoint(HabitsMethods.updateHabit, UpdateHabit(changes: world.changes))
            let change = UpdateHabitRequest(
                habitID: habit.id,
                name: " ",
                schedule: HabitSchedule(type: "sometimes"),
                targetValue: -1,
                reminderTime: "25:00",
                reminderDays: [1]
            )
            let wrong = await world.fields { _ = try await update.handle(change.serialized(), world.context) }
            #expect(Set(wrong.keys) == ["name", "schedule.type", "target_value", "reminder_time"], "\(wrong)")
            #expect(try await world.list().activeCount == 1)
        }
    }

    @Test func `names count what a person sees as one character, and are compared without case and composition`() async throws {
        try await withHabits { world in
            let family = "👨‍👩‍👧‍👦"
            try await world.create(String(repeating: family, count: 50))
            #expect(await world.fields { try await world.create(String(repeating: family, count: 51)) }["name"] != nil)
            let marks = String(repeating: "e\u{301}\u{323}", count: 50)
            try await world.create(marks)
            try await world.create("Café")
            #expect(await world.reason { try await world.create("CAFE\u{301}") } == "HABIT_NAME_TAKEN")
        }
    }

    @Test func `a plan's limit counts active habits, and an id or a name is taken once`() async throws {
        try await withHabits { world in
            let first = try await world.create("A")
            #expect(
                await world.reason { try await world.create(CreateHabitRequest(id: first.id, name: "B")) } == "HABIT_ID_TAKEN"
            )
            for name in ["B", "C", "D", "E"] { try await world.create(name) }
            #expect(await world.reason { try await world.create("F") } == "HABIT_LIMIT_REACHED")
            try await world.archive(first.id)
            let sixth = try await world.create("F")
            #expect(await world.reason { try await world.unarchive(first.id) } == "HABIT_LIMIT_REACHED")
            try await world.delete(sixth.id)
            #expect(try await !world.unarchive(first.id).archived)
            #expect(await world.reason { try await world.undelete(sixth.id) } == "HABIT_LIMIT_REACHED")
            try await world.premium()
            #expect(try await world.undelete(sixth.id).name == "F")
            #expect(await world.reason { try await world.undelete(sixth.id) } == "HABIT_NOT_DELETED")
        }
    }

    @Test func `colors and icons beside the palette are for premium users, and stay when the plan ends`() async throws {
        try await withHabits { world in
            let own = CreateHabitRequest(name: "Read", color: "#123456", icon: "dragon")
            #expect(await world.reason { try await world.create(own) } == "PREMIUM_REQUIRED")
            try await world.premium()
            let habit = try await world.create(own)
            #expect(habit.isPremium)
            try await world.premium(false, version: 2)
            #expect(try await world.update(UpdateHabitRequest(habitID: habit.id, name: "Read more")).color == "#123456")
            let other = UpdateHabitRequest(habitID: habit.id, color: "#654321")
            #expect(await world.reason { try await world.update(other) } == "PREMIUM_REQUIRED")
        }
    }

    @Test func `only what is sent changes, and what is named is cleared`() async throws {
        try await withHabits { world in
            let category = try await world.categories()[0].id
            let habit = try await world.create(
                CreateHabitRequest(
                    name: "Read",
                    description: "Why",
                    categoryID: category,
                    targetValue: 50,
                    unit: "pages",
                    reminderTime: "20:00",
                    reminderDays: [1]
                )
            )
            let renamed = try await world.update(UpdateHabitRequest(habitID: habit.id, name: "Books"))
            #expect(renamed.name == "Books" && renamed.description == "Why" && renamed.targetValue == 50)
            #expect(renamed.reminderTime == "20:00" && renamed.reminderDays == [1] && renamed.categoryID == category)
            let later = try await world.update(UpdateHabitRequest(habitID: habit.id, reminderTime: "21:15"))
            #expect(later.reminderTime == "21:15" && later.reminderDays == [1])
            let clear = ["category_id", "target_value", "reminder_days"]
            let cleared = try await world.update(UpdateHabitRequest(habitID: habit.id, description: "", clear: clear))
            #expect(cleared.description.isEmpty && cleared.targetValue == nil && cleared.categoryID == nil)
            #expect(cleared.reminderTime == "21:15" && cleared.reminderDays.isEmpty)
            let silent = try await world.update(UpdateHabitRequest(habitID: habit.id, clear: ["reminder_time"]))
            #expect(silent.reminderTime == nil)
            let days = UpdateHabitRequest(habitID: habit.id, reminderDays: [1])
            #expect(await world.fields { try await world.update(days) }.keys.contains("reminder_days"))
        }
    }

    @Test func `another schedule holds from today, from tomorrow when today is done, and leaves the past as it was`() async throws
    {
        try await withHabits { world in
            let open = try await world.create("Open")
            let done = try await world.create("Done")
            try await world.complete(done.id)
            for id in [open.id, done.id] { try await world.update(UpdateHabitRequest(habitID: id, schedule: .weekdays(2))) }
            #expect(try await world.detail(open.id).habit?.schedule?.from == day("2026-01-05"))
            #expect(try await world.detail(done.id).habit?.schedule?.from == day("2026-01-06"))
            #expect(try await world.detail(done.id).today?.status == .done)
            #expect(try await world.detail(open.id).today?.status == .notDue)
            // Between dates and weeks the run ends without a break.
            try await world.update(UpdateHabitRequest(habitID: done.id, schedule: .weekly(2)))
            world.clock.set(moment("2026-01-06T12:00:00Z"))
            let weekly = try await world.detail(done.id)
            #expect(weekly.habit?.streakUnit == .weeks && weekly.habit?.currentStreak == 0)
            #expect(weekly.month?.days[4].status == .done)
        }
    }

    @Test func `the archive expects nothing, shows nothing and takes nothing from its first date on`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read")
            try await world.complete(habit.id)
            world.clock.set(moment("2026-01-06T12:00:00Z"))
            let archived = try await world.archive(habit.id)
            #expect(archived.archived && archived.archivedAt == world.clock.now() && archived.currentStreak == 1)
            #expect(try await world.archive(habit.id).archivedAt == world.clock.now(), "a repeat changes nothing")
            #expect(await world.reason { try await world.complete(habit.id) } == "HABIT_ARCHIVED")
            #expect(await world.reason { try await world.skip(habit.id) } == "HABIT_ARCHIVED")
            try await world.complete(habit.id, on: "2026-01-04")
            #expect(try await world.today().progress?.emptyReason == "no_habits")
            world.clock.set(moment("2026-01-20T12:00:00Z"))
            #expect(try await world.detail(habit.id).today?.status == .archived)
            #expect(try await world.month(habit.id).days[15].status == .archived)
            let back = try await world.unarchive(habit.id)
            #expect(back.currentStreak == 2, "the time between is excused")
            #expect(try await world.complete(habit.id).currentStreak == 3)
        }
    }

    @Test func `a deleted habit comes back for 30 days, and is gone for good then`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read")
            try await world.complete(habit.id)
            let deleted = try await world.delete(habit.id)
            #expect(deleted.restorableUntil == world.clock.now() + .days(30))
            #expect(await world.reason { _ = try await world.detail(habit.id) } == "HABIT_NOT_FOUND")
            #expect(await world.reason { try await world.complete(habit.id) } == "HABIT_NOT_FOUND")
            let listed = try await world.list(ListHabitsRequest(deleted: true)).groups.flatMap(\.habits)
            #expect(listed.map(\.id) == [habit.id] && listed[0].restorableUntil == deleted.restorableUntil)
            // Another takes its name meanwhile.
            let other = try await world.create("read")
            #expect(await world.reason { try await world.undelete(habit.id) } == "HABIT_NAME_TAKEN")
            try await world.update(UpdateHabitRequest(habitID: other.id, name: "Other"))
            world.clock.set(moment("2026-01-20T12:00:00Z"))
            #expect(try await world.undelete(habit.id).currentStreak == 1)
            try await world.delete(habit.id)
            let jobs = HabitPurge(work: world.work, database: world.database).jobs
            for job in jobs { #expect(try await job.run(world.clock.now()) == 0) }
            world.clock.set(moment("2026-02-20T12:00:00Z"))
            for job in jobs { while try await job.run(world.clock.now()) > 0 {} }
            #expect(await world.reason { try await world.undelete(habit.id) } == "HABIT_NOT_FOUND")
            let left = try await world.database.query("SELECT 1 FROM habit_completion UNION ALL SELECT 1 FROM habit_skip")
            #expect(left.isEmpty)
            #expect(try await world.list().activeCount == 1)
        }
    }

    @Test func `the order is that of the list, and names nothing twice or of others`() async throws {
        try await withHabits { world in
            var ids: [HabitID] = []
            for name in ["A", "B", "C", "D"] { ids.append(try await world.create(name).id) }
            let reorder = ReorderHabits(changes: world.changes)
            func order(_ ids: [HabitID]) async throws -> [HabitID] {
                try await reorder.handle(ReorderHabitsRequest(habitIDs: ids), world.context).reply.habitIDs
            }
            #expect(try await order([ids[3], ids[1]]) == [ids[3], ids[1], ids[0], ids[2]])
            #expect(try await world.today().sections[3].habits.map(\.name) == ["D", "B", "A", "C"])
            #expect(await world.reason { _ = try await order([ids[0], ids[0]]) } == "VALIDATION_ERROR")
            #expect(await world.reason { _ = try await order([HabitID(high: 9, low: 9)]) } == "HABIT_NOT_FOUND")
        }
    }

    @Test func `a stranger's habits are not there`() async throws {
        try await withHabits { world in
            let habit = try await world.create("Read")
            let completion = try #require(try await world.complete(habit.id).completion)
            var other = world
            other.user = UserID(high: 1, low: 2)
            try await other.register()
            #expect(await other.reason { _ = try await other.detail(habit.id) } == "HABIT_NOT_FOUND")
            #expect(await other.reason { try await other.complete(habit.id) } == "HABIT_NOT_FOUND")
            #expect(await other.reason { try await other.delete(habit.id) } == "HABIT_NOT_FOUND")
            // Ids are each user's own: neither collides nor answers.
            let same = try await other.create(CreateHabitRequest(id: habit.id, name: "Read"))
            try await other.complete(same.id, id: completion.id, note: "mine")
            #expect(try await world.detail(habit.id).completionsToday.map(\.note) == [""])
            let data = try await ClearHabitData(changes: other.changes).handle(ClearHabitDataRequest(), other.context).reply
            #expect(data.habits == 1)
        }
    }

    @Test func `two creations at once stay within the limit`() async throws {
        try await withHabits { world in
            let reasons = await withTaskGroup(of: String?.self, returning: [String].self) { tasks in
                for number in 0..<9 { tasks.addTask { await world.reason { try await world.create("Habit \(number)") } } }
                var reasons: [String] = []
                for await reason in tasks { if let reason { reasons.append(reason) } }
                return reasons
            }
            #expect(reasons == Array(repeating: "HABIT_LIMIT_REACHED", count: 4))
            let count = try await world.list().activeCount
            #expect(count == 5)
        }
    }
}
