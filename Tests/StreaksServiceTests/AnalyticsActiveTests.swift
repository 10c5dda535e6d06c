import Database
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing
import Wire

@testable import Outbox
@testable import StreaksAnalytics
@testable import StreaksCore

/// Daily active users over everything that counts (TS-5).
struct AnalyticsActiveTests {
    private static let consumers = MutualConsumers.all + StreakConsumers.all + TeamConsumers.all

    private func snap(of user: UserID, on date: String) -> SnapCounted {
        SnapCounted(streakID: StreakID(high: 7, low: 1), userID: user, friendID: UserID(high: 1, low: 9), date: day(date))
    }

    private func grown(_ kind: SoloKind, of user: UserID, _ via: ExtendedVia) -> SoloStreakExtended {
        let date = day("2026-01-05")
        return SoloStreakExtended(
            streakID: StreakID(high: 8, low: user.low),
            userID: user,
            kind: kind,
            date: date,
            count: 1,
            longest: 1,
            runStart: date,
            via: via
        )
    }

    /// By date, what is not 0.
    private func people(_ database: Database, _ clock: ManualClock) async throws -> [String: Int64] {
        let today = Zone.utc.date(at: clock.now())
        let reply = try await AnalyticsReport(database: database, clock: clock)
            .reply(to: GetStreakAnalyticsRequest(from: today.advanced(by: -60), to: today))
        #expect(reply.dailyActives.count == 61)
        return Dictionary(uniqueKeysWithValues: reply.dailyActives.filter { $0.people != 0 }.map { ("\($0.date)", $0.people) })
    }

    @Test func `a user is one active user of a date, in however many kinds, and what no one did makes none`() async throws {
        try await withHabits { world in
            let (ann, ben, cem) = (world.user, UserID(high: 1, low: 2), UserID(high: 1, low: 3))
            let habit = try await world.create("Read", target: 10)
            try await world.complete(habit.id, value: 4)
            try await world.complete(habit.id, on: "2026-01-03", value: 10)
            try await world.skip(habit.id, on: "2026-01-04")
            let job = FigureJob(store: world.core.store, work: world.work)
            while try await job.addFacts() > 0 {}
            #expect(try await people(world.database, world.clock) == ["2026-01-03": 1, "2026-01-05": 1])
            let circle = CircleCheckedIn(
                userID: ben,
                circleID: CircleID(high: 6, low: 1),
                operationID: OperationID(high: 5, low: 1),
                date: day("2026-01-05")
            )
            for event in [
                snap(of: ann, on: "2026-01-05"), snap(of: ben, on: "2026-01-05"), grown(.checkIn, of: ann, .contribution), circle,
                circle, grown(.checkIn, of: cem, .freeze), grown(.recipeCreation, of: cem, .fill),
                // Late: the first is still counted.
                snap(of: cem, on: "2026-01-01"), snap(of: cem, on: "2025-12-05"),
            ] as [any Event] {
                try await world.work.consume(event, by: Self.consumers)
            }
            while try await job.addFacts() > 0 {}
            #expect(try await people(world.database, world.clock) == ["2026-01-01": 1, "2026-01-03": 1, "2026-01-05": 2])
        }
    }

    @Test func `what an account leaves behind is the figure alone`() async throws {
        try await withWorld(at: "2026-05-04T12:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            for user in [ann, ben] { try await world.post(user, to: [streak]) }
            var position: Int64 = 0
            try await AnalyticsFeed.catchUp(world, world.service.store, &position)
            // One that is not counted yet, and one that is.
            try await world.consume(snap(of: ann, on: "2026-05-03"), by: Self.consumers)
            #expect(try await world.service.export(ann)["analytics_active_dates"]?.contains("2026-05-04") == true)
            try await world.work.run(trace: "", requestID: "") { work in try await world.service.erase(ann, work) }
            while try await FigureJob(store: world.service.store, work: world.work).addFacts() > 0 {}
            let left = try await world.database.query(
                "SELECT user_id FROM analytics_active_user UNION ALL SELECT user_id FROM analytics_activity"
            ).map { try $0.decode(as: UserID.self) }
            #expect(left == [ben])
            #expect(try await people(world.database, world.clock) == ["2026-05-04": 2])
        }
    }

    @Test func `who was active is deleted when nothing can be counted for the date any more; the figures stay`() async throws {
        try await withWorld(at: "2026-05-04T12:00:00Z") { world in
            let job = FigureJob(store: world.service.store, work: world.work)
            let (ann, today) = (UserID(high: 1, low: 1), Zone.utc.date(at: world.clock.now()))
            try await world.consume(snap(of: ann, on: "2026-05-04"), by: Self.consumers)
            while try await job.addFacts() > 0 {}
            let kept = ActiveUserRepository.keptDates + 1
            #expect(try await ActiveUserRepository.purge(today: today.advanced(by: kept), world.database) == 0)
            #expect(try await ActiveUserRepository.purge(today: today.advanced(by: kept + 1), world.database) == 1)
            world.clock.advance(by: .days(Int64(kept + 1)))
            // Redelivered so late, it would be counted again.
            try await world.consume(snap(of: ann, on: "2026-05-04"), by: Self.consumers)
            while try await job.addFacts() > 0 {}
            #expect(try await people(world.database, world.clock) == ["2026-05-04": 1])
        }
    }
}
