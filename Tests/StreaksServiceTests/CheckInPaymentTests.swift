import Kernel
import StreaksAPI
import StreaksDomain
import Testing

@testable import StreaksCheckIns
@testable import StreaksCore

/// Freezes that are bought and streaks that are repaired (CI-2, CI-3): the rules before the payment, each payment once, nothing lost.
struct CheckInPaymentTests {
    @Test func `freezes are bought with XP, coins and money, and never beyond five`() async throws {
        try await withCheckIns { life in
            try await life.checkIn()
            let poor = await refusal { try await life.buy(1, "xp") }
            #expect(poor?.reason == "NOT_ENOUGH_XP")
            try await life.give(xp: 100)
            let first = try await life.buy(1, "xp", key: "one")
            #expect(first.freezesAvailable == 2 && first.payment?.amount == 100 && first.payment?.currency == "XP")
            #expect(try await life.buy(1, "xp", key: "one") == first, "a repeat")
            #expect(try await life.xp().balance == 10)
            life.store.state.withLock { $0.coins = 150 }
            #expect(try await life.buy(1, "coins", key: "two").payment?.amount == 100)
            life.store.state.withLock { $0.purchases["txn"] = (.freeze, 1) }
            let paid = try await life.buy(1, "apple_pay", token: "txn")
            #expect(paid.freezesAvailable == 4 && paid.payment?.amount == 0.99 && paid.payment?.transactionID == "txn")
            let full = await refusal { try await life.buy(5, "xp") }
            #expect(full?.reason == "MAX_FREEZES_REACHED")
            #expect(full?.details.map(\.message) == ["5", "4"])
            #expect(await refusal { try await life.buy(2, "xp") }?.details.first?.field == "quantity")
            #expect(await refusal { try await life.buy(1, "stripe") }?.details.first?.field == "payment_token")
            let both = await refusal { try await life.buy(2, "stripe") }
            #expect(both?.details.map(\.field) == ["quantity", "payment_token"])
            #expect(await refusal { try await life.buy(1, "stripe", token: "unknown") }?.reason == "PURCHASE_NOT_FOUND")
            life.store.state.withLock { $0.purchases["repair"] = (.repair, 1) }
            #expect(await refusal { try await life.buy(1, "stripe", token: "repair") }?.reason == "PAYMENT_REFUSED")
        }
    }

    @Test func `a token of one's own is answered as the first time, another's is refused and holds no place`() async throws {
        try await withCheckIns { life in
            try await life.checkIn()
            life.store.state.withLock { state in
                state.purchases = ["one": (.freeze, 1), "two": (.freeze, 1), "three": (.freeze, 1)]
                state.foreign = ["theirs"]
            }
            let first = try await life.buy(1, "apple_pay", token: "one")
            #expect(first.freezesAvailable == 2)
            _ = try await life.buy(1, "apple_pay", token: "two")
            #expect(try await life.buy(1, "apple_pay", token: "one") == first, "though there are three by now")
            #expect(life.store.state.withLock { $0.payments } == 2)
            let more = await refusal { try await life.buy(5, "apple_pay", token: "one") }
            #expect(more?.reason == "PAYMENT_REFUSED" && more?.details.map(\.message) == ["PURCHASE_ALREADY_USED"])
            for _ in 0..<6 {
                let foreign = await refusal { try await life.buy(1, "apple_pay", token: "theirs") }
                #expect(foreign?.reason == "PAYMENT_REFUSED" && foreign?.details.map(\.message) == ["PURCHASE_OF_ANOTHER_USER"])
            }
            #expect(try await life.buy(1, "apple_pay", token: "three").freezesAvailable == 4)
        }
    }

    @Test func `what a store was paid for is never refused by the cap: what exceeds it becomes a credit`() async throws {
        try await withCheckIns { life in
            try await life.checkIn()
            try await life.give(xp: 300)
            for number in 0..<3 { _ = try await life.buy(1, "xp", key: "\(number)") }
            life.store.state.withLock { $0.purchases = ["one": (.freeze, 1), "pack": (.freeze, 5)] }
            try await life.store.receiveWebhook("one", of: life.ann)
            #expect(try await life.status().freezesAvailable == 5, "the webhook came first")
            #expect(try await life.buy(1, "apple_pay", token: "one").freezesAvailable == 5)
            #expect(try await GoodsStock.count(of: .freeze, of: life.ann, life.world.database) == 0)
            let pack = try await life.buy(5, "google_pay", token: "pack")
            #expect(pack.freezesAvailable == 5 && pack.payment?.amount == 3.99)
            #expect(try await GoodsStock.count(of: .freeze, of: life.ann, life.world.database) == 5)
            #expect(await refusal { try await life.buy(1, "stripe", token: "unknown") }?.reason == "PURCHASE_NOT_FOUND")
            #expect(await refusal { try await life.buy(1, "coins") }?.reason == "MAX_FREEZES_REACHED")
        }
    }

