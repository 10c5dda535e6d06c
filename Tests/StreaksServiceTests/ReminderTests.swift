import AuthAPI
import Database
import Kernel
import SocialAPI
import StreaksAPI
import StreaksDomain
import Testing

@testable import Runtime
@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

/// What users are reminded of, from due rows (PW-2, NO-5, D7).
@Suite(.timeLimit(.minutes(10))) struct ReminderTests {
    private func opened(_ world: World, _ user: UserID) async throws -> [String] {
        try await world.events(SnapWindowOpened.self).filter { $0.userID == user }.map(\.date.description)
    }

    private func closing(_ world: World, _ user: UserID) async throws -> [String] {
        try await world.events(SnapWindowClosing.self).filter { $0.userID == user }.map(\.date.description)
    }

    private func atRisk(_ world: World, _ user: UserID) async throws -> [StreaksAtRisk] {
        try await world.events(StreaksAtRisk.self).filter { $0.userID == user }
    }

    @Test func `each day has one push in the window, and at most one at-risk for who has not posted`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2, zone: "Asia/Tokyo"))
            let streak = try await world.befriend(ann, ben)
            for day in 1...5 {
                world.clock.set(max(world.clock.now(), moment("2026-05-0\(day)T08:00:00Z")))
                try await world.post(ann, to: [streak])
                try await world.post(ben, to: [streak])
                try await world.live(until: moment("2026-05-0\(day + 1)T07:00:00Z"))
            }
            // On the sixth neither posts.
            try await world.live(until: moment("2026-05-07T12:30:00Z"))
            #expect(try await opened(world, ann) == (1...6).map { "2026-05-0\($0)" })
            #expect(try await opened(world, ben) == (2...6).map { "2026-05-0\($0)" })
            for event in try await world.events(SnapWindowOpened.self) {
                #expect(event.promptText == DailyPrompt.all.first { $0.id == event.promptID }?.text)
                #expect(event.closesAt == event.opensAt.map { $0 + .hours(2) })
            }
            let emitted = try await atRisk(world, ann)
            #expect(emitted.map(\.date.description) == ["2026-05-06"])
            #expect(emitted.first?.dayEndsAt == moment("2026-05-07T00:00:00Z"))
            #expect(emitted.first?.streaks.map(\.currentCount) == [5] && emitted.first?.streaks.first?.friendID == ben)
            #expect(try await atRisk(world, ben).map(\.date.description) == ["2026-05-06"])
            #expect(try await world.events(StreakBroken.self).count == 1)
            // Neither has a running streak any more: neither is due.
            for user in [ann, ben] { #expect(try await world.nextAt(user) == nil) }
        }
    }

    @Test func `the reminder comes 30 minutes before the window closes, unless something was posted`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben, cat) = (try await world.person(1), try await world.person(2), try await world.person(5_000))
            let (one, two) = (try await world.befriend(ann, ben), try await world.befriend(ann, cat))
            world.clock.set(moment("2026-05-01T10:00:00Z"))
            try await world.post(ben, to: [one])
            try await world.live(until: moment("2026-05-01T11:29:59Z"))
            #expect(try await closing(world, ann).isEmpty)
            #expect(try await opened(world, ann) == ["2026-05-01"])
            try await world.live(until: moment("2026-05-01T11:30:00Z"))
            #expect(try await closing(world, ann) == ["2026-05-01"])
            #expect(try await closing(world, ben).isEmpty, "Ben has posted")
            let reminder = try #require(try await world.events(SnapWindowClosing.self).first { $0.userID == ann })
            #expect(reminder.waitingFriendIDs == [ben, cat], "who has posted waits most")
            #expect(reminder.closesAt == moment("2026-05-01T12:00:00Z") && !reminder.hourIsChosen)
            try await world.post(ann, to: [one, two])
            try await world.live(until: moment("2026-05-02T00:00:00Z"))
            #expect(try await closing(world, ann) == ["2026-05-01"])
            #expect(try await atRisk(world, ann).isEmpty)
        }
    }

    @Test func `on every date there are both reminders of a window, and they say whether its hour was chosen`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1, hour: 22), try await world.person(2))
            try await world.befriend(ann, ben)
            try await world.live(until: moment("2026-05-08T08:00:00Z"))
            let dates = (1...7).map { "2026-05-0\($0)" }
            for user in [ann, ben] {
                #expect(try await opened(world, user) == dates)
                #expect(try await closing(world, user) == dates)
            }
            let (first, last) = (try await world.events(SnapWindowOpened.self), try await world.events(SnapWindowClosing.self))
            #expect(first.allSatisfy { $0.hourIsChosen == ($0.userID == ann) })
            #expect(last.allSatisfy { $0.hourIsChosen == ($0.userID == ann) })
        }
    }

    @Test func `several streaks make one event, the longest first, and those that are safe are not in it`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let ann = try await world.person(1)
            var friends: [UserID] = []
            var streaks: [StreakID] = []
            try await world.premium(ann)
            for number in 2...5 {
                friends.append(try await world.person(UInt64(number)))
                streaks.append(try await world.befriend(ann, friends[number - 2]))
            }
            // The first counts 2, the second and third 1, the fourth nothing.
            try await world.post(ann, to: streaks)
            try await world.post(friends[0], to: [streaks[0]])
            world.clock.set(moment("2026-05-02T08:00:00Z"))
            try await world.post(ann, to: streaks)
            for index in 0...2 { try await world.post(friends[index], to: [streaks[index]]) }
            world.clock.set(moment("2026-05-03T08:00:00Z"))
            try await world.post(ann, to: [streaks[2]])
            try await world.live(until: moment("2026-05-03T20:59:59Z"))
            #expect(try await atRisk(world, ann).isEmpty)
            try await world.live(until: moment("2026-05-03T23:59:59Z"))
            let emitted = try await atRisk(world, ann)
            #expect(emitted.count == 1)
            #expect(emitted.first?.streaks.map(\.streakID) == [streaks[0], streaks[1]])
            #expect(emitted.first?.streaks.map(\.currentCount) == [2, 1])
            #expect(emitted.first?.streaks.first?.deadlineAt == moment("2026-05-04T00:00:00Z"))
        }
    }

    @Test func `another zone and another hour move the reminders, and no date has two`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.befriend(ann, ben)
            try await world.live(until: moment("2026-05-01T13:00:00Z"))
            #expect(try await opened(world, ann) == ["2026-05-01"])
            // In New York it is nine o'clock: the window comes once more, but this date had its reminder.
            try await world.person(1, zone: "America/New_York", version: 2)
            try await world.live(until: moment("2026-05-01T23:00:00Z"))
            #expect(try await opened(world, ann) == ["2026-05-01"])
            try await world.person(1, zone: "America/New_York", hour: 20, version: 3)
            try await world.live(until: moment("2026-05-02T23:59:00Z"))
            #expect(try await opened(world, ann) == ["2026-05-01"], "20:00 there is 00:00 UTC")
            try await world.live(until: moment("2026-05-03T02:00:00Z"))
            #expect(try await opened(world, ann) == ["2026-05-01", "2026-05-02"])
            let last = try #require(try await world.events(SnapWindowOpened.self).last { $0.userID == ann })
            #expect(last.opensAt == moment("2026-05-03T00:00:00Z"))
            #expect(try await opened(world, ben) == ["2026-05-01", "2026-05-02"])
        }
    }

    @Test func `after an outage the present date has its reminders and those before have none`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            for user in [ann, ben] { try await world.post(user, to: [streak]) }
            try await world.live(until: moment("2026-05-01T13:00:00Z"))
            world.clock.set(moment("2026-05-02T23:30:00Z"))
            try await world.settle()
            #expect(try await opened(world, ann) == ["2026-05-01"])
            #expect(try await atRisk(world, ann).map(\.date.description) == ["2026-05-02"])
            // At midnight it is too late (NO-6); the streak breaks, and neither is reminded.
            world.clock.set(moment("2026-05-03T21:30:00Z"))
            try await world.settle()
            #expect(try await atRisk(world, ann).count == 1)
            #expect(try await opened(world, ann).count == 1)
        }
    }

    @Test func `a streak that starts, ends and starts again makes its members due, not due and due again`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            #expect(try await world.nextAt(ann) == nil)
            try await world.befriend(ann, ben)
            try await world.live(until: moment("2026-05-01T12:00:00Z"))
            let ended = FriendshipEnded(
                friendshipID: World.friendship(ann, ben),
                userAID: ann,
                userBID: ben,
                endedAt: world.clock.now()
            )
            try await world.consume(ended)
            try await world.live(until: moment("2026-05-03T12:00:00Z"))
            #expect(try await opened(world, ann) == ["2026-05-01"])
            #expect(try await world.nextAt(ann) == nil)
            try await world.befriend(ann, try await world.person(3))
            try await world.live(until: moment("2026-05-04T12:00:00Z"))
            #expect(try await opened(world, ann) == ["2026-05-01", "2026-05-04"], "without a streak there is no reminder")
            #expect(try await opened(world, ben) == ["2026-05-01"])
        }
    }

    @Test func `nothing is kept of a purged user, and everything is in the export`() async throws {
        try await withWorld(at: "2026-05-01T08:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            try await world.premium(ann)
            let streak = try await world.befriend(ann, ben)
            _ = try await world.service.setStreakPrompts(
                SetStreakPromptsRequest(streakID: streak, prompts: [CustomPrompt(text: "Our dog")]),
                context: World.by(ann)
            )
            try await world.live(until: moment("2026-05-01T12:00:00Z"))
            let export = try await world.service.export(ann)
            #expect(export["prompts"]?.contains("Our dog") == true, "\(export)")
            #expect(export["reminders"]?.contains("\"window_opened\": \"2026-05-01\"") == true, "\(export)")
            try await world.consume(AccountDeleted(userID: ann, deletedAt: world.clock.now()))
            try await world.work.run(trace: "", requestID: "") { work in try await world.service.erase(ann, work) }
            try await world.live(until: moment("2026-05-03T12:00:00Z"))
            let left = try await world.database.query(
                "SELECT 1 FROM reminder_schedule WHERE user_id = \(ann) UNION ALL SELECT 1 FROM streak_prompts WHERE set_by = \(ann)"
            )
            #expect(left.isEmpty)
            #expect(try await opened(world, ann) == ["2026-05-01"])
        }
    }
}
