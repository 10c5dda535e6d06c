import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksGoods
@testable import StreaksPowerUps

/// Goods that are used: nothing is consumed that does not help, and what was not needed comes back (TS-3).
struct PowerUpTests {
    @Test func `a restore brings a broken run back, once`() async throws {
        try await withTyped { world in
            try await world.recordDaily(5...11)
            #expect(try await world.refusal(.restore) != nil, "nothing is broken")
            try await world.grant(["restore": 2], operation: 1)
            #expect(await world.reason { _ = try await world.use(.restore, .recipeCreation) } == "STREAK_NOT_BROKEN")
            #expect(try await world.held(.restore) == 2, "what does not help is not consumed")
            try await world.go(to: "2026-01-14T10:00:00Z")
            #expect(try await world.refusal(.restore) == nil)
            let used = try await world.use(.restore, .recipeCreation)
            #expect(used.currentStreak == 7 && used.left == 1 && used.powerUp?.state == .used)
            #expect(used.powerUp?.helpedOn == day("2026-01-13"))
            #expect(try await world.streak().frozenUntil == day("2026-01-14"))
            try await world.record()
            #expect(try await world.streak().currentStreak == 8)
            #expect(try await world.history().map(\.restored) == [true])
            #expect(await world.reason { _ = try await world.use(.restore, .recipeCreation) } == "STREAK_NOT_BROKEN")
        }
    }

    @Test func `an insurance is spent on a miss, and held again when the date is completed late`() async throws {
        try await withTyped { world in
            try await world.recordDaily(5...11)
            try await world.grant(["insurance": 2], operation: 1)
            let used = try await world.use(.insurance, .recipeCreation)
            #expect(used.powerUp?.state == .active && used.powerUp?.until == moment("2026-01-18T12:00:00Z"))
            #expect(await world.reason { _ = try await world.use(.insurance, .recipeCreation) } == "POWER_UP_ALREADY_ACTIVE")
            #expect(try await world.streak().insuranceActive)
            // The 12th is the month's free date, the 13th is the insurance's.
            try await world.go(to: "2026-01-14T03:00:00Z")
            let spent = try #require(try await world.powerUps().used.first)
            #expect(spent.state == .used && spent.helpedOn == day("2026-01-13"))
            #expect(try await world.streak().currentStreak == 7)
            let late = try await world.record(capturedAt: moment("2026-01-13T20:00:00Z"))
            #expect(late.date == day("2026-01-13") && late.streak?.currentStreak == 8)
            #expect(try await world.powerUps().active.map(\.good) == ["insurance"])
            try await world.record()
            try await world.recordDaily(15...17)
            try await world.go(to: "2026-01-18T13:00:00Z")
            #expect(try await world.powerUps().used.first?.state == .expired)
            #expect(try await world.held(.insurance) == 1)
        }
    }

    @Test func `each streak may be insured, and none twice in seven days`() async throws {
        try await withTyped { world in
            #expect(try await world.check(.insurance)?.streaks == 0)
            try await world.recordDaily(5...11)
            try await world.record(.dailySnap)
            for good in [StreakGood.insurance, .restore, .timeMachine] {
                #expect(try await world.check(good)?.streaks == 2, "\(good)")
            }
            #expect(try await world.check(.shield)?.streaks == nil)
            try await world.grant(["insurance": 3], operation: 1)
            try await world.use(.insurance, .recipeCreation)
            try await world.use(.insurance, .dailySnap)
            for type in [StreakKind.dailySnap, .recipeCreation] {
                #expect(try await world.streak(type).insuranceActive, "\(type)")
            }
            // The 12th is the month's free date, and the 13th spends it.
            try await world.go(to: "2026-01-14T03:00:00Z")
            #expect(try await world.streak().currentStreak == 7)
            let error = await #expect(throws: ServiceError.self) { try await world.use(.insurance, .recipeCreation) }
            #expect(error?.reason == "INSURANCE_COOLDOWN_ACTIVE" && error?.details.first?.field == "type")
            #expect(try await world.held(.insurance) == 1)
            try await world.recordDaily(14...17)
            try await world.go(to: "2026-01-18T12:00:00Z")
            try await world.use(.insurance, .recipeCreation)
            #expect(try await world.held(.insurance) == 0)
        }
    }

