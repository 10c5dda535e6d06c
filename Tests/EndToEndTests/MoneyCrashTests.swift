import Foundation
import Kernel
import TestSupport
import Testing

/// Random purchases, refunds and subscriptions while `billing` or `streaks` is killed at each step in turn: the books add up to zero, goods are
/// there once, and premium is what the events in their order come to (BI-1 to BI-5, D6). A transfer between two users likewise.
@Suite(.timeLimit(.minutes(60))) struct MoneyCrashTests {
    /// Where the history is held up, and who is killed there.
    enum Stage: String, CaseIterable {
        /// The webhook is being stored.
        case storing
        /// A stored event is being noted as applied.
        case applying
        /// A subscription is being folded.
        case folding
        /// The event that premium has begun is being stored.
        case entitling
        /// A purchase is being recorded with its first step.
        case recording
        /// Streaks is granting goods, billing waits for its answer.
        case granting
        case asking
        /// The goods are granted, but the step's row does not say so.
        case finishing
        /// Tokens are being posted.
        case posting
        /// Goods of a refunded purchase are being taken back.
        case takingBack

        var victim: String { self == .granting ? "streaks" : "billing" }
        /// The change of a table that is held up.
        var hold: (table: String, event: String, condition: String) {
            switch self {
            case .storing: ("billing.store_event", "INSERT", "true")
            case .applying: ("billing.store_event", "UPDATE OF state", "NEW.state = 2")
            case .folding: ("billing.subscription", "INSERT", "true")
            case .entitling: ("billing.outbox", "INSERT", "NEW.subject LIKE '%EntitlementsChanged'")
            case .recording: ("billing.purchase", "INSERT", "true")
            case .granting, .asking: ("streaks.goods_grant", "INSERT", "true")
            case .finishing: ("billing.goods_operation", "UPDATE OF is_done", "NEW.is_done")
            case .posting: ("billing.ledger_transaction", "INSERT", "true")
            case .takingBack: ("streaks.goods_grant", "UPDATE OF taken", "true")
            }
        }
    }

    /// On processes of its own: others would meet the killed ones.
    @Test func `whatever is bought and refunded while processes are killed comes to its goods once`() async throws {
        let home = try await Installation(
            ["--separate", "--dev-clock"],
            environment: ["STREAKSNAP_BILLING_WEBHOOK_SECRET": StoreFeed.secret]
        )
        var admin = try await Person.administrator(at: home)
        for number in 0..<TestDepth.pick(quick: 10, full: 200) {
            if number > 0 { try await admin.signIn() }
            let stage = Stage.allCases[number % Stage.allCases.count]
            var history = try await History(seed: UInt64(number), stage, home)
            try await history.begin(admin)
            try await history.play()
            try await history.check()
        }
        await home.guardian.end()
    }

    /// Where a transfer is held up, and who is killed there.
    enum MoveStage: String, CaseIterable {
        /// The webhook's event is being noted as applied: who owns what, and the steps of every pack, are not committed.
        case applying
        /// The first step of a pack is being recorded.
        case recording
        /// The event that premium is with the other user is being stored.
        case entitling
        /// Streaks is taking goods from one user, billing waits for its answer.
        case taking
        case waiting
        /// They are taken, and what there was is being noted.
        case noting
        /// Tokens are being posted.
        case posting
        /// Streaks is granting them to the other user, billing waits for its answer.
        case granting
        case asking
        /// They are granted, but the step's row does not say so.
        case finishing

        var victim: String { self == .taking || self == .granting ? "streaks" : "billing" }
        /// The change of a table that is held up.
        var hold: (table: String, event: String, condition: String) {
            switch self {
            case .applying: ("billing.store_event", "UPDATE OF state", "NEW.state = 2")
            case .recording: ("billing.goods_operation", "INSERT", "NEW.kind = 3")
            case .entitling: ("billing.outbox", "INSERT", "NEW.subject LIKE '%EntitlementsChanged'")
            case .taking, .waiting: ("streaks.goods_grant", "UPDATE OF taken", "true")
            case .noting: ("billing.moved_good", "INSERT", "true")
            case .posting: ("billing.ledger_transaction", "INSERT", "true")
            case .granting, .asking: ("streaks.goods_grant", "INSERT", "true")
            case .finishing: ("billing.goods_operation", "UPDATE OF is_done", "NEW.is_done AND NEW.kind = 4")
            }
        }
    }

    @Test func `what a transfer moves is with the other user once, at whichever step a process is killed`() async throws {
        let home = try await Installation(
            ["--separate", "--dev-clock"],
            environment: ["STREAKSNAP_BILLING_WEBHOOK_SECRET": StoreFeed.secret]
        )
        for number in 0..<TestDepth.pick(quick: MoveStage.allCases.count, full: 100) {
            let stage = MoveStage.allCases[number % MoveStage.allCases.count]
            let move = try await Move(number, stage, home)
            try await move.begin()
            try await move.play()
            try await move.check()
        }
        await home.guardian.end()
    }
}

