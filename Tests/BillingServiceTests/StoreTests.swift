import BillingAPI
import BillingDomain
import Bus
import Foundation
import Kernel
import Logging
import StreaksAPI
import TestSupport
import Testing

@testable import BillingMoney
@testable import BillingService

/// The catalogue, purchases and refunds (BI-3 to BI-5).
struct StoreTests {
    private let ann = UserID(high: 1, low: 1)
    private let admin = UserID(high: 1, low: 9)
    private let start = World.start

    private func buy(_ world: World, _ item: String, _ quantity: Int32? = nil) async throws -> PurchaseReply {
        try await Purchase(
            catalog: CatalogRepository(database: world.database),
            purchases: world.purchases,
            wallets: WalletViews(ledger: world.ledger),
            useful: UsefulGoods(goods: GoodsClient(world.others)),
            mutations: world.mutations
        ).handle(PurchaseRequest(item: item, quantity: quantity), World.context(ann)).reply
    }

    private func grant(_ world: World, _ request: GrantToUserRequest, by role: Principal.Role = .admin) async throws
        -> GrantToUserReply
    {
        try await GrantToUser(
            ledger: world.ledger,
            customers: world.events.customers,
            mutations: world.mutations,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ).handle(request, World.context(admin, role: role)).reply
    }

    private func coins(_ world: World, _ amount: Int64) async throws {
        world.others.add([ann])
        _ = try await grant(world, GrantToUserRequest(userID: ann, currency: .coins, amount: amount, reason: "test"))
    }

    private func reason(_ body: () async throws -> Void) async -> String? {
        do { try await body() } catch let error as ServiceError { return error.reason } catch { return "\(error)" }
        return nil
    }

    @Test func `the catalogue has prices, savings and what the user may still buy`() async throws {
        try await withWorld { world in
            try await coins(world, 500)
            _ = try await buy(world, "freeze", 2)
            let catalog = try await GetCatalog(
                catalog: CatalogRepository(database: world.database),
                purchases: world.purchases.repository,
                wallets: WalletViews(ledger: world.ledger),
                useful: UsefulGoods(goods: GoodsClient(world.others)),
                clock: world.clock
            ).handle(GetCatalogRequest(), World.context(ann))
            let items = Dictionary(uniqueKeysWithValues: catalog.items.map { ($0.item, $0) })
            #expect(items["premium_annual"]?.savingPercent == 33 && items["premium_annual"]?.usdCents == 3_999)
            #expect(items["token_pack_10"]?.savingPercent == 9 && items["freeze_5"]?.savingPercent == 19)
            #expect(items["premium_monthly"]?.popular == true && items["premium_monthly"]?.savingPercent == nil)
            #expect(items["freeze"]?.coins == 100 && items["freeze"]?.remaining == 3)
            #expect(items["time_machine"]?.coins == 1_000 && items["insurance"]?.coins == 200)
            #expect(items["time_machine"]?.refused == nil && items["freeze_1_premium"]?.usdCents == 79)
            #expect(items["freeze_1_premium"]?.needsPremium == true && items["freeze_1"]?.needsPremium == false)
            #expect(catalog.balances.first { $0.currency == .coins }?.balance == 300)
            // What is bought says whether it must be used, for money too: streaks knows.
            let shield = items["shield_1"]?.goods.first
            #expect(shield?.needsUse == true && shield?.description == "What shield does." && items["shield_1"]?.refused == nil)
            #expect(items["freeze_1"]?.goods.first?.needsUse == false)
            let token = items["token_pack_3"]?.goods.first
            #expect(token != nil && token?.needsUse == nil && token?.description == nil)
        }
    }

    @Test func `coins are spent with the goods, and come back when they are refused`() async throws {
        try await withWorld { world in
            try await coins(world, 700)
            let reply = try await buy(world, "freeze", 2)
            #expect(reply.coins == 200 && reply.balances.first { $0.currency == .coins }?.balance == 500)
            #expect(reply.goods.map(\.needsUse) == [false] && reply.goods.map(\.description) == ["What freeze does."])
            #expect(world.others.stock(of: ann) == ["freeze": 2])
            #expect(await reason { _ = try await buy(world, "time_machine") } == "NOT_ENOUGH_COINS")
            #expect(await reason { _ = try await buy(world, "token_pack_3") } == "NOT_FOR_COINS")
            #expect(await reason { _ = try await buy(world, "nothing") } == "NOT_FOUND")
            #expect(await reason { _ = try await buy(world, "freeze", 4) } == "PURCHASE_LIMIT_REACHED")
            world.others.refuse(ServiceError(.failedPrecondition, "MAX_FREEZES_REACHED", "Full."))
            #expect(await reason { _ = try await buy(world, "freeze") } == "MAX_FREEZES_REACHED")
            world.others.refuse(nil)
            #expect(try await world.ledger.balance(of: ann, .coins) == 500)
            #expect(world.others.stock(of: ann) == ["freeze": 2])
            // What came to nothing does not count, and the limit ends after its days.
            _ = try await buy(world, "freeze", 3)
            #expect(await reason { _ = try await buy(world, "freeze") } == "PURCHASE_LIMIT_REACHED")
            world.clock.advance(by: .days(8))
            _ = try await buy(world, "freeze")
            #expect(try await world.ledger.sums() == [.coins: 0, .recoveryTokens: 0])
        }
    }