    @Test func `of purchases at the limit one passes`() async throws {
        try await withCheckIns { life in
            try await life.checkIn()
            try await life.give(xp: 1_000)
            for number in 0..<3 { _ = try await life.buy(1, "xp", key: "\(number)") }
            try await withThrowingTaskGroup(of: Bool.self) { tasks in
                for number in 10..<16 {
                    tasks.addTask { await refusal { try await life.buy(1, "xp", key: "\(number)") } == nil }
                }
                var bought = 0
                for try await isBought in tasks where isBought { bought += 1 }
                #expect(bought == 1)
            }
            #expect(try await life.status().freezesAvailable == 5)
            #expect(try await life.xp().balance == 1_010 - 400)
        }
    }

    /// A run of seven without freezes left that broke at midnight; it is noon.
    private func broken(_ life: CheckInWorld) async throws -> Int32 {
        try await life.live(7)
        // As many dates as freezes keep, and one.
        for _ in 0..<10 where try await life.status().repair == nil { try await life.miss(1) }
        let offer = try #require(try await life.status().repair)
        #expect(offer.eligible && offer.reason == nil && offer.missedDates.count == 1)
        #expect(try await life.world.events(SoloStreakBroken.self).last?.repairableUntil == offer.repairDeadline)
        return offer.brokenStreakValue
    }

    @Test func `a repair with XP brings the streak back once, and not another within 30 days`() async throws {
        try await withCheckIns { life in
            let value = try await broken(life)
            #expect(value == 10)
            #expect(await refusal { try await life.repair(9, "xp") }?.reason == "STREAK_VALUE_MISMATCH")
            #expect(await refusal { try await life.repair(value, "xp") }?.reason == "NOT_ENOUGH_XP")
            try await life.give(xp: 1_000)
            let before = try await life.xp().balance
            try await withThrowingTaskGroup(of: Bool.self) { tasks in
                for number in 0..<4 {
                    tasks.addTask { await refusal { try await life.repair(value, "xp", key: "\(number)") } == nil }
                }
                var repaired = 0
                for try await isRepaired in tasks where isRepaired { repaired += 1 }
                #expect(repaired == 1, "asked for by two devices at once")
            }
            #expect(try await life.xp().balance == before - 500)
            #expect(try await life.checkIn().streak?.currentStreak == 11)
            #expect(try await life.world.events(SoloStreakRestored.self).map(\.reason) == [.repair])
            life.clock.advance(by: .days(1))
            try await life.miss(1)
            let cool = await refusal { try await life.repair(11, "xp") }
            #expect(cool?.reason == "REPAIR_COOLDOWN_ACTIVE")
            let broken = try await life.world.events(SoloStreakBroken.self)
            #expect(broken.last?.count == 11 && broken.last?.repairableUntil == nil)
            #expect(try await life.status().repair?.reason == "REPAIR_COOLDOWN_ACTIVE")
        }
    }

    @Test func `the rules come before the payment`() async throws {
        try await withCheckIns { life in
            #expect(await refusal { try await life.repair(1, "xp") }?.reason == "STREAK_NOT_BROKEN")
            try await life.checkIn()
            try await life.miss(3)
            life.store.state.withLock { $0.purchases["txn"] = (.repair, 1) }
            #expect(await refusal { try await life.repair(2, "stripe", token: "txn") }?.reason == "STREAK_TOO_SHORT")
            #expect(try await life.world.events(SoloStreakBroken.self).map(\.repairableUntil) == [nil])
            try await life.miss(2)
            #expect(await refusal { try await life.repair(2, "stripe", token: "txn") }?.reason == "REPAIR_WINDOW_EXPIRED")
            #expect(life.store.state.withLock { $0.payments } == 0)
        }
    }

