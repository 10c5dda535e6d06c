import BillingAPI
import Kernel
import NotificationsAPI
import StreaksAPI
import StreaksDomain
import Testing

@testable import StreaksCore
@testable import StreaksHabitReminders

/// When habits remind their users (HA-5, HA-17, HA-18).
@Suite(.timeLimit(.minutes(10))) struct HabitReminderServiceTests {
    @Test func `a habit reminds at its minute by the user's clock, on its days, once a date`() async throws {
        // A Friday; clocks in Berlin change on Sunday.
        try await withHabitReminders(at: "2026-03-27T05:00:00Z") { world in
            let ann = try await world.person(1, zone: "Europe/Berlin")
            let read = try await world.habit(ann, "Read", at: 480)
            try await world.habit(ann, "Run", at: 540, days: [6, 1])
            try await world.habit(ann, "Plan", at: 600, .weekdays([5]))
            try await world.habit(ann, "Walk")
            try await world.live(until: "2026-03-30T12:00:00Z")
            #expect(
                try await world.reminders() == [
                    "2026-03-27 Read 0", "2026-03-27 Plan 0", "2026-03-28 Read 0", "2026-03-28 Run 0", "2026-03-29 Read 0",
                    "2026-03-30 Read 0", "2026-03-30 Run 0",
                ]
            )
            let events = try await world.world.events(HabitReminderDue.self)
            #expect(events.filter { $0.habitID == read }.allSatisfy { $0.snoozesLeft == 3 && $0.userID == ann })
            #expect(events.map(\.usefulUntil).first == moment("2026-03-27T10:00:00Z"))
            // 8 o'clock of summer time.
            #expect(events.first { "\($0.date)" == "2026-03-30" }?.usefulUntil == moment("2026-03-30T09:00:00Z"))
        }
    }

    @Test func `nothing comes of a date that is done, skipped, paused, archived or deleted`() async throws {
        try await withHabitReminders(at: "2026-05-04T06:00:00Z") { world in
            let (ann, today) = (try await world.person(1), day("2026-05-04"))
            let (open, done) = (try await world.habit(ann, "Open", at: 480), try await world.habit(ann, "Done", at: 480))
            let (skipped, paused) = (
                try await world.habit(ann, "Skipped", at: 480), try await world.habit(ann, "Paused", at: 480)
            )
            try await world.edit(ann, done, .complete(world.completion(1), on: today, nil))
            try await world.edit(ann, skipped, .skip(today))
            try await world.change(ann) { book in
                try await book.pause(try await book.lock(paused), from: today, until: today.advanced(by: 1))
            }
            try await world.live(until: "2026-05-04T12:00:00Z")
            #expect(try await world.reminders() == ["2026-05-04 Open 0"])
            try await world.change(ann) { book in try await book.archive(try await book.lock(open)) }
            try await world.change(ann) { book in try await book.delete(try await book.lock(done)) }
            try await world.live(until: "2026-05-05T12:00:00Z")
            let second = try await world.reminders().dropFirst()
            #expect(second.sorted() == ["2026-05-05 Paused 0", "2026-05-05 Skipped 0"])
            // Back after its time: from the next date on.
            try await world.change(ann) { book in try await book.unarchive(try await book.lock(open)) }
            try await world.live(until: "2026-05-06T07:59:00Z")
            #expect(try await world.reminders().count == 3)
            try await world.live(until: "2026-05-06T08:00:00Z")
            #expect(try await world.reminders().dropFirst(3).contains("2026-05-06 Open 0"))
        }
    }

    @Test func `a weekly habit reminds until its week is reached`() async throws {
        try await withHabitReminders(at: "2026-05-04T06:00:00Z") { world in
            let ann = try await world.person(1)
            let run = try await world.habit(ann, "Run", at: 480, .timesPerWeek(2))
            for (number, date) in ["2026-05-04", "2026-05-06"].enumerated() {
                try await world.live(until: "\(date)T12:00:00Z")
                try await world.edit(ann, run, .complete(world.completion(UInt64(number)), on: day(date), nil))
            }
            try await world.live(until: "2026-05-11T12:00:00Z")
            #expect(
                try await world.reminders() == [
                    "2026-05-04 Run 0", "2026-05-05 Run 0", "2026-05-06 Run 0", "2026-05-11 Run 0",
                ]
            )
        }
    }

    @Test func `another time, schedule or clock holds at once`() async throws {
        try await withHabitReminders(at: "2026-05-04T06:00:00Z") { world in
            let ann = try await world.person(1)
            let read = try await world.habit(ann, "Read", at: 1_200, .weekdays([0]))
            try await world.live(until: "2026-05-04T07:00:00Z")
            // Monday is due now, at 9 instead of 20 h.
            try await world.change(ann) { book in
                let details = try HabitDetails(name: "Read", reminder: HabitReminderTime(minute: 540))
                try await book.update(try await book.lock(read), details, schedule: .daily, target: nil)
            }
            try await world.live(until: "2026-05-04T12:00:00Z")
            #expect(try await world.reminders() == ["2026-05-04 Read 0"])
            // A later time on the same date is new; an earlier one is past.
            for (minute, count) in [(780, 2), (600, 2)] {
                try await world.change(ann) { book in
                    let details = try HabitDetails(name: "Read", reminder: HabitReminderTime(minute: minute))
                    try await book.update(try await book.lock(read), details, schedule: .daily, target: nil)
                }
                try await world.live(until: "2026-05-04T1\(minute == 780 ? 3 : 4):00:00Z")
                #expect(try await world.reminders().count == count)
            }
            // 10 o'clock in New York is 14 h.
            _ = try await world.person(1, zone: "America/New_York", version: 2)
            try await world.live(until: "2026-05-05T13:59:00Z")
            #expect(try await world.reminders().count == 2)
            try await world.live(until: "2026-05-05T14:00:00Z")
            #expect(try await world.reminders().last == "2026-05-05 Read 0")
        }
    }

    @Test func `the free plan has three a date, premium all, and after a downgrade the earliest three`() async throws {
        try await withHabitReminders(at: "2026-05-04T06:00:00Z") { world in
            let ann = try await world.person(1)
            try await world.world.premium(ann)
            for (index, minute) in [600, 480, 540, 660, 720, 780].enumerated() {
                try await world.habit(ann, "Habit \(index)", at: minute)
            }
            try await world.live(until: "2026-05-04T12:00:00Z")
            #expect(try await world.reminders().count == 5)
            try await world.world.premium(ann, false, version: 2)
            try await world.live(until: "2026-05-05T19:00:00Z")
            #expect(
                try await world.reminders().dropFirst(5) == [
                    "2026-05-05 Habit 1 0", "2026-05-05 Habit 2 0", "2026-05-05 Habit 0 0",
                ]
            )
        }
    }

    @Test func `at 8 PM what is open is counted; nothing open, nothing said`() async throws {
        try await withHabitReminders(at: "2026-05-04T06:00:00Z") { world in
            let (ann, ben) = (try await world.person(1, zone: "Europe/Berlin"), try await world.person(2))
            var habits: [HabitID] = []
            for name in ["Read", "Run"] { habits.append(try await world.habit(ann, name)) }
            // Three times a week can wait on Monday; only Sundays are due.
            try await world.habit(ann, "Swim", .timesPerWeek(3))
            try await world.habit(ann, "Rest", .weekdays([0]))
            try await world.live(until: "2026-05-04T17:59:59Z")
            #expect(try await world.world.events(HabitsLeftToday.self).isEmpty)
            try await world.live(until: "2026-05-04T18:00:00Z")
            var events = try await world.world.events(HabitsLeftToday.self)
            #expect(events.map(\.left) == [2] && events[0].date == day("2026-05-04"))
            #expect(events[0].usefulUntil == moment("2026-05-04T22:00:00Z"))
            try await world.live(until: "2026-05-05T12:00:00Z")
            try await world.edit(ann, habits[0], .complete(world.completion(1), on: day("2026-05-05"), nil))
            try await world.live(until: "2026-05-06T12:00:00Z")
            for (number, habit) in habits.enumerated() {
                try await world.edit(ann, habit, .complete(world.completion(UInt64(number) + 5), on: day("2026-05-06"), nil))
            }
            try await world.live(until: "2026-05-07T12:00:00Z")
            events = try await world.world.events(HabitsLeftToday.self)
            #expect(events.map(\.left) == [2, 1] && events.allSatisfy { $0.userID == ann })
            // Who begins after 8 PM has no evening of that date.
            world.world.clock.set(moment("2026-05-07T20:30:00Z"))
            try await world.habit(ben, "Sleep")
            try await world.live(until: "2026-05-08T20:00:00Z")
            let later = try await world.world.events(HabitsLeftToday.self).filter { $0.userID == ben }
            #expect(later.map(\.date) == [day("2026-05-08")])
        }
    }

    @Test func `words of motivation come once a date to who wants them, and stop when they do not`() async throws {
        try await withHabitReminders(at: "2026-05-04T06:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.habit(ben, "Read")
            func want(_ isOn: Bool) async throws {
                let event = MotivationSwitched(userID: ann, isOn: isOn, at: world.now)
                try await world.world.work.consume(event, by: world.consumers)
            }
            try await want(true)
            try await world.live(until: "2026-05-09T06:00:00Z")
            let words = try await world.world.events(HabitMotivationDue.self)
            #expect(words.map(\.userID) == Array(repeating: ann, count: 5))
            #expect(words.map(\.date) == (4...8).map { day("2026-05-0\($0)") })
            #expect(zip(words, words.dropFirst()).allSatisfy { $0.number + 1 == $1.number })
            try await want(false)
            try await world.live(until: "2026-05-11T06:00:00Z")
            #expect(try await world.world.events(HabitMotivationDue.self).count == 5)
            let waiting = try await world.world.database.query(
                "SELECT 1 FROM habit_reminder_schedule WHERE user_id = \(ann) AND next_at IS NOT NULL"
            )
            #expect(waiting.isEmpty, "there is nothing to remind of")
        }
    }

    @Test func `the rows of a user are exported, and gone with the account`() async throws {
        try await withHabitReminders(at: "2026-05-04T06:00:00Z") { world in
            let ann = try await world.person(1)
            let read = try await world.habit(ann, "Read", at: 480)
            try await world.live(until: "2026-05-04T08:00:00Z")
            try await world.tap(ann, read, .snooze, "2026-05-04")
            let export = try await world.world.service.export(ann)
            #expect(export["habit_reminders"]?.contains("2026-05-04") == true)
            #expect(export["habit_reminder_answers"]?.contains("2026-05-04") == true)
            try await world.world.work.run(trace: "", requestID: "") { work in try await world.world.service.erase(ann, work) }
            for table in ["habit_reminder_schedule", "habit_reminder", "habit_reminder_answer"] {
                #expect(try await world.world.database.query("SELECT 1 FROM \(identifier: table)").isEmpty, "\(table)")
            }
            // Late news about who is purged make no row.
            try await world.world.work.consume(MotivationSwitched(userID: ann, isOn: true, at: world.now), by: world.consumers)
            #expect(try await world.world.database.query("SELECT 1 FROM habit_reminder_schedule").isEmpty)
        }
    }
}
