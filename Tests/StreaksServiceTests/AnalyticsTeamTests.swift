import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import Outbox
@testable import StreaksAnalytics
@testable import StreaksCore

/// The figures of circles' streaks (TS-4, TS-5), from what teams live through.
@Suite(.timeLimit(.minutes(10))) struct AnalyticsTeamTests {
    private func report(_ world: World, type: String?) async throws -> GetStreakAnalyticsReply {
        try await AnalyticsReport(database: world.database, clock: world.clock)
            .reply(to: GetStreakAnalyticsRequest(from: day("2026-05-04"), to: Zone.utc.date(at: world.clock.now()), type: type))
    }

    @Test func `a team that runs, breaks and ends is in the figures`() async throws {
        try await withWorld(at: "2026-05-04T08:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            var position: Int64 = 0
            let (first, second) = (Teams.circle(1), Teams.circle(2))
            for circle in [first, second] { try await teams.set(circle, 1, [ann, ben]) }
            for date in 4...10 {
                try await teams.reach("2026-05-\(date < 10 ? "0" : "")\(date)T12:00:00Z")
                for user in [ann, ben] { try await teams.checkIn(user, first) }
                if date == 4 { for user in [ann, ben] { try await teams.checkIn(user, second) } }
            }
            // The second has broken with the end of its grace, at noon of the 6th.
            try await AnalyticsFeed.catchUp(world, teams.core.store, &position)
            var reply = try await report(world, type: "team")
            #expect(reply.days.map(\.active) == [2, 1, 1, 1, 1, 1, 1] && reply.days.map(\.extended) == reply.days.map(\.active))
            #expect(reply.days.map(\.started).reduce(0, +) == 2 && reply.days.map(\.runsStarted).reduce(0, +) == 2)
            let broken = try await world.events(TeamStreakBroken.self)
            #expect(broken.map(\.missedDate) == [day("2026-05-05")])
            #expect(reply.days[1].broken == 1 && reply.days[1].brokenMissed == 1 && reply.days[1].brokenAt7 == 0)
            let totals = try #require(reply.totals.first)
            // A Tuesday; the grace ended at noon.
            #expect(totals.type == "team" && totals.brokenByWeekday[1] == 1 && totals.brokenByHour[12] == 1)
            #expect(reply.days.last?.milestones.first { $0.count == 7 }?.reached == 1)
            #expect(reply.days.last?.running == 1 && reply.days.last?.runningAt7 == 1 && reply.days.last?.streaks == 2)
            #expect(reply.cohorts.map(\.started) == [2] && reply.cohorts.map(\.type) == ["team"])
            try await teams.reach("2026-05-11T12:00:00Z")
            for user in [ann, ben] { try await teams.checkIn(user, first) }
            try await teams.set(second, 2, [ann, ben], deleted: true)
            try await AnalyticsFeed.catchUp(world, teams.core.store, &position)
            reply = try await report(world, type: nil)
            #expect(reply.days.map(\.type).allSatisfy { $0 == "team" }, "their own check-ins have not begun")
            #expect(reply.days.last?.running == 1 && reply.days.last?.streaks == 1 && reply.days.last?.active == 1)
            #expect(AnalyticsCSV.text(reply.days).contains("2026-05-11,team,1,"))
        }
    }

    @Test func `a break of a team that is undone late is a recovery, and its runs are one`() async throws {
        try await withWorld(at: "2026-05-04T12:00:00Z") { world in
            let teams = Teams(world)
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let circle = Teams.circle(1)
            var position: Int64 = 0
            try await teams.set(circle, 1, [ann, ben])
            for user in [ann, ben] { try await teams.checkIn(user, circle) }
            // The check-ins of the morning save the 5th in its grace; the 6th has none.
            try await teams.reach("2026-05-06T00:02:00Z")
            for user in [ann, ben] { try await teams.checkIn(user, circle) }
            try await teams.reach("2026-05-07T00:02:00Z")
            #expect(try await world.events(TeamStreakBroken.self).map(\.missedDate) == [day("2026-05-06")])
            try await AnalyticsFeed.catchUp(world, teams.core.store, &position)
            #expect(try await report(world, type: "team").totals.first?.recoveryRate == 0)
            // Done in time, and sent after midnight.
            for user in [ann, ben] { try await teams.checkIn(user, circle, at: moment("2026-05-06T23:00:00Z")) }
            #expect(try await world.events(TeamStreakRestored.self).count == 1)
            try await AnalyticsFeed.catchUp(world, teams.core.store, &position)
            let reply = try await report(world, type: "team")
            #expect(reply.totals.first?.recoveryRate == 100 && reply.days.map(\.restoredLate).reduce(0, +) == 1)
            #expect(reply.cohorts.map(\.started) == [1])
            let runs = try await world.database.query("SELECT run_start, broken_on FROM analytics_run")
            #expect(try runs.map { try $0.decode(as: (CalendarDate.self, CalendarDate?.self)).0 } == [day("2026-05-04")])
            #expect(try runs.map { try $0.decode(as: (CalendarDate.self, CalendarDate?.self)).1 } == [nil])
        }
    }
}
