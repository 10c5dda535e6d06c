import Foundation
import Kernel
import NotificationsAPI
import StreaksAPI
import TestSupport
import Testing
import Wire

@testable import NotificationsCore
@testable import NotificationsLive
@testable import Outbox

/// What events of streaks become for open apps (NO-7).
struct LiveStreakTests {
    private static let (ann, ben, eve) = (LiveWorld.user(1), LiveWorld.user(2), LiveWorld.user(3))
    private static let (streak, circle) = (StreakID(high: 5, low: 6), CircleID(high: 7, low: 8))
    private static let now = Instant(rfc3339: "2026-01-05T12:00:00Z") ?? .epoch
    private static let (today, tomorrow) = (CalendarDate("2026-01-05"), CalendarDate("2026-01-06"))

    /// Consumes events, and gives what a user is sent of them.
    private func sent(_ events: [any Event], to user: UserID, _ world: LiveWorld) async throws -> [(
        name: String, data: NSDictionary
    )] {
        let before = try await world.database.transaction { sql in try await LiveEventRepository.lock(user, sql) }
        let handlers = StreakConsumers(live: world.live).all
        for event in events {
            let body = try event.serialized()
            let known = handlers.filter { $0.subject == type(of: event).subject }
            #expect(known.count == 1, "\(type(of: event))")
            for handler in known {
                try await world.work.run(trace: "", requestID: "") { work in
                    let stored = StoredEvent(
                        id: work.ids.make(),
                        aggregate: "",
                        subject: handler.subject,
                        trace: "",
                        requestID: "",
                        body: body
                    )
                    try await handler.handle(stored, work)
                }
            }
        }
        return try await world.database.transaction { sql in
            try await LiveEventRepository.events(of: user, after: before, limit: 100, sql)
        }.map { event in
            (event.name, try #require(try JSONSerialization.jsonObject(with: Data(event.data.utf8)) as? NSDictionary))
        }
    }

    /// The members of a `solo_streak` that are not null, without the streak and its kind.
    private func solo(_ event: any Event, _ world: LiveWorld) async throws -> [String: String] {
        let all = try await sent([event], to: Self.ann, world)
        #expect(all.map(\.name) == ["solo_streak"])
        var shown: [String: String] = [:]
        for (key, value) in all.first?.data ?? [:] where !(value is NSNull) { shown["\(key)"] = "\(value)" }
        #expect(shown.removeValue(forKey: "streak_id") == Self.streak.description)
        #expect(shown.removeValue(forKey: "kind") == "check_in")
        return shown
    }

    @Test func `a check-in, what protects it, its break and its repair are each a new state`() async throws {
        let (id, user, today) = (Self.streak, Self.ann, try #require(Self.today))
        let end = Self.now + .hours(36)
        try await withLiveWorld { world in
            var extended = SoloStreakExtended(
                streakID: id,
                userID: user,
                kind: .checkIn,
                date: today,
                count: 12,
                longest: 30,
                runStart: today,
                via: .contribution,
                deadlineAt: end
            )
            let first = try await solo(extended, world)
            #expect(
                first == [
                    "change": "extended", "status": "active", "count": "12", "date": "2026-01-05",
                    "deadline_at": "2026-01-07T00:00:00Z",
                ]
            )
            extended.via = .fill
            #expect(try await solo(extended, world)["change"] == "filled")
            var used = FreezeUsed(streakID: id, userID: user, kind: .checkIn, date: today, freezesLeft: 1)
            (used.count, used.deadlineAt) = (13, end)
            #expect(
                try await solo(used, world) == [
                    "change": "frozen", "status": "active", "count": "13", "date": "2026-01-05", "freezes_left": "1",
                    "deadline_at": "2026-01-07T00:00:00Z",
                ]
            )
            let back = FreezeReturned(streakID: id, userID: user, kind: .checkIn, date: today, freezesLeft: 2)
            #expect(
                try await solo(back, world) == ["change": "freeze_returned", "date": "2026-01-05", "freezes_left": "2"]
            )
            var broken = SoloStreakBroken(streakID: id, userID: user, kind: .checkIn, count: 13, missedDate: today)
            broken.repairableUntil = end
            #expect(
                try await solo(broken, world) == [
                    "change": "broken", "status": "broken", "count": "0", "date": "2026-01-05",
                    "repairable_until": "2026-01-07T00:00:00Z",
                ]
            )
            var restored = SoloStreakRestored(streakID: id, userID: user, kind: .checkIn, count: 13, missedDate: today)
            for (reason, word) in [(SoloReason.repair, "repaired"), (.lateOrOutage, "restored")] {
                (restored.reason, restored.deadlineAt) = (reason, nil)
                #expect(
                    try await solo(restored, world) == [
                        "change": word, "status": "active", "count": "13", "date": "2026-01-05",
                    ]
                )
            }
        }
    }

    @Test func `a pause says from when until when, and the end of an account that nothing runs`() async throws {
        let (id, user) = (Self.streak, Self.ann)
        let (today, tomorrow) = (try #require(Self.today), try #require(Self.tomorrow))
        try await withLiveWorld { world in
            let paused = StreakPaused(streakID: id, userID: user, kind: .checkIn, fromDate: today, untilDate: tomorrow)
            let first = try await solo(paused, world)
            #expect(first == ["change": "paused", "date": "2026-01-05", "paused_until": "2026-01-06"])
            let resumed = PauseEnded(streakID: id, userID: user, kind: .checkIn, untilDate: tomorrow)
            #expect(try await solo(resumed, world) == ["change": "resumed", "date": "2026-01-06"])
            let ended = SoloStreakEnded(streakID: id, userID: user, kind: .checkIn)
            #expect(try await solo(ended, world) == ["change": "ended", "status": "ended"])
            let started = SoloStreakStarted(streakID: id, userID: user, kind: .checkIn)
            #expect(try await solo(started, world) == ["change": "started", "status": "active", "count": "0"])
        }
    }

    @Test func `a date that a freeze kept is sent once, and a kind that is not known is not`() async throws {
        let today = try #require(Self.today)
        try await withLiveWorld { world in
            var extended = SoloStreakExtended(
                streakID: Self.streak,
                userID: Self.ann,
                kind: .checkIn,
                date: today,
                count: 1,
                runStart: today,
                via: .freeze
            )
            let frozen = try await sent([extended], to: Self.ann, world)
            #expect(frozen.isEmpty)
            (extended.via, extended.kind) = (.contribution, .unrecognized(99))
            let unknown = try await sent([extended], to: Self.ann, world)
            #expect(unknown.isEmpty)
        }
    }

    @Test func `a circle's streak is sent to its members, and a check-in to who made it`() async throws {
        let today = try #require(Self.today)
        try await withLiveWorld { world in
            let members = [Self.ann, Self.ben]
            let extended = TeamStreakExtended(
                streakID: Self.streak,
                circleID: Self.circle,
                circleName: "Runners",
                memberIDs: members,
                date: today,
                count: 4,
                runStart: today
            )
            let broken = TeamStreakBroken(
                streakID: Self.streak,
                circleID: Self.circle,
                circleName: "Runners",
                memberIDs: members,
                missedDate: today,
                count: 4
            )
            let ended = TeamStreakEnded(streakID: Self.streak, circleID: Self.circle, count: 4, memberIDs: members)
            let all = try await sent([extended, broken, ended], to: Self.ben, world)
            #expect(all.map(\.name) == ["team_streak", "team_streak", "team_streak"])
            #expect(all.map { $0.data["status"] as? String } == ["active", "broken", "ended"])
            #expect(all.map { $0.data["count"] as? Int } == [4, 0, nil])
            #expect(all.allSatisfy { $0.data["circle_id"] as? String == Self.circle.description })
            #expect(!"\(all)".contains("Runners") && !"\(all)".contains(Self.ann.description))
            let checkedIn = CircleCheckedIn(
                userID: Self.ann,
                circleID: Self.circle,
                operationID: OperationID(high: 1, low: 1),
                date: today,
                mood: 8,
                energy: 3
            )
            let own = try await sent([checkedIn], to: Self.ann, world)
            #expect(own.map(\.name) == ["circle_check_in"])
            let data = try #require(own.first).data
            #expect(data == ["circle_id": Self.circle.description, "date": "2026-01-05"])
            #expect(try await sent([checkedIn], to: Self.ben, world).isEmpty)
            #expect(try await sent([extended, checkedIn], to: Self.eve, world).isEmpty)
        }
    }

    @Test func `a change of habits is one event, with each thing or with none of them`() async throws {
        let today = try #require(Self.today)
        let (habit, category) = (HabitID(high: 4, low: 1), HabitCategoryID(high: 4, low: 2))
        try await withLiveWorld { world in
            let changes = [
                HabitsChange(entity: "date", habitID: habit, date: today, status: "done", count: 3),
                HabitsChange(entity: "category", categoryID: category, status: "deleted"), HabitsChange(entity: "habit_order"),
            ]
            let all = try await sent(
                [
                    HabitsChanged(userID: Self.ann, sequence: 41, changes: changes),
                    HabitsChanged(userID: Self.ann, sequence: 42),
                ],
                to: Self.ann,
                world
            )
            #expect(all.map(\.name) == ["habits", "habits"])
            #expect(all.map { $0.data["sequence"] as? Int } == [41, 42])
            let first = try #require(all.first?.data["changes"] as? [NSDictionary])
            #expect(first.map { $0["entity"] as? String } == ["date", "category", "habit_order"])
            let date = try #require(first.first)
            #expect(
                date == [
                    "entity": "date", "habit_id": habit.description, "category_id": NSNull(), "completion_id": NSNull(),
                    "date": "2026-01-05", "status": "done", "count": 3,
                ]
            )
            #expect(first.dropFirst().first?["category_id"] as? String == category.description)
            #expect((all.last?.data["changes"] as? [NSDictionary])?.isEmpty == true)
            #expect(try await sent([HabitsChanged(userID: Self.ann, sequence: 43)], to: Self.ben, world).isEmpty)
        }
    }
}
