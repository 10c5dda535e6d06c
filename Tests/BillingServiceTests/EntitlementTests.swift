import BillingAPI
import Foundation
import Kernel
import Runtime
import TestSupport
import Testing

@testable import BillingMoney
@testable import BillingService

/// What a purchase says that it gives counts, not its kind (BI-1, BI-2), and who it is written of (BI-1).
struct EntitlementTests {
    private let ann = UserID(high: 1, low: 1)
    /// With letters, which Swift writes in upper case.
    private let eve = UserID(high: 0x0199_ABCD_EF01_7ABC, low: 0x8ABC_DEF0_1234_ABCD)
    private let start = World.start

    /// What was bought once, for good.
    private func bought(_ kind: String = "NON_RENEWING_PURCHASE", _ id: String = "e1", gives: [String]?, at: Instant? = nil)
        -> String
    {
        let fields: [String: Any] = [
            "product_id": "premium_lifetime", "transaction_id": "t1", "original_transaction_id": "t1", "period_type": "NORMAL",
            "purchased_at_ms": start.milliseconds, "expiration_at_ms": NSNull(),
            "entitlement_ids": gives.map { $0 as Any } ?? NSNull(),
        ]
        return webhook(kind, id, ann.description, at: at ?? start, fields)
    }

    private func subscribed(_ gives: Any, _ product: String = "premium_monthly", of user: String? = nil, as id: String = "e1")
        -> String
    {
        var fields = period(product, from: start, until: start + .days(30), of: "of \(product)")
        fields["entitlement_ids"] = gives
        return webhook("INITIAL_PURCHASE", id, user ?? ann.description, at: start, fields)
    }

    private func restore(_ world: World, _ user: UserID) async throws -> Entitlements {
        try await Restore(questions: world.questions, mutations: world.mutations).handle(RestoreRequest(), World.context(user))
            .reply
    }

    @Test func `a purchase that does not renew and gives premium is a lifetime, until it is refunded`() async throws {
        var refund = bought("CANCELLATION", "e2", gives: ["premium"], at: start + .days(400))
        refund = refund.replacing("\"type\"", with: "\"cancel_reason\":\"CUSTOMER_SUPPORT\",\"type\"")
        // Its product may have lost its entitlement since.
        let unsaid = refund.replacing("[\"premium\"]", with: "null")
        for ended in [refund, unsaid] {
            try await withWorld { world in
                world.others.add([ann])
                try await world.receive(bought(gives: ["other", "premium"]))
                try await world.settle()
                let plan = try await world.entitlements(of: ann)
                #expect(plan.isPremium && plan.expiresAt == nil && !plan.willRenew && plan.status == .active)
                #expect(plan.productID == "premium_lifetime")
                #expect(try await world.emittedPlans(of: ann) == [.premium])
                #expect(try await world.count("SELECT count(*) FROM store_event WHERE state = 2") == 1)
                #expect(try await world.count("SELECT count(*) FROM purchase") == 0, "it is no pack")
                world.clock.set(start + .days(400))
                #expect(try await world.entitlements(of: ann).isPremium)
                try await world.receive(ended)
                try await world.settle()
                #expect(try await !world.entitlements(of: ann).isPremium)
                #expect(try await world.emittedPlans(of: ann) == [.premium, .free])
            }
        }
    }

    @Test func `a subscription with another entitlement or none is not premium`() async throws {
        for gives in [["stickers"], [String](), NSNull()] as [Any] {
            try await withWorld { world in
                world.others.add([ann])
                try await world.receive(subscribed(gives))
                try await world.settle()
                let plan = try await world.entitlements(of: ann)
                #expect(!plan.isPremium && plan.productID == nil && plan.status == nil, "\(gives)")
                #expect(try await world.emittedPlans(of: ann) == [])
                #expect(try await world.entries(of: ann) == [], "no bonus")
                // Beside premium it changes nothing.
                try await world.receive(subscribed(["premium"], "premium_annual", as: "e2"))
                try await world.settle()
                #expect(try await world.entitlements(of: ann).productID == "premium_annual")
            }
        }
    }