/// Everything that one user has bought moves to another.
private struct Move: Sendable {
    private let feed: StoreFeed
    private let stage: MoneyCrashTests.MoveStage
    private let start: Instant
    private let from: Person
    private let to: Person

    init(_ number: Int, _ stage: MoneyCrashTests.MoveStage, _ home: Installation) async throws {
        (feed, self.stage) = (StoreFeed(home: home, about: "move \(number), \(stage)"), stage)
        from = try await RestartTests().register("from", at: home)
        to = try await RestartTests().register("to", at: home)
        start = try await home.productTime() - .hours(1)
    }

    private func bought(_ product: String, _ name: String) -> String {
        let fields = "\"product_id\":\"\(product)\",\"transaction_id\":\"\(name)-\(from.id)\""
        return StoreFeed.event("NON_RENEWING_PURCHASE", "\(name)-\(from.id)", from, at: start, fields)
    }

    /// Packs of which nothing is used, and a month of premium: a trial, which brings no token.
    func begin() async throws {
        let month = """
            "product_id":"premium_monthly","period_type":"TRIAL","original_transaction_id":"s-\(from.id)",
            "transaction_id":"s-\(from.id)","purchased_at_ms":\(start.milliseconds),
            "expiration_at_ms":\((start + .days(30)).milliseconds)
            """
        for body in [
            bought("streak_shield", "shield"), bought("xp_booster", "booster"), bought("recovery_token_pack_3", "tokens"),
            StoreFeed.event("INITIAL_PURCHASE", "s-\(from.id)", from, at: start, month),
        ] { try await feed.receive(body) }
        try await feed.isSettled()
        try await feed.expectPremium(true, of: from)
    }

    /// The transfer, and its repeat.
    func play() async throws {
        let hold = try await RecoverTests.Hold(stage.hold.table, stage.hold.event, when: stage.hold.condition, at: feed.home)
        let fields = "\"transferred_from\":[\"\(from.id)\"],\"transferred_to\":[\"\(to.id)\"]"
        let moved = StoreFeed.event("TRANSFER", "transfer-\(from.id)", nil, at: start + .minutes(1), fields)
        let feed = feed
        let store = Task { try await feed.receive(moved) }
        try await feed.crash(stage.victim, heldUpBy: hold)
        try await store.value
        try await feed.receive(moved)
        try await feed.isSettled()
    }

    func check() async throws {
        let about: Comment = "\(feed.about)"
        for good in ["shield", "xp_booster"] {
            #expect(try await feed.stock(good, of: from) == [0, 0], about)
            #expect(try await feed.stock(good, of: to) == [1, 1], about)
        }
        #expect(try await feed.balance(2, of: from) == 0, about)
        #expect(try await feed.balance(2, of: to) == 3, about)
        #expect(try await feed.booksAreEven(), about)
        try await feed.expectPremium(false, of: from)
        try await feed.expectPremium(true, of: to)
    }
}