    @Test func `premium needs no insurance`() async throws {
        try await withTyped { world in
            try await world.record()
            try await world.premium(true, version: 1)
            #expect(try await world.refusal(.insurance) == "POWER_UP_NOT_NEEDED")
            try await world.grant(["insurance": 1], operation: 1)
            #expect(await world.reason { _ = try await world.use(.insurance, .recipeCreation) } == "POWER_UP_NOT_NEEDED")
            #expect(try await world.held(.insurance) == 1)
        }
    }

    @Test func `a time machine joins two runs, and nothing else`() async throws {
        try await withTyped { world in
            try await world.recordDaily(5...11)
            try await world.go(to: "2026-01-14T12:00:00Z")
            try await world.record()
            try await world.grant(["time_machine": 1], operation: 1)
            try await world.go(to: "2026-01-15T12:00:00Z")
            #expect(
                await world.reason { _ = try await world.use(.timeMachine, .recipeCreation, on: "2026-01-12") }
                    == "DATE_NOT_MISSED"
            )
            #expect(
                await world.reason { _ = try await world.use(.timeMachine, .recipeCreation, on: "2026-01-15") }
                    == "VALIDATION_ERROR"
            )
            #expect(
                await world.reason { _ = try await world.use(.timeMachine, .dailySnap, on: "2026-01-13") } == "STREAK_NOT_FOUND"
            )
            #expect(try await world.refusal(.timeMachine) == nil)
            let used = try await world.use(.timeMachine, .recipeCreation, on: "2026-01-13")
            #expect(used.currentStreak == 9 && used.left == 0)
            #expect(try await world.refusal(.timeMachine) == "DATE_NOT_MISSED")
        }
    }

    @Test func `a time machine is sold for a missed date that lies behind the checkpoint`() async throws {
        try await withTyped { world in
            let (start, free, missed) = (day("2026-01-05"), day("2026-02-03"), day("2026-02-04"))
            for offset in 0...34 where ![free, missed].contains(start.advanced(by: offset)) {
                try await world.go(to: "\(start.advanced(by: offset))T12:00:00Z")
                try await world.record()
            }
            let settled = try await world.database.query("SELECT settled_through FROM streak_checkpoint")
            #expect(try settled.map { try $0.decode(as: CalendarDate.self) } == [missed])
            try await world.go(to: "2026-02-09T12:00:00Z")
            #expect(try await world.refusal(.timeMachine) == nil)
            try await world.grant(["time_machine": 1], operation: 1)
            let used = try await world.use(.timeMachine, .recipeCreation, on: missed.description)
            // 29 before it, the date itself, and 4 after it.
            #expect(used.currentStreak == 34)
            #expect(try await world.refusal(.timeMachine) == "DATE_NOT_MISSED")
        }
    }

    @Test func `a double day doubles what it can, and comes back when it has helped nothing`() async throws {
        try await withTyped { world in
            try await world.grant(["double_day": 2], operation: 1)
            try await world.use(.doubleDay)
            #expect(await world.reason { _ = try await world.use(.doubleDay) } == "POWER_UP_ALREADY_ACTIVE")
            #expect(try await world.record().coinsEarned == 20)
            #expect(await world.reason { _ = try await world.use(.doubleDay, on: "2026-01-04") } == "VALIDATION_ERROR")
            try await world.use(.doubleDay, on: "2026-01-06")
            #expect(await world.reason { _ = try await world.use(.doubleDay, on: "2026-01-07") } == "POWER_UP_NOT_HELD")
            #expect(try await world.held(.doubleDay) == 0)
            try await world.go(to: "2026-01-07T12:30:00Z")
            #expect(try await world.held(.doubleDay) == 1)
            let ended = try await world.powerUps().used
            #expect(ended.map(\.state) == [.returned, .used])
        }
    }

    @Test func `boosters follow each other, and XP buys one`() async throws {
        try await withTyped { world in
            try await world.grant(["xp_booster": 2], operation: 1)
            let first = try await world.use(.boosterOfXP)
            #expect(first.powerUp?.until == moment("2026-01-12T12:00:00Z"))
            #expect(try await world.use(.boosterOfXP).powerUp?.until == moment("2026-01-19T12:00:00Z"))
            let (last, over) = (moment("2026-01-19T11:59:59Z"), moment("2026-01-19T12:00:00Z"))
            let active = try await world.database.query(
                "SELECT \(Boosters.isActive(world.ann, at: last)), \(Boosters.isActive(world.ann, at: over))"
            )
            let (isActive, isStill) = try #require(active.first).decode(as: (Bool.self, Bool.self))
            #expect(isActive && !isStill)
            let buy = BuyBooster(mutations: world.mutations)
            #expect(await world.reason { _ = try await buy.handle(BuyBoosterRequest(), world.context) } == "NOT_ENOUGH_XP")
            try await world.work.run(trace: "", requestID: "") { work in
                try XPLedger.post([XPEntry(world.ann, key: "test", amount: 450, cause: "test")], work)
            }
            let bought = try await buy.handle(BuyBoosterRequest(), world.context).reply
            #expect(bought.held == 1 && bought.xpLeft == 150 && bought.xpSpent == 300)
        }
    }

    @Test func `freezes go to the hand up to its cap, and the rest is refused or kept as credit`() async throws {
        try await withTyped { world in
            try await world.go(to: "2026-01-05T13:00:00Z")
            #expect(try await world.refusal(.freeze, 4) == nil, "one comes with the streak")
            #expect(try await world.refusal(.freeze, 5) == "MAX_FREEZES_REACHED")
            #expect(await world.reason { _ = try await world.grant(["freeze": 5], operation: 1) } == "MAX_FREEZES_REACHED")
            #expect(try await world.grant(["freeze": 3], operation: 2) == ["freeze": 0])
            #expect(try await world.grant(["freeze": 3], operation: 2) == ["freeze": 0], "a repeat gives nothing")
            // Money: 1 fits, 4 are a credit.
            #expect(try await world.grant(["freeze": 5], operation: 3, keepsCredit: true) == ["freeze": 4])
            #expect(try await world.refusal(.freeze) == "MAX_FREEZES_REACHED")
            #expect(await world.reason { _ = try await world.use(.freeze) } == "MAX_FREEZES_REACHED")
            #expect(try await world.held(.freeze) == 4)
        }
    }

    @Test func `a refund takes freezes back, credits first, and says what is missing`() async throws {
        try await withTyped { world in
            try await world.grant(["freeze": 5], operation: 1, keepsCredit: true)
            #expect(try await world.held(.freeze) == 1, "four fit beside the first")
            let request = TakeBackGoodsRequest(
                operationID: OperationID(high: 9, low: 2),
                userID: world.ann,
                grantID: OperationID(high: 9, low: 1)
            )
            let takeBack = TakeBackGoods(
                freezes: BoughtFreezes(writer: world.core.writer),
                shields: BoughtShields(writer: world.core.writer),
                mutations: world.mutations
            )
            let reply = try await takeBack.handle(request, world.context).reply
            #expect(reply.taken.map(\.count) == [5] && reply.missing.isEmpty)
            #expect(try await takeBack.handle(request, world.context).reply == reply)
            #expect(try await world.held(.freeze) == 0)
            #expect(try await world.refusal(.freeze, 4) == nil, "the first one is left")
            #expect(try await world.refusal(.freeze, 5) == "MAX_FREEZES_REACHED")
        }
    }

    @Test func `one good is used once, however many try at once`() async throws {
        try await withTyped { world in
            try await world.recordDaily(5...11)
            try await world.go(to: "2026-01-14T10:00:00Z")
            try await world.grant(["restore": 1], operation: 1)
            let won = await withTaskGroup(of: Bool.self, returning: Int.self) { tasks in
                for _ in 0..<8 {
                    tasks.addTask { await world.reason { _ = try await world.use(.restore, .recipeCreation) } == nil }
                }
                var count = 0
                for await isWon in tasks { count += isWon ? 1 : 0 }
                return count
            }
            #expect(won == 1)
            #expect(try await world.held(.restore) == 0)
            #expect(try await world.powerUps().used.count == 1)
        }
    }
}