    @Test func `the entitlement that means premium is a setting`() async throws {
        let pro = try #require(PremiumEntitlement(settingText: "pro"))
        try await withWorld(premium: pro) { world in
            world.others.add([ann])
            try await world.receive(subscribed(["premium"]))
            try await world.settle()
            #expect(try await !world.entitlements(of: ann).isPremium)
            try await world.receive(bought("NON_RENEWING_PURCHASE", "e2", gives: ["pro"]))
            try await world.settle()
            #expect(try await world.entitlements(of: ann).isPremium)
        }
        for blank in ["", " ", "a,b"] {
            let settings = Settings(values: [MoneySettings.premium.key: blank], declared: MoneySettings.all)
            #expect(throws: Settings.Invalid.self, "\(blank)") { try settings.get(MoneySettings.premium) }
        }
    }

    @Test func `a failed payment may be called BILLING_ISSUE_DETECTED`() async throws {
        try await withWorld { world in
            world.others.add([ann])
            try await world.receive(subscribed(["premium"]))
            let fields = period(from: start, until: start + .days(30), of: "of premium_monthly")
                .merging(["grace_period_expiration_at_ms": (start + .days(46)).milliseconds]) { $1 }
            try await world.receive(
                webhook("BILLING_ISSUE_DETECTED", "e2", ann.description, at: start + .days(30), fields)
            )
            try await world.settle()
            world.clock.set(start + .days(40))
            let plan = try await world.entitlements(of: ann)
            #expect(plan.isPremium && plan.status == .billingRetry && plan.graceUntil == start + .days(46))
        }
    }

    /// What REST says of a customer: a lifetime, or a subscription to a product of its own.
    private func subscriber(lifetime: Bool, entitlements: String) -> String {
        let item = """
            "store": "app_store", "purchase_date": "\(start)", "is_sandbox": false, "store_transaction_id": "r1"
            """
        let club = """
            {"club": {\(item), "expires_date": "\(start + .days(30))", "period_type": "normal"}}
            """
        let once = """
            {"premium_lifetime": [{"id": "x", \(item)}]}
            """
        let (renewed, bought) = lifetime ? ("{}", once) : (club, "{}")
        return """
            {"subscriptions": \(renewed), "non_subscriptions": \(bought), "entitlements": \(entitlements)}
            """
    }

    @Test func `restore takes what the store says of entitlements`() async throws {
        let store = try await RevenueCatServer.start()
        func grant(_ name: String, _ product: String, until: String = "null") -> String {
            "{\"\(name)\": {\"product_identifier\": \"\(product)\", \"expires_date\": \(until), \"purchase_date\": \"\(start)\"}}"
        }
        let expected: [(lifetime: Bool, entitlements: String, isPremium: Bool)] = [
            (true, grant("premium", "premium_lifetime"), true), (true, "{}", false),
            (false, "{}", false), (false, grant("stickers", "club"), false),
            (false, grant("premium", "club", until: "\"\(start + .days(30))\""), true),
        ]
        for said in expected {
            try await withWorld(store: store) { world in
                world.others.add([ann])
                try store.set(ann.description, subscriber(lifetime: said.lifetime, entitlements: said.entitlements))
                for _ in 0..<2 { #expect(try await restore(world, ann).isPremium == said.isPremium, "\(said)") }
                // Not noticed at RevenueCat until now.
                let product = said.lifetime ? "premium_lifetime" : "club"
                try store.set(
                    ann.description,
                    subscriber(lifetime: said.lifetime, entitlements: grant("premium", product))
                )
                #expect(try await restore(world, ann).isPremium, "\(said)")
            }
        }
    }

    @Test func `the store is asked with the id as it writes it, in each spelling that it has`() async throws {
        let store = try await RevenueCatServer.start()
        try await withWorld(store: store) { world in
            world.others.add([eve])
            let (upper, lower) = (eve.description.uppercased(), eve.description)
            let premium = "{\"premium\": {\"product_identifier\": \"premium_lifetime\", \"expires_date\": null}}"
            try store.set(upper, subscriber(lifetime: true, entitlements: premium))
            try await world.receive(subscribed(["stickers"], "club", of: upper))
            try await world.settle()
            #expect(try await restore(world, eve).isPremium)
            #expect(store.requests == ["GET /v1/subscribers/\(upper)"], "and no other customer is made")
            // The Android app of the same user writes it otherwise.
            try await world.receive(subscribed(["stickers"], "club_android", of: lower, as: "e2"))
            try await world.settle()
            #expect(try await restore(world, eve).isPremium)
            #expect(store.customers == [upper, lower])
            #expect(try await Set(StoreNameRepository.customers(of: eve, world.database)) == [upper, lower])
        }
    }
}