/// What one user buys and gets back, and what another subscribes to.
private struct History {
    typealias Stage = MoneyCrashTests.Stage

    private struct Offer {
        let product: String
        let good: String
        let count: Int
    }

    private static let offers = [
        Offer(product: "recovery_token_pack_3", good: "token", count: 3),
        Offer(product: "xp_booster", good: "xp_booster", count: 1),
        Offer(product: "streak_shield", good: "shield", count: 1),
        Offer(product: "recovery_token_pack_10", good: "token", count: 10),
    ]

    /// Events of a subscription in their order, and whether they leave premium.
    private static let subscriptions: [(kinds: [String], isPremium: Bool)] = [
        (["INITIAL_PURCHASE"], true), (["INITIAL_PURCHASE", "CANCELLATION"], true),
        (["INITIAL_PURCHASE", "CANCELLATION", "UNCANCELLATION"], true), (["INITIAL_PURCHASE", "REFUND"], false),
        (["INITIAL_PURCHASE", "CANCELLATION", "EXPIRATION"], false), (["INITIAL_PURCHASE", "EXPIRATION", "RENEWAL"], true),
        (["INITIAL_PURCHASE", "RENEWAL", "REFUND"], false),
    ]

    private let home: Installation
    private let feed: StoreFeed
    private let stage: Stage
    private var dice: Seeded
    private let buyer: Person
    private let subscriber: Person
    private let isPremium: Bool
    /// When the first event happened.
    private let start: Instant
    private var bodies: [String] = []
    /// What the buyer has in the end.
    private var goods = ["insurance": 0, "shield": 0, "token": 0, "xp_booster": 0]

    init(seed: UInt64, _ stage: Stage, _ home: Installation) async throws {
        (self.home, self.stage, dice) = (home, stage, Seeded(seed &+ 17))
        feed = StoreFeed(home: home, about: "history \(seed), \(stage)")
        buyer = try await RestartTests().register("buyer", at: home)
        subscriber = try await RestartTests().register("subscriber", at: home)
        start = try await home.productTime() - .hours(1)
        // Without a refund: premium that never begins emits nothing.
        let subscription = stage == .entitling ? Self.subscriptions[0] : dice.pick(Self.subscriptions)
        isPremium = subscription.isPremium
        for (place, kind) in subscription.kinds.enumerated() { bodies.append(period(kind, place)) }
    }

    /// What is bought before anything is killed: a pack that may be refunded later, and coins.
    mutating func begin(_ admin: Person) async throws {
        try await feed.receive(pack(Self.offers[1], "a", 0))
        let grant = "{\"currency\":\"coins\",\"amount\":300,\"reason\":\"a test\"}"
        let (path, key) = ("/api/admin/users/\(buyer.id)/wallet/grants", "grant-\(buyer.id)")
        _ = try await RestartTests().insist("the grant") { try await admin.post(path, grant, key: key) }
        try await feed.isSettled()
        if stage == .takingBack || dice.chance(50) {
            bodies.append(pack(Self.offers[1], "a", 1))
        } else {
            goods["xp_booster"] = 1
        }
        // Of each kind of good one that stays.
        for (place, offer) in [Self.offers[0], Self.offers[2]].enumerated() { buy(offer, "b\(place)", refunds: 0) }
        for place in 0..<Int.random(in: 0...2, using: &dice) {
            buy(dice.pick(Self.offers), "c\(place)", refunds: Int.random(in: 0...3, using: &dice))
        }
        bodies = (bodies + bodies.filter { _ in dice.chance(30) }).shuffled(using: &dice)
    }

