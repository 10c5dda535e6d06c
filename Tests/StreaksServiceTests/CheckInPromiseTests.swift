import Database
import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import Runtime
@testable import StreaksCheckIns
@testable import StreaksCore
@testable import StreaksService

/// What the app promises and shows of check-ins is what comes (CI-2, CI-5, CI-6).
@Suite(.timeLimit(.minutes(10))) struct CheckInPromiseTests {
    private func declare(_ life: CheckInWorld, from: String, until: String, id: UInt64 = 1) async throws {
        let outage = OutageJob(writer: life.world.service.writer, work: life.world.work, clock: life.clock).job
        let (start, end) = (moment(from), moment(until))
        #expect(try await OutageRepository.insert(OutageID(high: 7, low: id), from: start, until: end, life.world.database))
        while try await outage.run(life.clock.now()) > 0 { life.clock.advance(by: .seconds(3)) }
    }

    private func badges(_ life: CheckInWorld) async throws -> Set<Badge> {
        Set(try await RewardRepository.badges(of: life.ann, life.world.database).keys)
    }

    private func monthXP(_ life: CheckInWorld) async throws -> [String] {
        try await life.world.database.query("SELECT key FROM xp_posting WHERE cause = 'perfect_month' ORDER BY key")
            .map { try $0.decode(as: String.self) }
    }

    @Test func `the events of a run say when its next date is over, also after a freeze`() async throws {
        try await withCheckIns { life in
            try await life.live(3)
            try await life.miss(1)
            let extended = try await life.world.events(SoloStreakExtended.self)
            #expect(extended.map(\.via) == [.contribution, .contribution, .contribution, .freeze])
            let ends = [7, 8, 9, 10].map { moment("2026-01-\($0 < 10 ? "0" : "")\($0)T00:00:00Z") }
            #expect(extended.map(\.deadlineAt) == ends)
            #expect(try await life.world.events(FreezeUsed.self).map(\.deadlineAt) == [ends[3]])
        }
    }

    @Test func `others see the counts as the person does: a break at once, and the longest`() async throws {
        try await withCheckIns { life in
            func shown() async throws -> PublicStreak {
                try await GetPublicStreak(streaks: life.parts.streaks)
                    .handle(GetPublicStreakRequest(userID: life.ann), World.by(UserID(high: 1, low: 2)))
            }
            #expect(try await shown() == PublicStreak())
            for _ in 0..<2 {
                _ = try await life.checkIn()
                life.clock.advance(by: .days(1))
            }
            #expect(try await shown() == PublicStreak(currentStreak: 2, longestStreak: 2))
            // The freeze of the sign-up, and no job that settles.
            life.clock.advance(by: .days(5))
            let broken = try await shown()
            #expect(broken.currentStreak == 0 && broken.longestStreak >= 2)
        }
    }

    @Test func `an outage on the last date of a month: its XP and its badge, with the next check-in`() async throws {
        try await withCheckIns(at: "2026-04-01T12:00:00Z") { life in
            try await life.live(29)
            // The thirtieth is lost to an outage; the first of May is the next check-in.
            life.clock.set(moment("2026-04-30T23:30:00Z"))
            try await declare(life, from: "2026-04-30T00:00:00Z", until: "2026-04-30T23:00:00Z")
            #expect(try await badges(life).contains(.perfectMonth) == false)
            life.clock.set(moment("2026-05-01T12:00:00Z"))
            let first = try await life.checkIn()
            #expect(try await monthXP(life) == ["perfect_month:2026-04-01"])
            #expect(try await badges(life).contains(.perfectMonth))
            #expect(first.milestone?.rewards?.badges.contains("perfect_month") == true)
        }
    }

    @Test func `an outage that is declared after a freeze was spent gives it back, and the month is perfect`() async throws {
        try await withCheckIns(at: "2026-03-01T12:00:00Z") { life in
            try await life.live(30)
            let before = try await life.status().freezesAvailable
            // The last date is missed, and settled before the operator knows what had happened.
            life.clock.set(moment("2026-04-01T10:00:00Z"))
            try await life.world.settle()
            #expect(try await life.status().freezesAvailable == before - 1)
            try await declare(life, from: "2026-03-31T00:00:00Z", until: "2026-03-31T23:00:00Z")
            #expect(try await life.status().freezesAvailable == before)
            life.clock.set(moment("2026-04-01T12:00:00Z"))
            _ = try await life.checkIn()
            #expect(try await monthXP(life) == ["perfect_month:2026-03-01"])
            #expect(try await badges(life).contains(.perfectMonth))
        }
    }

    @Test func `an outage of half an hour excuses no missed date: neither XP nor badge`() async throws {
        try await withCheckIns(at: "2026-04-01T12:00:00Z") { life in
            try await life.live(14)
            life.clock.advance(by: .days(1))
            try await declare(life, from: "2026-04-15T10:00:00Z", until: "2026-04-15T10:30:00Z")
            try await life.live(15)
            #expect(try await monthXP(life).isEmpty)
            #expect(try await badges(life).contains(.perfectMonth) == false)
        }
    }

    @Test func `a milestone that was paid is not promised again, by status, list, typed streaks or reminders`() async throws {
        try await withCheckIns { life in
            try await life.live(7)
            for _ in 0..<10 where try await life.status().currentStreak > 0 { try await life.miss(1) }
            let longest = try await life.status().longestStreak
            let ahead = try #require(CelebratedCheckIn.all.first { $0.days > longest })
            try await life.checkIn()
            let status = try await life.status()
            #expect(status.currentStreak == 1 && status.nextMilestone?.milestoneType == ahead.type)
            #expect(status.nextMilestone?.daysUntil == Int32(ahead.days - 1))
            let policy = life.world.service.writer.policy(for: .checkIn)
            let row = try #require(try await life.parts.streaks.read(life.ann, life.context()))
            #expect(policy.nextMilestone(of: row.state) == ahead.days)
            #expect(StreakPolicy.typed.rewardsOnce && !StreakPolicy.mutual.rewardsOnce)
        }
    }

    @Test func `a shield without a freeze makes the day safe, and nothing does not`() async throws {
        try await withCheckIns { life in
            try await life.live(3)
            for _ in 0..<10 where try await life.status().freezesAvailable > 0 { try await life.miss(1) }
            try await life.checkIn()
            life.clock.advance(by: .days(1))
            let bare = try await life.status()
            #expect(!bare.streakSafe && bare.freezesAvailable == 0)
            try await life.world.work.run(trace: "", requestID: "") { work in
                let streaks = life.world.service.writer
                let stored = try #require(try await streaks.lockedSolo(.checkIn, of: life.ann, work))
                try await streaks.apply(.protect(.shield, until: nil, id: OperationID(high: 7, low: 7)), to: stored, work)
            }
            #expect(try await life.status().streakSafe)
        }
    }

    @Test func `every badge that a check-in brings is in its reply`() async throws {
        try await withCheckIns { life in
            var shown: Set<String> = []
            for _ in 1...100 {
                shown.formUnion(try await life.checkIn().milestone?.rewards?.badges ?? [])
                life.clock.advance(by: .days(1))
            }
            #expect(shown == Set(try await badges(life).map(\.rawValue)))
            #expect(
                shown.isSuperset(of: [
                    "six_weeks_elite", "sixty_day_achiever", "ninety_day_legend", "consistency", "perfect_month",
                ])
            )
        }
    }

    @Test func `a late check-in that completes a month before its last date names the badge`() async throws {
        try await withCheckIns(at: "2026-01-01T12:00:00Z") { life in
            try await life.live(29)
            // In a pause nothing is spent on the 30th and nothing breaks.
            _ = try await life.pause(until: day("2026-01-31"))
            life.clock.set(moment("2026-01-31T00:30:00Z"))
            #expect(try await life.checkIn().milestone?.rewards?.badges.contains("perfect_month") == false)
            life.clock.set(moment("2026-01-31T03:00:00Z"))
            let late = try await life.checkIn(at: moment("2026-01-30T22:00:00Z"))
            #expect(late.milestone?.rewards?.badges.contains("perfect_month") == true, "\(late)")
            #expect(try await badges(life).contains(.perfectMonth))
        }
    }
}
