import Database
import Kernel
import StreaksAPI
import StreaksDomain
import Testing

@testable import StreaksCore
@testable import StreaksMutual
@testable import StreaksProgress
@testable import StreaksPrompts
@testable import StreaksReminders
@testable import StreaksService

/// Achievements are given in the transaction that earns them, once (MS-7).
struct AchievementGrantTests {
    let ann = StreaksWorld.person(1)
    let bob = StreaksWorld.person(2)
    let cat = StreaksWorld.person(3)

    @Test func `a hundred dates earn three badges each, emitted once, and a second streak none anew`() async throws {
        try await withStreaks { world in
            let first = try await world.start(ann, bob)
            var emitted: [String] = []
            for day in 1...100 {
                for user in [ann, bob] { #expect(try await world.post(user, to: [first]) == []) }
                let news = try await world.emitted()
                #expect(news.isEmpty || [7, 30, 100].contains(day), "day \(day): \(news)")
                emitted += news
                world.clock.advance(by: .days(1))
            }
            // On the thirtieth date they have posted 30 times inside their windows as well.
            let expected = ["1 7_day_warrior", "2 7_day_warrior", "1 30_day_legend", "2 30_day_legend"]
            #expect(emitted.filter { !$0.hasSuffix("prompt_master") } == expected + ["1 100_day_immortal", "2 100_day_immortal"])
            #expect(try await world.earned(bob) == ["7_day_warrior", "30_day_legend", "100_day_immortal", "prompt_master"])

            let second = try await world.start(ann, cat)
            for _ in 1...7 {
                for user in [ann, cat] { try await world.post(user, to: [second]) }
                world.clock.advance(by: .days(1))
            }
            #expect(try await world.emitted() == ["3 7_day_warrior"], "Ann has hers already")
            let cats = try await world.achievements(cat)
            #expect(cats.map(\.id) == StreaksDomain.Achievement.allCases.map(\.rawValue))
            #expect(cats.map(\.earned) == [true, false, false, false, false])
            #expect(cats.map(\.progress) == [7, 7, 7, 0, 7])
            #expect(cats.map(\.target) == [7, 30, 100, 1, 30])
            #expect(cats[0].earnedAt == world.clock.now() - .days(1))
            #expect(cats[1].earnedAt == nil)
        }
    }

    @Test func `who uses a recovery token first has earned something, the friend has not`() async throws {
        try await withStreaks { world in
            let streak = try await world.start(ann, bob)
            for user in [ann, bob] { try await world.post(user, to: [streak]) }
            world.clock.advance(by: .days(2))
            let writer = world.service.writer
            let bob = bob
            try await world.work.run(trace: "", requestID: "") { work in
                for stored in try await writer.store.lock([streak], work.sql) {
                    let change = try await writer.apply(.recover(bob), to: stored, work).change
                    #expect(change.state.status == .active)
                }
            }
            #expect(try await world.emitted() == ["2 first_recovery"])
            #expect(try await world.earned(bob) == ["first_recovery"])
            #expect(try await world.earned(ann) == [])
            let stats = try await world.service.getStats(GetStatsRequest(), context: StreaksWorld.by(bob))
            #expect(stats.recoveriesUsed == 1)
        }
    }

    private struct Crash: Error {}

    /// Earns something in a transaction that fails. - Returns: whether it failed as it should.
    private func failAfterGrant(_ world: StreaksWorld) async -> Bool {
        do {
            try await world.work.run(trace: "", requestID: "") { [ann] work in
                try await Achievements.grant([Achievements.Grant(ann, .weekWarrior)], work)
                throw Crash()
            }
            return false
        } catch {
            return error is Crash
        }
    }

    @Test func `a change that is rolled back gives nothing`() async throws {
        try await withStreaks { world in
            #expect(await failAfterGrant(world))
            let (earned, emitted) = (try await world.earned(ann), try await world.emitted())
            #expect(earned.isEmpty && emitted.isEmpty)
        }
    }

    @Test func `thirty snaps inside their window make a prompt master: late ones, repeats and more streaks do not help`()
        async throws
    {
        try await withStreaks { world in
            let streaks = [try await world.start(ann, bob), try await world.start(ann, cat)]
            for day in 1...29 {
                let operation = OperationID(high: 7, low: UInt64(day))
                #expect(try await world.post(ann, to: streaks, operation: operation) == [])
                #expect(try await world.post(ann, to: streaks, operation: operation) == [], "the same answer again")
                #expect(try await world.post(ann, to: streaks) == ["ALREADY_POSTED", "ALREADY_POSTED"])
                world.clock.advance(by: .days(1))
            }
            #expect(try await world.achievements(ann).last?.progress == 29)
            world.clock.advance(by: .hours(6))
            #expect(try await world.post(ann, to: streaks) == [])
            #expect(try await world.achievements(ann).last?.progress == 29, "17:00 is outside the window")
            #expect(try await world.emitted() == [])
            let stats = try await world.service.getStats(GetStatsRequest(), context: StreaksWorld.by(ann))
            #expect(stats.totalPhotos == 30)
            #expect(stats.onTimePhotos == 29)
            #expect(stats.onTimePercent == 96)

            world.clock.advance(by: .hours(18))
            #expect(try await world.post(ann, to: streaks) == [])
            #expect(try await world.emitted() == ["1 prompt_master"])
            world.clock.advance(by: .days(1))
            #expect(try await world.post(ann, to: streaks) == [])
            #expect(try await world.emitted() == [])
            #expect(try await world.earned(ann) == ["prompt_master"])
        }
    }

    @Test func `a purged account leaves no achievement behind, and could export them before`() async throws {
        try await withStreaks { world in
            let streak = try await world.start(ann, bob)
            for _ in 1...7 {
                for user in [ann, bob] { try await world.post(user, to: [streak]) }
                world.clock.advance(by: .days(1))
            }
            let export = try await world.service.export(ann)
            #expect(export["achievements"]?.contains("7_day_warrior") == true, "\(export)")
            #expect(export["totals"]?.contains("\"on_time_photos\": 7") == true, "\(export)")
            let ann = ann
            try await world.work.run(trace: "", requestID: "") { work in try await world.service.erase(ann, work) }
            #expect(try await world.earned(ann) == [])
            #expect(try await world.earned(bob) == ["7_day_warrior"])
        }
    }
}