    @Test(arguments: zip(["insurance", "restore"], [7, 30] as [Int64]))
    func `a limit of what is used on a streak is one for each streak`(item: String, days: Int64) async throws {
        try await withWorld { world in
            try await coins(world, 10_000)
            world.others.setStreaks(0, for: item)
            _ = try await buy(world, item)
            #expect(await reason { _ = try await buy(world, item) } == "PURCHASE_LIMIT_REACHED", "before there is a streak")
            world.others.setStreaks(3, for: item)
            func remaining() async throws -> Int32? {
                try await catalog(world).items.first { $0.item == item }?.remaining
            }
            #expect(try await remaining() == 2)
            #expect(await reason { _ = try await buy(world, item, 3) } == "PURCHASE_LIMIT_REACHED")
            _ = try await buy(world, item, 2)
            #expect(try await remaining() == 0)
            #expect(await reason { _ = try await buy(world, item) } == "PURCHASE_LIMIT_REACHED")
            #expect(world.others.stock(of: ann) == [item: 3])
            world.clock.advance(by: .days(days) + .seconds(1))
            #expect(try await remaining() == 3)
            // What the user has at most one of a week stays so.
            world.others.setStreaks(3, for: "time_machine")
            _ = try await buy(world, "time_machine")
            #expect(await reason { _ = try await buy(world, "time_machine") } == "PURCHASE_LIMIT_REACHED")
        }
    }

    @Test func `subscriptions say all that premium gives`() async throws {
        try await withWorld { world in
            let plans = try await catalog(world).items.filter { $0.kind == .subscription }
            #expect(plans.count == 3)
            for plan in plans {
                #expect(plan.perks == Perk.allCases.map(\.rawValue), "\(plan.item)")
                #expect(plan.perkTexts.map(\.perk) == plan.perks && plan.perkTexts.allSatisfy { !$0.text.isEmpty })
            }
            #expect(plans[0].perkTexts[0].text.hasSuffix("the free plan has 3."))
        }
    }

    private func catalog(_ world: World) async throws -> Catalog {
        try await GetCatalog(
            catalog: CatalogRepository(database: world.database),
            purchases: world.purchases.repository,
            wallets: WalletViews(ledger: world.ledger),
            useful: UsefulGoods(goods: GoodsClient(world.others)),
            clock: world.clock
        ).handle(GetCatalogRequest(), World.context(ann))
    }

    @Test func `what could not be used is refused before it is paid for`() async throws {
        try await withWorld { world in
            try await coins(world, 2_000)
            world.others.setUseless("time_machine", "DATE_NOT_MISSED")
            #expect(await reason { _ = try await buy(world, "time_machine") } == "DATE_NOT_MISSED")
            #expect(try await world.ledger.balance(of: ann, .coins) == 2_000)
            #expect(try await world.count("SELECT count(*) FROM purchase") == 0)
            let catalog = try await GetCatalog(
                catalog: CatalogRepository(database: world.database),
                purchases: world.purchases.repository,
                wallets: WalletViews(ledger: world.ledger),
                useful: UsefulGoods(goods: GoodsClient(world.others)),
                clock: world.clock
            ).handle(GetCatalogRequest(), World.context(ann))
            #expect(catalog.items.compactMap(\.refused) == ["DATE_NOT_MISSED"])
            world.others.setUseless("time_machine", nil)
            _ = try await buy(world, "time_machine")
            #expect(world.others.stock(of: ann) == ["time_machine": 1])
        }
    }

    @Test func `coins that streaks earn are posted once for each key`() async throws {
        try await withWorld { world in
            for key in ["typed_day:1:2026-01-05", "typed_day:1:2026-01-05", "typed_day:1:2026-01-06"] {
                try await world.earnCoins(ann, 10, key: key)
            }
            #expect(try await world.ledger.balance(of: ann, .coins) == 20)
            #expect(try await world.ledger.sums() == [.coins: 0, .recoveryTokens: 0])
        }
    }