    @Test func `money pays one repair, a credit comes first, and a repeat of the token is answered the same`() async throws {
        try await withCheckIns { life in
            let value = try await broken(life)
            life.store.state.withLock { $0.purchases["txn"] = (.repair, 1) }
            let repaired = try await life.repair(value, "google_pay", token: "txn")
            #expect(repaired.payment?.amount == 2.99 && repaired.badgeEarned?.id == "second_chance")
            #expect(repaired.restoredStreak == value)
            #expect(try await life.repair(value, "google_pay", token: "txn") == repaired)
            #expect(life.store.state.withLock { $0.payments } == 1)
        }
        try await withCheckIns { life in
            let value = try await broken(life)
            let user = life.ann
            try await life.world.work.run(trace: "", requestID: "") { try await GoodsStock.give(.repair, to: user, $0.sql) }
            #expect(try await life.status().repair?.credits == 1)
            let repaired = try await life.repair(value, "xp")
            #expect(repaired.payment?.amount == 0)
            #expect(try await life.status().currentStreak == value)
        }
    }

    @Test func `a purchase that has become a credit is named by its own price, and pays once for ever`() async throws {
        try await withCheckIns { life in
            let value = try await broken(life)
            let user = life.ann
            // The store's event was faster than the person: the goods are a credit already.
            life.store.state.withLock { state in
                state.purchases["txn"] = (.repair, 1)
                state.granted.insert("txn")
            }
            try await life.world.work.run(trace: "", requestID: "") { try await GoodsStock.give(.repair, to: user, $0.sql) }
            let repaired = try await life.repair(value, "stripe", token: "txn")
            #expect(repaired.payment?.amount == 2.99 && repaired.payment?.transactionID == "txn")
            #expect(try await life.repair(value, "stripe", token: "txn") == repaired, "a repeat")
            // Another break, weeks later: the old token pays for nothing, and says so.
            life.clock.advance(by: .days(1))
            try await life.live(33)
            for _ in 0..<10 where try await life.status().currentStreak > 0 { try await life.miss(1) }
            let offer = try #require(try await life.status().repair)
            #expect(offer.eligible)
            let refused = await refusal { try await life.repair(offer.brokenStreakValue, "stripe", token: "txn") }
            #expect(refused?.reason == "PAYMENT_REFUSED" && refused?.details.first?.message == "PURCHASE_ALREADY_USED")
            #expect(try await life.status().currentStreak == 0)
        }
    }

    @Test(arguments: ["coins", "xp", "stripe"])
    func `completed late after a repair: what was paid comes back as what it was`(method: String) async throws {
        try await withCheckIns { life in
            let value = try await broken(life)
            let missed = try #require(try await life.status().repair?.missedDates.first)
            life.store.state.withLock { ($0.coins, $0.purchases["txn"]) = (500, (.repair, 1)) }
            try await life.give(xp: 1_000)
            let balance = try await life.xp().balance
            _ = try await life.repair(value, method, token: method == "stripe" ? "txn" : nil, key: "k")
            // Captured on the missed date, and received before its six hours were over.
            let streaks = life.world.service.writer
            try await life.world.work.run(trace: "", requestID: "") { work in
                let stored = try #require(try await streaks.lockedSolo(.checkIn, of: life.ann, work))
                let received = Zone.utc.end(of: missed) + .hours(1)
                try await streaks.apply(
                    .contribute(life.ann, receivedAt: received, capturedAt: received - .hours(2)),
                    to: stored,
                    work
                )
            }
            let coins = try await life.world.events(CoinsEarned.self).filter { $0.cause == "repair_refund" }
            #expect(coins.map(\.amount) == (method == "coins" ? [500] : []))
            #expect(try await life.xp().balance == balance)
            let credits = try await GoodsStock.count(of: .repair, of: life.ann, life.world.database)
            #expect(credits == (method == "stripe" ? 1 : 0))
        }
    }

    @Test func `premium repairs once a month for nothing, and coins do too`() async throws {
        try await withCheckIns(isPremium: true) { life in
            let value = try await broken(life)
            #expect(try await life.status().repair?.freeRepairAvailable == true)
            #expect(try await life.repair(value, "free_pro_repair").payment?.amount == 0)
        }
        try await withCheckIns { life in
            let value = try await broken(life)
            #expect(await refusal { try await life.repair(value, "free_pro_repair") }?.reason == "PREMIUM_REQUIRED")
            #expect(await refusal { try await life.repair(value, "coins") }?.reason == "NOT_ENOUGH_COINS")
            life.store.state.withLock { $0.coins = 500 }
            let repaired = try await life.repair(value, "coins", key: "k")
            #expect(repaired.payment?.amount == 500 && repaired.payment?.currency == "COINS")
        }
    }
}
