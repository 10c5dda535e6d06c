import Database
import Kernel
import MediaAPI
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import Outbox
@testable import StreaksAnalytics
@testable import StreaksCore
@testable import StreaksMutual

/// The figures of friends' streaks (TS-5), from what pairs live through.
@Suite(.timeLimit(.minutes(10))) struct AnalyticsMutualTests {
    private func report(_ world: World, from first: String) async throws -> GetStreakAnalyticsReply {
        let today = Zone.utc.date(at: world.clock.now())
        return try await AnalyticsReport(database: world.database, clock: world.clock)
            .reply(to: GetStreakAnalyticsRequest(from: day(first), to: today, type: "mutual"))
    }

    private func apply(_ command: StreakCommand, to streak: StreakID, _ world: World) async throws {
        let writer = world.service.writer
        try await world.work.run(trace: "", requestID: "") { work in
            let stored = try #require(try await writer.store.lock([streak], work.sql).first)
            try await writer.apply(command, to: stored, work)
        }
    }

    @Test func `pairs that complete, break, recover and reach a milestone are in the figures of each date`() async throws {
        try await withWorld(at: "2026-05-04T12:00:00Z") { world in
            var people: [UserID] = []
            for number in 1...4 as ClosedRange<UInt64> { people.append(try await world.person(number)) }
            let (ann, ben, cem, dan) = (people[0], people[1], people[2], people[3])
            let (first, second) = (try await world.befriend(ann, ben), try await world.befriend(cem, dan))
            var position: Int64 = 0
            // On the 6th Dan misses, on the 7th a token covers, on the 9th both miss.
            let posts = [4: [cem, dan], 5: [cem, dan], 6: [cem], 8: [cem, dan]]
            for date in 4...10 {
                world.clock.set(moment("2026-05-\(date < 10 ? "0" : "")\(date)T12:00:00Z"))
                try await world.settle()
                if date == 7 { try await apply(.recover(cem), to: second, world) }
                for user in [ann, ben] { try await world.post(user, to: [first]) }
                for user in posts[date] ?? [] { try await world.post(user, to: [second]) }
                try await AnalyticsFeed.catchUp(world, world.service.store, &position)
            }
            let reply = try await report(world, from: "2026-05-04")
            let days = reply.days
            #expect(days.map(\.type) == Array(repeating: "mutual", count: 7))
            #expect(days.map(\.active) == [2, 2, 1, 1, 2, 1, 1] && days.map(\.extended) == days.map(\.active))
            #expect(days.map(\.started) == [2, 0, 0, 0, 0, 0, 0] && days.map(\.runsStarted) == [2, 0, 0, 0, 0, 0, 0])
            #expect(days.map(\.broken) == [0, 0, 1, 0, 0, 1, 0] && days.map(\.brokenMissed) == days.map(\.broken))
            #expect(days.map(\.brokenMissedByBoth) == [0, 0, 0, 0, 0, 1, 0] && days.allSatisfy { $0.brokenAt7 == 0 })
            #expect(days.map(\.restored) == [0, 0, 0, 1, 0, 0, 0] && days.map(\.restoredByRepair) == days.map(\.restored))
            #expect(days.map(\.tokensUsed) == [0, 0, 1, 0, 0, 0, 0] && days.allSatisfy { $0.protectionsUsed == 0 })
            #expect(days.map(\.running) == [2, 2, 1, 2, 2, 1, 1] && days.last?.streaks == 2)
            #expect(days.map(\.averageStreak) == [1, 2, 3, 3, 4, 6, 7] && days.last?.shareAt7 == 100)
            #expect(days.last?.milestones.first { $0.count == 7 }?.reached == 1)
            // Ann and Ben each date, Cem on four of them, Dan on three.
            #expect(reply.dailyActives.map(\.people) == [4, 4, 3, 2, 4, 2, 2])
            let totals = try #require(reply.totals.first)
            #expect(totals.broken == 2 && totals.recoveryRate == 50 && totals.repairRate == nil)
            // Wednesday the 6th and Saturday the 9th, each at midnight.
            #expect(totals.brokenByWeekday == [0, 0, 1, 0, 0, 1, 0] && totals.brokenByHour[0] == 2)
            #expect(totals.milestones.first { $0.count == 7 }?.rate == 50)
            #expect(reply.cohorts.map(\.started) == [2] && reply.cohorts.map(\.type) == ["mutual"])
            #expect(AnalyticsCSV.text(days).contains("2026-05-04,mutual,2,2,2,2,"))

            // One friendship ends, and a moderator breaks the other streak.
            try await apply(.end, to: second, world)
            try await apply(.breakOff(by: ann), to: first, world)
            try await AnalyticsFeed.catchUp(world, world.service.store, &position)
            let last = try #require(try await report(world, from: "2026-05-10").days.first)
            #expect(last.streaks == 1 && last.running == 0 && last.averageStreak == nil)
            #expect(last.brokenModeration == 1 && last.brokenMissed == 0 && last.brokenAt7 == 1)
        }
    }

    @Test func `a snap that comes after its date was missed corrects the figures of that date`() async throws {
        try await withWorld(at: "2026-05-04T12:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            var position: Int64 = 0
            for user in [ann, ben] { try await world.post(user, to: [streak]) }
            world.clock.set(moment("2026-05-05T12:00:00Z"))
            try await world.post(ann, to: [streak])
            world.clock.set(moment("2026-05-06T00:05:00Z"))
            try await world.settle()
            try await AnalyticsFeed.catchUp(world, world.service.store, &position)
            let before = try await report(world, from: "2026-05-05")
            #expect(before.days[0].active == 0 && before.days[0].broken == 1 && before.days[0].running == 0)
            #expect(before.dailyActives.map(\.people) == [1, 0] && before.totals.first?.recoveryRate == 0)
            // Taken before midnight.
            let (received, captured) = (world.clock.now(), moment("2026-05-05T23:50:00Z"))
            try await apply(.contribute(ben, receivedAt: received, capturedAt: captured), to: streak, world)
            #expect(try await world.events(StreakRestored.self).map(\.missedDate) == [day("2026-05-05")])
            #expect(try await world.events(SnapCounted.self).last?.runStart == day("2026-05-04"))
            try await AnalyticsFeed.catchUp(world, world.service.store, &position)
            let after = try await report(world, from: "2026-05-05")
            #expect(after.days[0].active == 1 && after.days[0].running == 1 && after.days[0].averageStreak == 2)
            #expect(after.dailyActives.map(\.people) == [2, 0] && after.totals.first?.recoveryRate == 100)
            #expect(after.days.map(\.restoredLate) == [0, 1])
            let runs = try await world.database.query("SELECT run_start, broken_on FROM analytics_run")
                .map { try $0.decode(as: (CalendarDate.self, CalendarDate?.self)) }
            #expect(runs.count == 1 && runs[0].0 == day("2026-05-04") && runs[0].1 == nil)
        }
    }

    @Test func `tokens that are earned and come back, cards that are shared, and a change to premium are counted`() async throws {
        try await withWorld(at: "2026-05-04T12:00:00Z") { world in
            let (ann, ben) = (try await world.person(1), try await world.person(2))
            let streak = try await world.befriend(ann, ben)
            var position: Int64 = 0
            for user in [ann, ben] { try await world.post(user, to: [streak]) }
            try await world.consume(
                RecoveryTokenEarned(
                    streakID: streak,
                    userAID: ann,
                    userBID: ben,
                    count: 30,
                    runStart: day("2026-05-04"),
                    date: day("2026-05-04")
                ),
                by: MutualConsumers.all
            )
            // At risk on the 5th, covered in advance; both post after all.
            world.clock.set(moment("2026-05-05T20:00:00Z"))
            try await apply(.recover(ann), to: streak, world)
            try await AnalyticsFeed.catchUp(world, world.service.store, &position)
            #expect(try await report(world, from: "2026-05-04").days.map(\.tokensUsed) == [0, 1])
            for user in [ann, ben] { try await world.post(user, to: [streak]) }
            for card in [streak, streak, StreakID(high: 9, low: 9), nil] {
                try await world.consume(
                    CardShared(
                        userID: ann,
                        milestoneID: MilestoneCardID(high: 8, low: 8),
                        platform: "x",
                        sharedAt: world.clock.now(),
                        streakID: card
                    ),
                    by: CardConsumers.all
                )
            }
            let running = try await world.work.run(trace: "", requestID: "") { work in
                try await SubscriberRepository.running(ann, work.sql).map(\.count)
            }
            #expect(running == [2])
            try await AnalyticsFeed.catchUp(world, world.service.store, &position)
            let reply = try await report(world, from: "2026-05-04")
            #expect(reply.days.map(\.tokensUsed) == [0, 0] && reply.days.map(\.restored) == [0, 0])
            #expect(reply.days.map(\.tokensEarned) == [2, 0] && reply.days.map(\.freezesEarned) == [0, 0])
            #expect(reply.days.map(\.cardsShared) == [0, 2] && reply.days.map(\.active) == [1, 1])
        }
    }

    @Test func `what kept a streak and who missed are kept apart by their buckets`() throws {
        let date = day("2026-05-04")
        func sum(_ metric: AnalyticsMetric, _ bucket: Int32, _ value: Int64) -> AnalyticsFigures.Sum {
            AnalyticsFigures.Sum(day: date, kind: .mutual, metric, bucket: bucket, value: value)
        }
        let figures = AnalyticsFigures(
            [
                sum(.broken, Fact.missedDate, 5), sum(.broken, Fact.moderation, 2), sum(.broken, AnalyticsMetric.missedByBoth, 3),
                sum(.protectionUsed, 1, 7), sum(.protectionUsed, AnalyticsMetric.recoveryToken, 4),
                sum(.protectionReturned, AnalyticsMetric.recoveryToken, 1), sum(.freezeEarned, 0, 6),
            ],
            range: date...date
        )
        #expect(figures.kinds == [.mutual])
        let shown = AnalyticsDays(figures, .mutual).day(date)
        #expect(shown.broken == 10 && shown.brokenMissed == 8 && shown.brokenMissedByBoth == 3 && shown.brokenModeration == 2)
        #expect(shown.tokensUsed == 3 && shown.protectionsUsed == 7 && shown.tokensEarned == 6 && shown.freezesEarned == 0)
    }

    /// A pair, and its present streak.
    private struct Pair {
        let users: [UserID]
        var streak: StreakID
    }

    /// Six pairs of six users, without the rest of the service.
    private struct Pairs {
        let world: World
        let writer: StreakWriter
        var pairs: [Pair] = []
        /// Those that have ended too.
        var all: [StreakID] = []
        var random = Seeded(11)

        init(_ world: World) async throws {
            self.world = world
            writer = StreakWriter(database: world.database, StreakExtensions(kinds: [MutualEvents()], followers: []))
            for (one, two) in [(1, 2), (1, 3), (2, 3), (4, 5), (4, 6), (5, 6)] as [(UInt64, UInt64)] {
                let users = [UserID(high: 1, low: one), UserID(high: 1, low: two)]
                let streak = try await start(users)
                pairs.append(Pair(users: users, streak: streak))
            }
        }

        mutating func happens(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

        mutating func start(_ users: [UserID]) async throws -> StreakID {
            let number = all.count
            let id = try await world.work.run(trace: "", requestID: "") { [writer] work in
                try await writer.start(.init(.mutual, of: users, key: "pair \(number)"), work)
            }
            all.append(id)
            return id
        }

        /// Does it, or is refused.
        func attempt(_ streak: StreakID, _ command: StreakCommand) async throws {
            do {
                try await world.work.run(trace: "", requestID: "") { [writer] work in
                    let stored = try #require(try await writer.store.lock([streak], work.sql).first)
                    try await writer.apply(command, to: stored, work)
                }
            } catch let refusal as ServiceError where refusal.code != .internal {}
        }

        func settle() async throws {
            try await world.work.run(trace: "", requestID: "") { [writer, all] work in
                _ = try await writer.settle(try await writer.store.lock(all, work.sql), work)
            }
        }

        func states() async throws -> [(ledger: StreakLedger, state: StreakState)] {
            try await writer.store.load(all, isWhole: true).map { stored in
                (stored.ledger, fold(stored.ledger, writer.policy(for: .mutual), at: stored.row.settledAt))
            }
        }

        /// A night and a day of one of the pairs.
        mutating func live(_ index: Int) async throws {
            let (now, users) = (world.clock.now(), pairs[index].users)
            var streak = pairs[index].streak
            // What was taken before midnight arrives at three.
            for user in users where happens(15) {
                try await attempt(streak, .contribute(user, receivedAt: now, capturedAt: now - .hours(4)))
            }
            if happens(75) { try await attempt(streak, .recover(users[0])) }
            let row = try await writer.store.row(streak)
            if row?.status == .broken, happens(60) {
                try await attempt(streak, .end)
                streak = try await start(users)
                pairs[index].streak = streak
            }
            for user in users where happens(92) {
                try await attempt(streak, .contribute(user, receivedAt: now, capturedAt: nil))
            }
        }
    }

    @Test func `Forty days of random pairs: every figure is that of a recount of the ledgers`() async throws {
        try await withWorld(at: "2026-01-05T03:00:00Z") { world in
            var pairs = try await Pairs(world)
            let store = pairs.writer.store
            var position: Int64 = 0
            for number in 0..<40 {
                if number % 3 != 0 { try await pairs.settle() }
                for index in pairs.pairs.indices { try await pairs.live(index) }
                if number % 2 == 0 { try await AnalyticsFeed.catchUp(world, store, &position) }
                world.clock.advance(by: .days(1))
            }
            try await pairs.settle()
            try await AnalyticsFeed.catchUp(world, store, &position)
            let reply = try await report(world, from: "2026-01-05")
            let (days, all) = (reply.days, try await pairs.states())
            let log = all.flatMap(\.state.log)
            for shown in days {
                let completed = log.count { if case .completed(shown.date, _, _) = $0 { true } else { false } }
                #expect(shown.active == Int64(completed), "\(shown.date)")
            }
            let standing = log.count { if case .broken = $0 { true } else { false } }
            #expect(days.map { $0.broken - $0.restored }.reduce(0, +) == Int64(standing))
            #expect(days.contains { $0.restoredLate > 0 } && days.contains { $0.restoredByRepair > 0 } && standing > 0)
            let tokens = all.flatMap(\.ledger.recoveries).count { $0.kind == .token && $0.returnedAt == nil }
            #expect(days.map(\.tokensUsed).reduce(0, +) == Int64(tokens) && tokens > 0)
            #expect(days.map(\.started).reduce(0, +) == Int64(all.count))
            let sevens = log.count { if case .milestone(7, _, _, _) = $0 { true } else { false } }
            let reached = days.flatMap(\.milestones).filter { $0.count == 7 }.map(\.reached).reduce(0, +)
            #expect(reached == Int64(sevens) && sevens > 0)
            let counts = all.map(\.state).filter { $0.status == .active && $0.count > 0 }.map(\.count)
            let last = try #require(days.last)
            #expect(last.running == Int64(counts.count) && last.runningAt7 == Int64(counts.count { $0 >= 7 }))
            #expect(last.averageStreak == AnalyticsFigures.mean(Int64(counts.reduce(0, +)), of: last.running))
            try await expectActives(reply.dailyActives, world)
        }
    }

    /// Distinct users of the contributions, date by date.
    private func expectActives(_ shown: [DailyActives], _ world: World) async throws {
        var active: [CalendarDate: Int64] = [:]
        for row in try await world.database.query("SELECT on_date, count(DISTINCT user_id) FROM contribution GROUP BY on_date") {
            let (date, people) = try row.decode(as: (CalendarDate.self, Int64.self))
            active[date] = people
        }
        for day in shown { #expect(day.people == active[day.date] ?? 0, "\(day.date)") }
    }
}
