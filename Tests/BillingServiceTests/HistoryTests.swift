import BillingAPI
import BillingDomain
import Foundation
import Kernel
import StreaksAPI
import TestSupport
import Testing

@testable import BillingMoney
@testable import BillingService

/// Random purchases and refunds while the other services fail before and after what they do, and steps are given up half-way: the ledger adds up
/// to zero, and each purchase has its goods once (BI-3, BI-5, D6).
@Suite(.timeLimit(.minutes(20)))
struct HistoryTests {
    private struct Bought {
        let transaction: String
        let product: String
        let good: String
        let count: Int32
        var isRefunded = false
    }

    private static let products: [(product: String, good: String, count: Int32)] = [
        ("recovery_token_pack_3", "recovery_token", 3), ("recovery_token_pack_10", "recovery_token", 10),
        ("streak_freeze", "freeze", 1), ("streak_freeze_bundle_5", "freeze", 5), ("streak_shield", "shield", 1),
    ]

    @Test(arguments: TestDepth.seeds(quick: 2, full: 40)) func `come to the goods of what was bought and not refunded`(
        seed: UInt64
    ) async throws {
        try await withWorld { world in
            // 50 histories in each world: 200 in the short form.
            for number in 0..<50 {
                try await play(UserID(high: 7, low: UInt64(number + 1)), seed &* 1_000 &+ UInt64(number), world)
            }
            #expect(try await world.ledger.sums() == [.coins: 0, .recoveryTokens: 0])
            let unbalanced = try await world.count(
                "SELECT count(*) FROM (SELECT 1 FROM posting GROUP BY transaction_id HAVING sum(amount) <> 0) AS wrong"
            )
            #expect(unbalanced == 0)
        }
    }

    private func play(_ user: UserID, _ seed: UInt64, _ world: World) async throws {
        var dice = Seeded(seed)
        world.others.add([user])
        world.others.fail(dice.pick([0, 20, 40]), seed: seed)
        var (bought, bodies, coins) = ([Bought](), [String](), Int64(0))
        for index in 0..<Int.random(in: 1...6, using: &dice) {
            let at = world.clock.now() + .seconds(Int64(index * 10))
            let offer = dice.pick(Self.products)
            var purchase = Bought(transaction: "\(user) \(index)", product: offer.product, good: offer.good, count: offer.count)
            let fields: [String: Any] = ["product_id": offer.product, "transaction_id": purchase.transaction]
            bodies.append(webhook("NON_RENEWING_PURCHASE", "\(user) b\(index)", user.description, at: at, fields))
            var last = at
            for round in 0..<Int.random(in: 0...3, using: &dice) {
                purchase.isRefunded = round % 2 == 0
                last = last + .seconds(1)
                let kind = purchase.isRefunded ? "CANCELLATION" : "REFUND_REVERSED"
                let more = fields.merging(["cancel_reason": "CUSTOMER_SUPPORT"]) { $1 }
                bodies.append(webhook(kind, "\(user) r\(index).\(round)", user.description, at: last, more))
            }
            bought.append(purchase)
        }
        if dice.chance(60) {
            coins = Int64.random(in: 0...6, using: &dice) * 100
            if coins > 0 { try await give(coins, to: user, world) }
        }
        var freezesForCoins: Int32 = 0
        for body in (bodies + bodies.filter { _ in dice.chance(30) }).shuffled(using: &dice) {
            try await world.receive(body)
            if dice.chance(50) { _ = try? await world.events.applyDue(now: world.clock.now()) }
            if dice.chance(20), coins >= 100 { try await buyFreeze(by: user, world) }
        }
        world.others.fail(0, seed: seed)
        try await eventually("all steps are done") {
            world.clock.advance(by: .hours(2))
            // Nothing waits for its next attempt.
            try await world.database.execute("UPDATE goods_operation SET lease_until = '2020-01-01' WHERE NOT is_done")
            try await world.settle()
            return try await world.count("SELECT count(*) FROM goods_operation WHERE NOT is_done") == 0
        }
        freezesForCoins = Int32(
            try await world.count("SELECT count(*) FROM purchase WHERE user_id = \(user) AND store IS NULL AND state = 2")
        )
        var expected: [String: Int32] = ["freeze": freezesForCoins]
        for purchase in bought where !purchase.isRefunded { expected[purchase.good, default: 0] += purchase.count }
        let tokens = Int32(try await world.ledger.balance(of: user, .recoveryTokens))
        var found = world.others.stock(of: user)
        found["recovery_token"] = tokens == 0 ? nil : tokens
        #expect(found == expected.filter { $0.value != 0 }, "seed \(seed)")
        #expect(try await world.ledger.balance(of: user, .coins) == coins - Int64(freezesForCoins) * 100, "seed \(seed)")
        let receipts = try await world.count(
            "SELECT count(*) FROM outbox WHERE subject = \(PurchaseCompleted.subject) AND aggregate = \(user.description)"
        )
        #expect(receipts <= bought.count + Int(freezesForCoins))
    }

    private func give(_ coins: Int64, to user: UserID, _ world: World) async throws {
        let posting = Posting(user: user, currency: .coins, type: .earned, amount: coins, against: .earnings, key: "given")
        try await world.work.run(trace: "", requestID: "") { [ledger = world.ledger] work in
            _ = try await work.post(posting, ledger)
        }
    }

    private func buyFreeze(by user: UserID, _ world: World) async throws {
        // Its caller may give up before it has ended.
        _ = try? await Purchase(
            catalog: CatalogRepository(database: world.database),
            purchases: world.purchases,
            wallets: WalletViews(ledger: world.ledger),
            useful: UsefulGoods(goods: GoodsClient(world.others)),
            mutations: world.mutations
        ).handle(PurchaseRequest(item: "freeze"), World.context(user))
    }
}