    /// Sends everything as RevenueCat does, until it is answered, while coins are spent; kills the victim at the stage.
    mutating func play() async throws {
        let hold = try await RecoverTests.Hold(stage.hold.table, stage.hold.event, when: stage.hold.condition, at: home)
        let (me, waiting) = (self, bodies)
        let store = Task { for body in waiting { try await me.feed.receive(body) } }
        let coins = Task { try await me.spendCoins() }
        try await feed.crash(stage.victim, heldUpBy: hold)
        try await store.value
        try await coins.value
        goods["insurance"] = 1
        try await feed.isSettled()
    }

    func check() async throws {
        let about: Comment = "\(feed.about)"
        for good in ["insurance", "shield", "xp_booster"] {
            let count = try #require(goods[good])
            #expect(try await feed.stock(good, of: buyer) == [count, count], about)
        }
        #expect(try await feed.balance(2, of: buyer) == goods["token"], about)
        #expect(try await feed.balance(1, of: buyer) == 100, about)
        #expect(try await feed.booksAreEven(), about)
        try await feed.expectPremium(isPremium, of: subscriber)
        // The receipt of each pack once, also of one that was given back later.
        let (buyer, packs) = (buyer, "SELECT count(*) FROM billing.purchase WHERE user_id = '\(buyer.id)' AND store IS NOT NULL")
        let most = try await feed.number(packs)
        let receipts = try await RestartTests().insist("the log") { try await buyer.get("/api/notifications?limit=100") }
        #expect(receipts.data["notifications"].list.count { $0["type"].string == "purchase_receipt" } <= most, about)
    }

    private mutating func buy(_ offer: Offer, _ name: String, refunds: Int) {
        for place in 0...refunds { bodies.append(pack(offer, name, place)) }
        if refunds % 2 == 0 { goods[offer.good, default: 0] += offer.count }
    }

    /// Spends 200 of the 300 coins, with a key that is repeated.
    private func spendCoins() async throws {
        let (buyer, key) = (buyer, "coins-\(buyer.id)")
        let reply = try await RestartTests().insist("the purchase") {
            try await buyer.post("/api/store/purchase", "{\"item\":\"insurance\"}", key: key)
        }
        #expect(reply.data["coins"].int == 200, "\(reply.text)")
    }

    /// - Parameter place: 0 is the purchase; then refunds and reversals take turns.
    private func pack(_ offer: Offer, _ name: String, _ place: Int) -> String {
        let kind = place == 0 ? "NON_RENEWING_PURCHASE" : place % 2 == 1 ? "CANCELLATION" : "REFUND_REVERSED"
        let reason = kind == "CANCELLATION" ? ",\"cancel_reason\":\"CUSTOMER_SUPPORT\"" : ""
        let fields = "\"product_id\":\"\(offer.product)\",\"transaction_id\":\"\(name)-\(buyer.id)\"\(reason)"
        return StoreFeed.event(kind, "\(name)-\(place)-\(buyer.id)", buyer, at: start + .seconds(Int64(place)), fields)
    }

    /// An event of the subscription: a month that began with the last purchase before it.
    private func period(_ kind: String, _ place: Int) -> String {
        let at = start + .seconds(Int64(place) * 10)
        let (type, reason) =
            switch kind {
            case "REFUND": ("CANCELLATION", ",\"cancel_reason\":\"CUSTOMER_SUPPORT\"")
            case "CANCELLATION": ("CANCELLATION", ",\"cancel_reason\":\"UNSUBSCRIBE\"")
            default: (kind, "")
            }
        // What ends a period ends it when it happens.
        let end = kind == "EXPIRATION" ? at : at + .days(30)
        let begun = kind == "INITIAL_PURCHASE" || kind == "RENEWAL" ? ",\"purchased_at_ms\":\(at.milliseconds)" : ""
        let fields = """
            "product_id":"premium_monthly","period_type":"NORMAL","original_transaction_id":"s-\(subscriber.id)",
            "transaction_id":"s\(place)-\(subscriber.id)","expiration_at_ms":\(end.milliseconds)\(begun)\(reason)
            """
        return StoreFeed.event(type, "s-\(place)-\(subscriber.id)", subscriber, at: at, fields)
    }
}
