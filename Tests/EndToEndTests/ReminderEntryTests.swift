import Foundation
import Kernel
import StreaksAPI
import Testing

/// What becomes of the moments of a day in the log (NO-5, NO-6).
struct ReminderEntryTests {
    private func streak(_ friend: Person, _ count: Int32) throws -> StreakAtRisk {
        StreakAtRisk(
            streakID: try #require(StreakID(UUID().uuidString)),
            friendID: try #require(UserID(friend.id)),
            currentCount: count,
            deadlineAt: SystemClock.now() + .hours(3)
        )
    }

    private func atRisk(_ person: Person, _ streaks: [StreakAtRisk], in left: Interval) throws -> StreaksAtRisk {
        StreaksAtRisk(
            userID: try #require(UserID(person.id)),
            date: try #require(CalendarDate("2026-05-01")),
            dayEndsAt: SystemClock.now() + left,
            streaks: streaks
        )
    }

    private func closing(_ person: Person, _ waiting: [Person], in left: Interval) throws -> SnapWindowClosing {
        SnapWindowClosing(
            userID: try #require(UserID(person.id)),
            date: try #require(CalendarDate("2026-05-01")),
            promptID: "food-01",
            promptText: "Show your lunch plate",
            promptEmoji: "🍽️",
            closesAt: SystemClock.now() + left,
            waitingFriendIDs: try waiting.map { try #require(UserID($0.id)) }
        )
    }

    @Test func `several streaks make one entry, and what is consumed too late makes none`() async throws {
        let home = try await Installation.shared.value
        let ann = try await Person.register("ann", at: home)
        let (ben, cat, dan) = (
            try await Person.register("ben", at: home), try await Person.register("cat", at: home),
            try await Person.register("dan", at: home)
        )
        var events: [String] = []
        for event in [
            try atRisk(ann, [streak(ben, 12)], in: .seconds(-1)),
            try atRisk(ann, [streak(ben, 12), streak(cat, 3), streak(dan, 1)], in: .minutes(175)),
        ] { events.append(try await home.emit(event, from: "streaks")) }
        for event in [
            try closing(ann, [ben, cat], in: .minutes(30)), try closing(ann, [ben], in: .seconds(-1)),
            try closing(ann, [], in: .hours(1)),
        ] {
            events.append(try await home.emit(event, from: "streaks"))
        }
        for event in events { try await home.consumed(event, by: ["notifications"]) }
        let risk = try await ann.notifications("streak_at_risk")
        #expect(risk.map { $0["title"].string } == ["⚠️ 3 streaks at risk!"])
        #expect(risk.map { $0["body"].string } == ["Your 12-day streak with ben and 2 more expire in 3 hours!"])
        #expect(risk.first?["actor_id"].string == ben.id && risk.first?["streak_id"].isNull == true)
        let window = try await ann.notifications("window_closing")
        #expect(window.map { $0["title"].string } == ["⏰ 30 minutes left to snap"])
        #expect(window.map { $0["body"].string } == ["🍽️ Show your lunch plate — ben and 1 other are waiting!"])
    }
}
