import Kernel
import TestSupport
import Testing

@testable import NotificationsDomain

/// What notifications about habits say, and how they are presented (HA-5, HA-11, HA-18).
struct HabitTextTests {
    private func text(_ kind: NotificationKind, _ wording: Int16, count: Int32 = 0, amount: Int32 = 0) -> [String] {
        let values = NotificationValues(wording: wording, count: count, amount: amount, subject: "Read")
        return [Language.english, .german].map { language in
            let text = NotificationText.of(kind, values, name: nil, in: language)
            return "\(text.title) | \(text.body)"
        }
    }

    @Test func `a reminder has the habit's name, and its actions are confirmed`() {
        #expect(
            text(.habitReminder, 0) == ["Read | Time to complete your habit!", "Read | Zeit für deine Gewohnheit!"]
        )
        #expect(
            text(.habitReminder, Wording.habitCompleted) == ["Great job! | Read completed ✓", "Gut gemacht! | Read erledigt ✓"]
        )
        #expect(
            text(.habitReminder, Wording.habitSnoozed) == [
                "Read | Reminder snoozed for 1 hour", "Read | Neue Erinnerung in 1 Stunde",
            ]
        )
    }

    @Test func `the evening counts habits in each language`() {
        #expect(
            text(.streakReminder, 0, amount: 1) == [
                "Don't break your streak! | You have 1 habit left to complete today",
                "Lass deinen Streak nicht reißen! | Heute ist noch 1 Gewohnheit offen",
            ]
        )
        #expect(
            text(.streakReminder, 0, amount: 7) == [
                "Don't break your streak! | You have 7 habits left to complete today",
                "Lass deinen Streak nicht reißen! | Heute sind noch 7 Gewohnheiten offen",
            ]
        )
    }

    @Test func `milestones of habits count days or weeks`() {
        #expect(
            text(.milestone, Wording.habitDays, count: 30) == [
                "🎉 Congratulations! | You've reached a 30 day streak for Read!",
                "🎉 Glückwunsch! | Read: Du hast einen Streak von 30 Tagen erreicht!",
            ]
        )
        #expect(
            text(.milestone, Wording.habitWeeks, count: 4) == [
                "🎉 Congratulations! | You've reached a 4 week streak for Read!",
                "🎉 Glückwunsch! | Read: Du hast einen Streak von 4 Wochen erreicht!",
            ]
        )
    }

    @Test func `all words of motivation come in turn, in each language, and in their order`() {
        #expect(EnglishTexts.motivationCount == GermanTexts.motivationCount)
        let count = EnglishTexts.motivationCount
        let turns = (0..<Int32(count)).map { text(.motivation, 0, count: 20_000 + $0) }
        for language in 0..<2 { #expect(Set(turns.map { $0[language] }).count == count) }
        let first = (0..<Int32(3)).map { text(.motivation, 0, count: $0)[0].split(separator: " | ")[0] }
        #expect(first == ["Small steps lead to big changes", "You're building something great", "Consistency is key"])
        // A number of another version of streaks.
        #expect(!text(.motivation, 0, count: .min).isEmpty)
    }

    @Test func `links lead to the habit, or to what is open today`() {
        let habit = HabitID(high: 1, low: 2)
        #expect(DeepLink.path(.habitReminder, wording: 0, streak: nil, habit: habit) == "habits/\(habit)")
        #expect(DeepLink.path(.milestone, wording: Wording.habitDays, streak: nil, habit: habit) == "habits/\(habit)")
        #expect(DeepLink.path(.streakReminder, wording: 0, streak: nil) == "today")
        #expect(DeepLink.path(.motivation, wording: 0, streak: nil) == "today")
        let streak = StreakID(high: 1, low: 2)
        #expect(DeepLink.path(.streakReminder, wording: Wording.checkInMorning, streak: streak) == "home")
    }

    @Test func `a reminder has buttons, the last one of a date no snooze, and its confirmation none and no sound`() {
        func category(_ kind: NotificationKind, _ wording: Int16 = 0, _ count: Int32 = 0) -> PushFormat.Category? {
            kind.category(NotificationValues(wording: wording, count: count))
        }
        #expect(category(.habitReminder) == .habitReminder && category(.habitReminder, 0, 2) == .habitReminder)
        #expect(category(.habitReminder, 0, 3) == .lastHabitReminder)
        #expect(category(.habitReminder, Wording.habitCompleted) == nil && category(.streakReminder) == nil)
        #expect(NotificationKind.habitReminder.isUrgent(0))
        #expect(!NotificationKind.habitReminder.isUrgent(Wording.habitSnoozed))
        #expect(!NotificationKind.motivation.isUrgent(0))
        let confirmations = NotificationKind.allCases.filter { kind in (0...30).contains { kind.isConfirmation($0) } }
        #expect(confirmations == [.habitReminder])
    }

    @Test func `motivation is off at first, and one switch silences all that can be switched off`() {
        let first = PushPreferences()
        #expect(!first.allow(.motivation))
        #expect(NotificationKind.allCases.allSatisfy { $0 == .motivation || first.allow($0) })
        let silent = PushPreferences(off: [.enabled])
        #expect(NotificationKind.allCases.filter(silent.allow) == NotificationKind.allCases.filter { $0.pushSwitch == nil })
        #expect(PushPreferences(off: []).allow(.motivation))
        #expect(NotificationKind.habitReminder.pushSwitch == .habitReminders)
        // The reminder of all that is open.
        #expect(NotificationKind.streakReminder.pushSwitch == .streakAtRisk)
    }

    @Test func `reminders that the user set are beside the eight of a date, motivation is not`() {
        var places = DayPlaces()
        let reminders = (0..<30).map { _ in places.take(for: .habitReminder) }
        #expect(reminders == Array(repeating: true, count: 30) && places.taken == 0)
        let taken = (0..<6).map { _ in places.take(for: .motivation) }
        #expect(taken.filter { $0 }.count == DayPlaces.open)
        // The 8 PM reminder has the place of a streak at risk.
        let evening = places.take(for: .streakReminder)
        #expect(evening)
    }
}