    @Test func `many purchases at once never spend more than there is, nor pass a limit`() async throws {
        try await withWorld { world in
            try await coins(world, 700)
            await withTaskGroup(of: Void.self) { tasks in
                for index in 0..<24 {
                    tasks.addTask { _ = try? await buy(world, index % 3 == 0 ? "insurance" : "freeze") }
                }
            }
            while try await world.purchases.repository.oldestStranded() != nil { _ = try await world.purchases.sweep() }
            let stock = world.others.stock(of: ann)
            let spent = Int64(stock["freeze"] ?? 0) * 100 + Int64(stock["insurance"] ?? 0) * 200
            #expect((stock["freeze"] ?? 0) <= 5 && (stock["insurance"] ?? 0) <= 1)
            #expect(try await world.ledger.balance(of: ann, .coins) == 700 - spent)
            #expect(spent == 700, "\(stock)")
        }
    }

    @Test func `goods that failed for long come with the next repeat, and within a minute by the job`() async throws {
        try await withWorld { world in
            try await coins(world, 300)
            world.others.refuse(.unavailable())
            #expect(await reason { _ = try await buy(world, "freeze") } == "UNAVAILABLE")
            #expect(try await world.ledger.balance(of: ann, .coins) == 200)
            for _ in 1...12 {
                _ = try await world.database.execute("UPDATE goods_operation SET lease_until = 'epoch'")
                _ = try await world.purchases.sweep()
            }
            let next = try #require(try await world.purchases.repository.oldestStranded())
            let now = SystemClock.now()
            #expect(next > now + .seconds(30) && next <= now + .minutes(1), "\(next) at \(now)")
            world.others.refuse(nil)
            let id = try #require(try await world.database.query("SELECT id FROM purchase").first).decode(as: PurchaseID.self)
            let ended = try await world.purchases.end(of: id, context: World.context(ann))
            #expect(ended.refusal == nil && world.others.stock(of: ann) == ["freeze": 1])
            #expect(try await world.purchases.repository.oldestStranded() == nil)
            #expect(try await world.ledger.balance(of: ann, .coins) == 200)
        }
    }

    @Test func `goods are granted as of their payment, and from now on when they come again`() async throws {
        try await withWorld { world in
            try await coins(world, 100)
            let bought = world.clock.now()
            world.others.refuse(.unavailable())
            #expect(await reason { _ = try await buy(world, "freeze") } == "UNAVAILABLE")
            world.clock.advance(by: .hours(3))
            world.others.refuse(nil)
            let row = try await world.database.query("SELECT id FROM purchase").first
            let id = try #require(row).decode(as: PurchaseID.self)
            _ = try await world.purchases.end(of: id, context: World.context(ann))
            // A webhook that comes late.
            let freeze: [String: Any] = ["product_id": "streak_freeze", "purchased_at_ms": bought.milliseconds]
            let refunded = freeze.merging(["cancel_reason": "CUSTOMER_SUPPORT"]) { $1 }
            try await world.receive(pack("NON_RENEWING_PURCHASE", "e1", "f1", at: bought + .hours(3), freeze))
            try await world.settle()
            try await world.receive(pack("CANCELLATION", "e2", "f1", at: bought + .hours(4), refunded))
            try await world.settle()
            try await world.receive(pack("REFUND_REVERSED", "e3", "f1", at: bought + .hours(5), freeze))
            try await world.settle()
            #expect(world.others.obtained == [bought, bought, nil] && world.others.stock(of: ann) == ["freeze": 2])
        }
    }

    @Test func `a grant is by an administrator, with a reason, and is taken back once`() async throws {
        try await withWorld { world in
            world.others.add([ann])
            let request = GrantToUserRequest(userID: ann, currency: .coins, amount: 50, reason: "sorry for the outage")
            #expect(await reason { _ = try await grant(world, request, by: .user) } == "ADMIN_ONLY")
            let given = try await grant(world, request)
            #expect(given.balance?.balance == 50 && given.entry?.actorID == admin && given.entry?.note == "sorry for the outage")
            let entry = try #require(given.entry?.id)
            let back = GrantToUserRequest(userID: ann, reason: "given twice", reverses: entry)
            #expect(try await grant(world, back).balance?.balance == 0)
            #expect(await reason { _ = try await grant(world, back) } == "ALREADY_REVERSED")
            let more = GrantToUserRequest(userID: ann, currency: .coins, amount: -1, reason: "too much")
            #expect(await reason { _ = try await grant(world, more) } == "NOT_ENOUGH_COINS")
            let stranger = GrantToUserRequest(userID: UserID(high: 8, low: 8), currency: .coins, amount: 1, reason: "who")
            #expect(await reason { _ = try await grant(world, stranger) } == "NOT_FOUND")
            let own = try await GetWallet(wallets: WalletViews(ledger: world.ledger)).handle(
                GetWalletRequest(),
                World.context(ann)
            )
            #expect(own.entries.map(\.amount) == [-50, 50] && own.entries.allSatisfy { $0.actorID == nil })
        }
    }

