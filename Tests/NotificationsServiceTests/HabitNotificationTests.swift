import Database
import Kernel
import NotificationsAPI
import StreaksAPI
import TestSupport
import Testing
import Wire

@testable import NotificationsCore
@testable import NotificationsPush

/// Notifications about habits: reminders and their answers, the evening, milestones, motivation (NO-1, HA-5, HA-11, HA-18).
struct HabitNotificationTests {
    private let habit = HabitID(high: 6, low: 1)
    private let date = Zone.utc.date(at: noon)

    private func due(_ user: UserID, _ number: Int32 = 0, until: Instant = noon + .hours(3), _ habit: HabitID? = nil)
        -> HabitReminderDue
    {
        HabitReminderDue(
            userID: user,
            habitID: habit ?? self.habit,
            streakID: World.streak,
            date: date,
            habitName: "Read",
            icon: "book",
            number: number,
            snoozesLeft: 3 - number,
            usefulUntil: until
        )
    }

    private func answered(_ user: UserID, _ answer: ReminderAnswer, byAction: Bool = true) -> HabitReminderAnswered {
        HabitReminderAnswered(
            userID: user,
            habitID: habit,
            date: date,
            answer: answer,
            byAction: byAction,
            habitName: "Read",
            at: noon
        )
    }

    @Test func `a reminder is pushed with its buttons and what its action needs`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            try await world.consume(due(ann))
            try await world.consume(due(ann, 3, HabitID(high: 6, low: 2)))
            try await world.push()
            let pushes = try world.expo.pushes.sorted { $0.collapseId < $1.collapseId }
            #expect(pushes.map(\.categoryId) == ["habit_reminder", "habit_reminder_last"])
            let push = try #require(pushes.first)
            #expect(push.title == "Read" && push.body == "Time to complete your habit!" && push.priority == "high")
            #expect(push.data.habit_id == "\(habit)" && push.data.date == "\(date)" && push.data.reminder_number == 0)
            #expect(push.data.icon == "book" && push.data.type == "habit_reminder" && push.sound == "default")
            #expect(push.data.deep_link == "streaksnap://habits/\(habit)" && push.channelId == "reminders")
            #expect(push.collapseId == "habit_reminder:\(habit)")
            let entry = try #require(try await world.list(ann).notifications.last)
            #expect(entry.habitID == habit && entry.date == date && entry.type == .habitReminder)
        }
    }

    @Test func `an action reads the reminder and is confirmed without sound, in its place; the badge falls`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            try await world.device(ann, "tablet", locale: "de")
            try await world.consume(due(ann))
            try await world.push()
            #expect(try await world.list(ann).unreadCount == 1)
            try await world.consume(answered(ann, .completed))
            try await world.push()
            let confirmations = try world.expo.pushes.dropFirst(2).sorted { $0.to < $1.to }
            #expect(confirmations.map(\.body) == ["Read completed ✓", "Read erledigt ✓"])
            #expect(confirmations.map(\.title) == ["Great job!", "Gut gemacht!"])
            #expect(
                confirmations.allSatisfy { push in
                    push.priority == "normal" && push.sound == nil && push.badge == 0 && push.categoryId == nil
                        && push.collapseId == "habit_reminder:\(habit)"
                }
            )
            let list = try await world.list(ann)
            #expect(list.unreadCount == 0 && list.notifications.count == 2)
            #expect(list.notifications.allSatisfy { $0.readAt != nil })
            // What is tapped is opened (TS-5).
            let opened = try await events(NotificationOpened.self, world)
            #expect(opened.map(\.all) == [false] && opened.flatMap(\.counts).map(\.pushed) == [1])
        }
    }

    @Test func `a snooze is confirmed, a skip is not, and what was done in the app reads the reminder only`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            for (answer, byAction) in [(ReminderAnswer.snoozed, true), (.skipped, true), (.completed, false)] {
                try await world.consume(due(ann))
                try await world.consume(answered(ann, answer, byAction: byAction))
            }
            try await world.push()
            #expect(try world.expo.pushes.map(\.body) == ["Reminder snoozed for 1 hour"])
            // The reminders waited, and were answered before they left.
            #expect(try await world.reasons() == ["read", "read", "read"])
            #expect(try await world.list(ann).unreadCount == 0)
            #expect(try await events(NotificationOpened.self, world).map(\.all) == [false, false, true])
        }
    }

    @Test func `an answer is about one habit and date`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            for reminder in [due(ann), due(ann, 0, HabitID(high: 6, low: 2)), due(ben)] { try await world.consume(reminder) }
            var other = due(ann)
            other.date = date.advanced(by: -1)
            try await world.consume(other)
            try await world.consume(answered(ann, .skipped))
            #expect(try await world.list(ann).unreadCount == 2)
            #expect(try await world.list(ben).unreadCount == 1)
        }
    }

    @Test func `reminders wait until quiet hours end while they are of use, and are beside the eight`() async throws {
        // 06:00 in UTC.
        try await withWorld(at: noon + .hours(-6)) { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            for number in UInt64(0)..<10 {
                try await world.consume(due(ann, 0, until: noon + .hours(-3), HabitID(high: 6, low: number)))
            }
            // Of no use any more at their end.
            try await world.consume(due(ann, 0, until: noon + .hours(-5), HabitID(high: 6, low: 99)))
            try await world.push()
            #expect(try world.expo.pushes.isEmpty)
            world.clock.set(noon + .hours(-5))
            try await world.push()
            #expect(try world.expo.pushes.count == 10)
            #expect(try await world.list(ann).notifications.count == 11)
        }
    }

    @Test func `late reminders and empty evenings make no entry`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.consume(due(ann, 0, until: noon))
            try await world.consume(HabitsLeftToday(userID: ann, date: date, left: 0, usefulUntil: noon + .hours(4)))
            try await world.consume(HabitsLeftToday(userID: ann, date: date, left: 3, usefulUntil: noon))
            try await world.consume(HabitMotivationDue(userID: ann, date: date, number: 1, usefulUntil: noon))
            #expect(try await world.list(ann).notifications.isEmpty)
            try await world.consume(HabitsLeftToday(userID: ann, date: date, left: 3, usefulUntil: noon + .hours(4)))
            let entry = try #require(try await world.list(ann).notifications.first)
            #expect(entry.title == "Don't break your streak!" && entry.body == "You have 3 habits left to complete today")
            #expect(entry.deepLink == "streaksnap://today" && entry.type == .streakReminder)
        }
    }

    @Test func `a milestone of a habit names it and opens it`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            for (count, unit) in [(Int32(7), HabitUnit.days), (4, .weeks)] {
                try await world.consume(
                    HabitMilestoneReached(
                        streakID: World.streak,
                        userID: ann,
                        habitID: habit,
                        name: "Read",
                        count: count,
                        unit: unit,
                        date: date,
                        at: noon
                    )
                )
            }
            try await world.push()
            let pushes = try world.expo.pushes
            #expect(
                Set(pushes.map(\.body)) == [
                    "You've reached a 7 day streak for Read!", "You've reached a 4 week streak for Read!",
                ]
            )
            #expect(pushes.allSatisfy { $0.data.deep_link == "streaksnap://habits/\(habit)" && $0.data.streakType == "habit" })
            #expect(Set(pushes.map(\.data.milestone)) == [7, 4])
        }
    }

    @Test func `motivation is off until it is wanted; each change is emitted once`() async throws {
        try await withWorld { world in
            let ann = try await world.person(1)
            try await world.device(ann, "phone")
            let first = try await GetPreferences(log: world.core.log).handle(GetPreferencesRequest(), World.by(ann))
            #expect(!first.motivation && first.enabled && first.habitReminders && first.streakAtRisk)
            let word = HabitMotivationDue(userID: ann, date: date, number: 0, usefulUntil: noon + .hours(2))
            try await world.consume(word)
            #expect(try await world.states().isEmpty)
            let changes = [
                UpdatePreferencesRequest(nudges: false), UpdatePreferencesRequest(motivation: true),
                UpdatePreferencesRequest(motivation: true), UpdatePreferencesRequest(enabled: false),
                UpdatePreferencesRequest(enabled: true), UpdatePreferencesRequest(motivation: false),
            ]
            for (index, change) in changes.enumerated() {
                let stored = try await world.update(ann, change)
                if index == 3 { #expect(!stored.enabled && stored.motivation) }
            }
            let emitted = try await events(MotivationSwitched.self, world)
            #expect(emitted.map(\.isOn) == [true, false, true, false] && emitted.allSatisfy { $0.userID == ann })
        }
    }

    @Test func `with everything off, only what cannot be switched off leaves`() async throws {
        try await withWorld { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.device(ann, "phone")
            try await world.update(ann, UpdatePreferencesRequest(enabled: false))
            try await world.consume(due(ann))
            try await world.request(ben, ann)
            let send = SendTest(writer: world.core.writer, mutations: world.mutations)
            _ = try await send.handle(SendTestRequest(), World.by(ann))
            try await world.push()
            #expect(try world.expo.pushes.map(\.data.type) == ["test"])
            try await world.update(ann, UpdatePreferencesRequest(enabled: true, habitReminders: false))
            try await world.consume(due(ann))
            try await world.request(ben, ann, 8)
            try await world.push()
            #expect(try world.expo.pushes.map(\.data.type) == ["test", "friend_request"])
        }
    }

    private func events<E: Event>(_: E.Type, _ world: World) async throws -> [E] {
        try await world.database.query("SELECT body FROM outbox WHERE subject = \(E.subject) ORDER BY position")
            .map { try E(serialized: try $0.decode(as: [UInt8].self)) }
    }
}
