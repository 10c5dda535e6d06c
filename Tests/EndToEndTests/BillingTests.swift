import Foundation
import Kernel
import TestSupport
import Testing

/// Premium, packs and coins through the public API, with a stand-in for RevenueCat (BI-1 to BI-5, MS-1).
/// One after the other: one of them moves the clock of all.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct BillingTests {
    /// A system that sells, and what it buys from.
    struct Shop: Sendable {
        let home: Installation
        let store: RevenueCatServer

        static let shared = Task { try await Shop() }

        private init() async throws {
            store = try await RevenueCatServer.start()
            home = try await Installation(
                ["--dev-clock"],
                environment: [
                    "STREAKSNAP_BILLING_WEBHOOK_SECRET": "\(StoreFeed.secret), second-of-the-store, ",
                    "STREAKSNAP_BILLING_REVENUECAT_URL": store.url,
                    "STREAKSNAP_BILLING_REVENUECAT_KEY": RevenueCatServer.key,
                ]
            )
        }

        /// What RevenueCat sends about a user.
        func send(
            _ type: String,
            _ user: String,
            _ fields: String,
            id: String = UUID().uuidString,
            secret: String = StoreFeed.secret
        )
            async throws
            -> HTTPReply
        {
            let now = try await home.productTime().milliseconds
            let body = """
                {"api_version":"1.0","event":{"id":"\(id)","type":"\(type)","app_user_id":"\(user)","event_timestamp_ms":\(now),
                "environment":"PRODUCTION","store":"APP_STORE","of_tomorrow":{"a":[1]},\(fields)}}
                """
            let headers = [("Authorization", secret), ("Content-Type", "application/json")]
            return try await home.http.send("POST", "/api/webhooks/revenuecat", headers: headers, body: Array(body.utf8))
        }

        /// A subscription's period from now on.
        func period(days: Int64, of transaction: String) async throws -> String {
            let now = try await home.productTime()
            return """
                "product_id":"premium_monthly","period_type":"NORMAL","original_transaction_id":"\(transaction)",
                "transaction_id":"\(transaction)","purchased_at_ms":\(now.milliseconds),
                "expiration_at_ms":\((now + .days(days)).milliseconds)
                """
        }
    }

    @Test func `a subscription lifts the limit of streaks, and its end sets it again`() async throws {
        let shop = try await Shop.shared.value
        var ann = try await Person.register("ann", at: shop.home)
        #expect(try await ann.get("/api/billing/entitlements").data["plan"].string == "free")
        let bought = try await shop.send("INITIAL_PURCHASE", ann.id, try await shop.period(days: 30, of: "t-\(ann.id)"))
        #expect(bought.status == 200, "\(bought.text)")
        try await eventually("she has premium") {
            try await ann.get("/api/billing/entitlements").data["is_premium"].bool == true
        }
        let plan = try await ann.get("/api/billing/entitlements").data
        #expect(plan["status"].string == "active" && plan["streak_limit"].isNull && plan["will_renew"].bool == true)
        #expect(plan["manage_url"].string?.hasPrefix("https://apps.apple.com/") == true && plan["period_type"].string == "normal")
        // The month's token.
        #expect(try await ann.get("/api/recovery/balance").data["balance"].int == 1)
        try await eventually("streaks knows it") {
            try await shop.home.sql("SELECT is_premium FROM streaks.entitlement_replica WHERE user_id = '\(ann.id)'") == "t"
        }
        for number in 1...4 { try await ann.befriend(try await Person.register("friend\(number)", at: shop.home)) }
        #expect(try await ann.get("/api/streaks").data["streaks"].list.count == 4)

        try await shop.home.travel(days: 31)
        try await ann.signIn()
        #expect(try await ann.get("/api/billing/entitlements").data["status"].string == "expired")
        try await eventually("streaks knows it") {
            try await shop.home.sql("SELECT is_premium FROM streaks.entitlement_replica WHERE user_id = '\(ann.id)'") == "f"
        }
    }

    @Test func `forged webhooks are refused, and a replay is answered and changes nothing`() async throws {
        let shop = try await Shop.shared.value
        let ben = try await Person.register("ben", at: shop.home)
        let fields = "\"product_id\":\"recovery_token_pack_3\",\"transaction_id\":\"p-\(ben.id)\",\"quantity\":1"
        for secret in ["", "third-of-the-store", "\(StoreFeed.secret),second-of-the-store", "Bearer", "Bearer "] {
            #expect(try await shop.send("NON_RENEWING_PURCHASE", ben.id, fields, secret: secret).status == 401, "\(secret)")
        }
        for secret in [StoreFeed.secret, "Bearer second-of-the-store", "second-of-the-store"] {
            let reply = try await shop.send("NON_RENEWING_PURCHASE", ben.id, fields, id: "pack-\(ben.id)", secret: secret)
            #expect(reply.status == 200, "\(reply.text)")
        }
        try await eventually("the tokens are there") { try await ben.get("/api/recovery/balance").data["balance"].int == 3 }
        #expect(try await shop.send("OF_TOMORROW", "$RCAnonymousID:1", "\"x\":1").status == 200)
        let refund = fields + ",\"cancel_reason\":\"CUSTOMER_SUPPORT\""
        #expect(try await shop.send("CANCELLATION", ben.id, refund).status == 200)
        try await eventually("the tokens are taken back") { try await ben.get("/api/recovery/balance").data["balance"].int == 0 }
        let page = try await ben.get("/api/wallet?currency=recovery_tokens&limit=1").data
        #expect(page["entries"].list.map { $0["amount"].int } == [-3])
        #expect(page["balances"].list.count == 2)
    }

    @Test func `goods are bought with coins that an administrator has granted, and restored purchases are asked for`()
        async throws
    {
        let shop = try await Shop.shared.value
        let (cat, admin) = (try await Person.register("cat", at: shop.home), try await Person.administrator(at: shop.home))
        let grants = "/api/admin/users/\(cat.id)/wallet/grants"
        let grant = "{\"currency\":\"coins\",\"amount\":250,\"reason\":\"an outage\"}"
        #expect(try await cat.post(grants, grant).status == 403)
        #expect(try await admin.post(grants, grant).status == 201)
        let reply = try await cat.post("/api/store/purchase", "{\"item\":\"freeze\",\"quantity\":2}", key: "buy-\(cat.id)")
        #expect(reply.status == 201, "\(reply.text)")
        #expect(
            try await cat.post("/api/store/purchase", "{\"item\":\"freeze\",\"quantity\":2}", key: "buy-\(cat.id)").data
                == reply.data
        )
        #expect(try await cat.post("/api/store/purchase", "{\"item\":\"freeze\"}").code == "NOT_ENOUGH_COINS")
        // In the hand of the check-in streak, beside the one it begins with.
        let bought = """
            SELECT sum(granted) FROM streaks.streak_freeze f JOIN streaks.streak s ON s.id = f.streak_id
            WHERE '\(cat.id)' = ANY(s.members) AND f.operation_id IS NOT NULL
            """
        #expect(try await shop.home.sql(bought) == "2")
        let items = try await cat.get("/api/store/catalog").data["items"].list
        #expect(items.first { $0["item"].string == "freeze" }?["remaining"].int == 3)
        #expect(items.first { $0["item"].string == "premium_annual" }?["saving_percent"].int == 33)

        // Apps on iPhones write ids in upper case, which are other ids to RevenueCat.
        let name = cat.id.uppercased()
        #expect(try await shop.send("TEST", name, "\"x\":1").status == 200)
        try await eventually("the store's spelling is known") {
            try await shop.home.sql("SELECT count(*) FROM billing.store_alias WHERE name = '\(name)'") == "1"
        }
        let until = try await shop.home.productTime() + .days(20)
        try shop.store.set(
            name,
            """
            {"subscriptions": {"premium_annual": {"expires_date": "\(until)", "purchase_date": "2026-01-01T00:00:00Z", "store": "app_store",
                "period_type": "normal", "is_sandbox": false, "store_transaction_id": "r-\(cat.id)"}}, "non_subscriptions": {}}
            """
        )
        let restored = try await cat.post("/api/billing/restore", "{}")
        #expect(restored.data["is_premium"].bool == true, "\(restored.text)")
        // The account's deletion shows what goes on, and the purge deletes the customer.
        let deleted = try await cat.delete()
        #expect(deleted.data["subscription"]["product"].string == "premium_annual", "\(deleted.text)")
        try await shop.home.travel(days: 31)
        try await eventually("the customer is deleted") { !shop.store.customers.contains(name) }
        // After the store has answered.
        try await eventually("nothing is left to delete") {
            try await shop.home.sql("SELECT count(*) FROM billing.store_deletion WHERE user_id = '\(cat.id)'") == "0"
        }
        // A question that was on its way may have made one of the plain id.
        try await eventually("no customer of theirs is left") {
            shop.store.customers.filter { $0.lowercased() == cat.id.lowercased() }.isEmpty
        }
    }
}