    @Test func `a wallet's pages are those of one currency, without gaps`() async throws {
        try await withWorld { world in
            world.others.add([ann])
            for amount in 1...25 {
                _ = try await grant(
                    world,
                    GrantToUserRequest(userID: ann, currency: .coins, amount: Int64(amount), reason: "test")
                )
                if amount % 5 == 0 {
                    _ = try await grant(
                        world,
                        GrantToUserRequest(userID: ann, currency: .recoveryTokens, amount: 1, reason: "test")
                    )
                }
            }
            let wallet = GetWallet(wallets: WalletViews(ledger: world.ledger))
            var (amounts, cursor) = ([Int64](), "")
            repeat {
                let page = try await wallet.handle(GetWalletRequest(limit: 10, cursor: cursor), World.context(ann))
                amounts += page.entries.map(\.amount)
                cursor = page.meta?.nextCursor ?? ""
            } while !cursor.isEmpty
            #expect(amounts == (1...25).reversed().map { Int64($0) })
            let tokens = try await wallet.handle(GetWalletRequest(currency: .recoveryTokens), World.context(ann))
            #expect(tokens.entries.count == 5)
        }
    }

    private func pack(_ type: String, _ id: String, _ transaction: String, at: Instant, _ more: [String: Any] = [:]) -> String {
        var fields: [String: Any] = [
            "product_id": "recovery_token_pack_3", "transaction_id": transaction, "price_in_purchased_currency": 0.99,
            "currency": "EUR",
        ]
        fields.merge(more) { $1 }
        return webhook(type, id, ann.description, at: at, fields)
    }

    @Test func `a pack is granted once, and a refund takes back what is left`() async throws {
        try await withWorld { world in
            world.others.add([ann])
            for id in ["e1", "e2"] {
                try await world.receive(pack("NON_RENEWING_PURCHASE", id, "p1", at: start, ["quantity": 2]))
                try await world.settle()
            }
            #expect(try await world.ledger.balance(of: ann, .recoveryTokens) == 6)
            for number in 1...4 { _ = try await world.spend(OperationID(high: 2, low: UInt64(number)), of: ann) }
            let refund = pack("CANCELLATION", "e3", "p1", at: start + .days(1), ["cancel_reason": "CUSTOMER_SUPPORT"])
            try await world.receive(refund)
            try await world.settle()
            #expect(try await world.ledger.balance(of: ann, .recoveryTokens) == 0)
            let missing = try await world.database.query("SELECT missing FROM goods_operation WHERE kind = 2").first
            #expect(try missing?.decode(as: String?.self) == "recovery_token 4")
            try await world.receive(pack("REFUND_REVERSED", "e4", "p1", at: start + .days(2)))
            try await world.settle()
            #expect(try await world.ledger.balance(of: ann, .recoveryTokens) == 6)
            #expect(try await world.count("SELECT count(*) FROM outbox WHERE subject = \(PurchaseCompleted.subject)") == 1)
        }
    }

    @Test func `a gift of the operator is premium and no goods, and an unknown product waits for the catalogue`() async throws {
        try await withWorld { world in
            world.others.add([ann])
            let until = (start + .days(3)).milliseconds
            let gift = pack("NON_RENEWING_PURCHASE", "e1", "g1", at: start, ["store": "PROMOTIONAL", "expiration_at_ms": until])
            try await world.receive(gift)
            try await world.receive(pack("NON_RENEWING_PURCHASE", "e2", "p2", at: start, ["product_id": "of_tomorrow"]))
            try await world.settle()
            #expect(try await world.entitlements(of: ann).isPremium)
            #expect(try await world.count("SELECT count(*) FROM purchase") == 0)
            _ = try await world.database.execute("UPDATE catalog_item SET product = 'of_tomorrow' WHERE item = 'token_pack_3'")
            _ = try await StoreEventRepository.replay("e2", now: world.clock.now(), world.database)
            try await world.settle()
            #expect(try await world.entries(of: ann).contains(.purchased))
        }
    }
}
