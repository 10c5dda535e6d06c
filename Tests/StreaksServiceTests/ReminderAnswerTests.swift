import Kernel
import StreaksAPI
import StreaksDomain
import Testing

@testable import StreaksCore
@testable import StreaksHabitReminders
@testable import StreaksHabits

/// What is tapped on a reminder of a habit (HA-5).
@Suite(.timeLimit(.minutes(10))) struct ReminderAnswerTests {
    private let today = "2026-05-04"

    /// A user whose habit reminds at 8.
    private func withReminder(target: Amount? = nil, _ body: (HabitReminderWorld, UserID, HabitID) async throws -> Void)
        async throws
    {
        try await withHabitReminders(at: "\(today)T06:00:00Z") { world in
            let ann = try await world.person(1)
            let details = try HabitDetails(name: "Read", reminder: HabitReminderTime(minute: 480))
            let read = try await world.change(ann) {
                try await $0.create(HabitBook.NewHabit(details, schedule: .daily, target: target))
            }
            try await world.live(until: "\(today)T08:00:00Z")
            #expect(try await world.reminders() == ["\(today) Read 0"])
            try await body(world, ann, read)
        }
    }

    /// The completions of a habit.
    private func completions(_ world: HabitReminderWorld) async throws -> [String] {
        try await world.world.database.query(
            "SELECT on_date::text || ' ' || coalesce(amount::text, '-') FROM habit_completion ORDER BY on_date, received_at"
        ).map { try $0.decode(as: String.self) }
    }

    /// What Today says of the only habit.
    private func snoozesLeft(_ world: HabitReminderWorld, _ user: UserID) async throws -> Int32? {
        let today = try await GetHabitsToday(reader: HabitDayReader(habits: world.habits))
            .handle(GetHabitsTodayRequest(), World.by(user))
        return today.sections.flatMap(\.habits).first?.snoozesLeft
    }

    @Test func `complete counts once for the reminder's date, however often it is said`() async throws {
        try await withReminder { world, ann, read in
            let first = try await world.tap(ann, read, .complete, today)
            #expect(first.message == "Great job! Read completed ✓" && first.currentCount == 1 && first.unit == .days)
            let again = try await world.tap(ann, read, .complete, today)
            #expect(again == first)
            #expect(try await completions(world) == ["\(today) -"])
            #expect(try await world.answers() == ["\(today) Read completed by action"])
            // Deleted in the app: a late repeat does not bring it back.
            let id = try await world.world.database.query("SELECT id FROM habit_completion").map {
                try $0.decode(as: CompletionID.self)
            }
            try await world.edit(ann, read, .delete(id[0], on: day(today)))
            try await world.tap(ann, read, .complete, today)
            #expect(try await completions(world).isEmpty)
            #expect(try await world.answers().count == 1)
        }
    }

    @Test func `tapped after midnight it still belongs to the date of the reminder`() async throws {
        try await withReminder { world, ann, read in
            world.world.clock.set(moment("2026-05-05T00:30:00Z"))
            #expect(try await world.tap(ann, read, .complete, today).currentCount == 1)
            #expect(try await completions(world) == ["\(today) -"])
            // Nothing is put off into another date.
            let late = try await world.tap(ann, read, .snooze, today)
            #expect(late.remindAt == nil && late.message == "No more reminders for this date")
            try await world.live(until: "2026-05-05T12:00:00Z")
            #expect(try await world.reminders() == ["\(today) Read 0", "2026-05-05 Read 0"])
            #expect(try await world.refusal(ann, read, .complete, "2026-05-06") == "DATE_IN_FUTURE")
            world.world.clock.set(moment("2026-05-13T00:30:00Z"))
            #expect(try await world.refusal(ann, read, .skip, "2026-05-05") == "DATE_TOO_OLD")
        }
    }

    @Test func `complete adds what is missing to a target, and changes nothing of what is done`() async throws {
        try await withReminder(target: Amount(thousandths: 20_000)) { world, ann, read in
            try await world.edit(ann, read, .complete(world.completion(1), on: day(today), Amount(thousandths: 12_500)))
            try await world.tap(ann, read, .complete, today)
            #expect(try await completions(world) == ["\(today) 12500", "\(today) 7500"])
            // Another reminder of the date is tapped late on another phone.
            try await world.tap(ann, read, .complete, today, 1)
            #expect(try await completions(world).count == 2)
        }
    }

    @Test func `skip keeps the date out of the streak, once, and a done date stays done`() async throws {
        try await withReminder { world, ann, read in
            let skipped = try await world.tap(ann, read, .skip, today)
            #expect(skipped.message == "Read skipped for today" && skipped.currentCount == 0)
            try await world.tap(ann, read, .skip, today)
            #expect(try await world.world.database.query("SELECT 1 FROM habit_skip").count == 1)
            #expect(try await world.answers() == ["\(today) Read skipped by action"])
            try await world.live(until: "2026-05-05T08:00:00Z")
            try await world.edit(ann, read, .complete(world.completion(1), on: day("2026-05-05"), nil))
            #expect(try await world.tap(ann, read, .skip, "2026-05-05").currentCount == 1)
            #expect(try await world.world.database.query("SELECT 1 FROM habit_skip").count == 1)
        }
    }

    @Test func `three snoozes of an hour come again, the fourth is refused, the next date has its own`() async throws {
        try await withReminder { world, ann, read in
            for number in Int32(0)..<3 {
                let reply = try await world.tap(ann, read, .snooze, today, number)
                #expect(reply.remindAt == world.now + .hours(1) && reply.snoozesLeft == 2 - number)
                #expect(reply.message == "Reminder snoozed for 1 hour")
                #expect(try await snoozesLeft(world, ann) == 2 - number)
                // Tapped on two phones: it is put off once.
                #expect(try await world.tap(ann, read, .snooze, today, number) == reply)
                try await world.live(until: "\(today)T\(number == 0 ? "09" : "1\(number - 1)"):00:00Z")
            }
            #expect(try await world.reminders() == (0...3).map { "\(today) Read \($0)" })
            for number in [3, nil] as [Int32?] {
                #expect(try await world.refusal(ann, read, .snooze, today, number) == "SNOOZE_LIMIT_REACHED")
            }
            #expect(try await world.answers() == Array(repeating: "\(today) Read snoozed by action", count: 3))
            try await world.live(until: "2026-05-05T08:00:00Z")
            #expect(try await snoozesLeft(world, ann) == 3)
            #expect(try await world.tap(ann, read, .snooze, "2026-05-05").snoozesLeft == 2)
        }
    }

    @Test func `what is done or changed meanwhile does not come again`() async throws {
        try await withReminder { world, ann, read in
            try await world.tap(ann, read, .snooze, today)
            try await world.edit(ann, read, .complete(world.completion(1), on: day(today), nil))
            try await world.live(until: "\(today)T12:00:00Z")
            #expect(try await world.reminders().count == 1)
            let reply = try await world.tap(ann, read, .snooze, today, nil)
            #expect(reply.remindAt == nil && reply.snoozesLeft == 2)
        }
    }

    @Test func `a snooze before midnight is dropped when its hour would be past it`() async throws {
        try await withReminder { world, ann, read in
            world.world.clock.set(moment("\(today)T23:10:00Z"))
            let reply = try await world.tap(ann, read, .snooze, today)
            #expect(reply.remindAt == nil && reply.snoozesLeft == 2 && reply.message == "No more reminders for this date")
            try await world.live(until: "2026-05-05T07:00:00Z")
            #expect(try await world.reminders().count == 1)
            // Not confirmed: nothing comes in an hour. The reminder is answered all the same.
            #expect(try await world.answers() == ["\(today) Read snoozed"])
        }
    }

    @Test func `what is done in the app answers its reminder, once, and only one that was sent`() async throws {
        try await withReminder { world, ann, read in
            let other = try await world.habit(ann, "Run", at: 1_200)
            for (number, habit) in [read, other, read].enumerated() {
                try await world.edit(ann, habit, .complete(world.completion(UInt64(number)), on: day(today), nil))
            }
            try await world.live(until: "\(today)T08:00:00Z")
            #expect(try await world.answers() == ["\(today) Read completed"])
            try await world.live(until: "2026-05-05T08:00:00Z")
            try await world.edit(ann, read, .skip(day("2026-05-05")))
            try await world.live(until: "2026-05-05T08:00:00Z")
            #expect(try await world.answers().last == "2026-05-05 Read skipped")
        }
    }

    @Test func `bad taps are refused and leave nothing behind`() async throws {
        try await withReminder { world, ann, read in
            let (ben, walk) = (try await world.person(2), try await world.habit(ann, "Walk", .weekdays([0])))
            #expect(try await world.refusal(ben, read, .complete, today) == "HABIT_NOT_FOUND")
            #expect(try await world.refusal(ann, read, .unspecified, today) == "VALIDATION_ERROR")
            #expect(try await world.refusal(ann, walk, .snooze, today) == "NO_REMINDER")
            #expect(try await world.refusal(ann, walk, .skip, today) == "DATE_NOT_DUE")
            #expect(try await world.world.database.query("SELECT 1 FROM habit_reminder_answer").isEmpty)
            #expect(try await world.answers().isEmpty)
            try await world.change(ann) { book in try await book.delete(try await book.lock(read)) }
            #expect(try await world.refusal(ann, read, .complete, today) == "HABIT_NOT_FOUND")
        }
    }

    @Test func `answers are deleted after ten days`() async throws {
        try await withReminder { world, ann, read in
            try await world.tap(ann, read, .snooze, today)
            let database = world.world.database
            #expect(try await ReminderAnswerRepository.purge(before: world.now, database) == 0)
            #expect(try await ReminderAnswerRepository.purge(before: world.now + .seconds(1), database) == 1)
        }
    }
}
