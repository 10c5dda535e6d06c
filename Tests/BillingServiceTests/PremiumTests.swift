import BillingAPI
import Foundation
import Kernel
import TestSupport
import Testing

@testable import BillingMoney
@testable import BillingService

/// Premium as it begins and ends, its bonus, and what the store is asked (BI-2, RC-1).
struct PremiumTests {
    private let ann = UserID(high: 1, low: 1)
    private let ben = UserID(high: 1, low: 2)
    private let start = World.start

    private func buy(
        _ world: World,
        _ id: String,
        type: String = "INITIAL_PURCHASE",
        from: Instant,
        until: Instant,
        trial: Bool = false
    )
        async throws
    {
        var fields = period(from: from, until: until)
        if trial { fields["period_type"] = "TRIAL" }
        try await world.receive(webhook(type, id, ann.description, at: from, fields))
        try await world.settle()
    }

    @Test func `the end is emitted when it comes, once, also after a day without a job`() async throws {
        try await withWorld { world in
            world.others.add([ann])
            try await buy(world, "e1", from: start, until: start + .days(7))
            #expect(try await world.emittedPlans(of: ann) == [.premium])
            try await world.expire()
            #expect(try await world.emittedPlans(of: ann) == [.premium], "it is not over")
            world.clock.set(start + .days(8))
            try await world.expire()
            try await world.expire()
            #expect(try await world.emittedPlans(of: ann) == [.premium, .free])
            let plan = try await world.entitlements(of: ann)
            #expect(plan.plan == .free && plan.status == .expired && plan.streakLimit == 3)
            #expect(plan.manageURL == "https://apps.apple.com/account/subscriptions")
        }
    }

    @Test func `one bonus each month: over renewals, changes of plan and months without a job, none in a trial`() async throws {
        try await withWorld { world in
            world.others.add([ann])
            // World.start is the first day of a month.
            try await buy(world, "e1", from: start, until: start + .days(3), trial: true)
            #expect(try await world.entries(of: ann) == [])
            world.clock.set(start + .days(3))
            try await buy(world, "e2", type: "RENEWAL", from: start + .days(3), until: start + .days(33))
            try await buy(world, "e3", type: "RENEWAL", from: start + .days(4), until: start + .days(34))
            #expect(try await world.entries(of: ann) == [.bonus])
            world.clock.set(start + .days(32))
            try await world.expire()
            try await world.expire()
            #expect(try await world.entries(of: ann) == [.bonus, .bonus])
            try await buy(world, "e4", type: "RENEWAL", from: start + .days(32), until: start + .days(132))
            world.clock.set(start + .days(200))
            try await world.expire()
            #expect(try await world.entries(of: ann).count == 5, "January to May, of which the last began before the end")
            try await world.expire()
            #expect(try await world.entries(of: ann).count == 5)
            #expect(try await world.ledger.sums().values.allSatisfy { $0 == 0 })
        }
    }

    private func subscriber(until: Instant, cancelled: Bool = false, at: Instant) -> String {
        """
        {"request_date_ms": \(at.milliseconds), "subscriptions": {"premium_monthly": {"expires_date": "\(until)",
            "purchase_date": "\(start)", "period_type": "normal", "store": "app_store", "is_sandbox": false,
            "unsubscribe_detected_at": \(cancelled ? "\"\(start)\"" : "null"), "billing_issues_detected_at": null,
            "store_transaction_id": "t9"}},
         "non_subscriptions": {"recovery_token_pack_3": [{"id": "x", "store_transaction_id": "p1", "store": "app_store",
            "purchase_date": "\(start)", "is_sandbox": false}]}}
        """
    }

    private func restore(_ world: World, _ user: UserID) async throws -> Entitlements {
        try await Restore(questions: world.questions, mutations: world.mutations).handle(RestoreRequest(), World.context(user))
            .reply
    }

    @Test func `restore applies what the store says, and agrees with the webhook`() async throws {
        let store = try await RevenueCatServer.start()
        try await withWorld(store: store) { world in
            world.others.add([ann])
            try await buy(world, "e1", from: start, until: start + .days(30))
            try store.set(ann.description, subscriber(until: start + .days(60), at: start + .days(1)))
            let plan = try await restore(world, ann)
            #expect(plan.isPremium && plan.expiresAt == start + .days(60) && plan.willRenew)
            // Asked again it says nothing new.
            let before = try await world.count("SELECT count(*) FROM store_event")
            #expect(try await restore(world, ann) == plan)
            #expect(try await world.count("SELECT count(*) FROM store_event") == before)
            #expect(try await world.count("SELECT count(*) FROM subscription") == 1, "it is the webhook's subscription")
            // A pack whose webhook was lost is granted, once.
            #expect(try await world.entries(of: ann).count { $0 == .purchased } == 1)
            #expect(try await world.ledger.balance(of: ann, .recoveryTokens) == 4, "3 and the bonus")
            // An older event that comes late does not move it back.
            let late = webhook(
                "RENEWAL",
                "e2",
                ann.description,
                at: start + .hours(2),
                period(from: start, until: start + .days(31))
            )
            try await world.receive(late)
            try await world.settle()
            #expect(try await world.entitlements(of: ann).expiresAt == start + .days(60))
        }
    }

    @Test(arguments: [RevenueCatServer.Mode.fail, .garbage, .cut]) func `a store that does not answer changes nothing`(
        mode: RevenueCatServer.Mode
    ) async throws {
        let store = try await RevenueCatServer.start()
        try store.set(mode)
        try await withWorld(store: store) { world in
            world.others.add([ann])
            let error = await #expect(throws: ServiceError.self) { try await restore(world, ann) }
            #expect(error?.code == .unavailable)
            let plan = try await world.entitlements(of: ann)
            #expect(!plan.isPremium)
        }
    }

    @Test func `a renewal that never arrives is asked for before the end`() async throws {
        let store = try await RevenueCatServer.start()
        try await withWorld(store: store) { world in
            world.others.add([ann])
            try await buy(world, "e1", from: start, until: start + .days(30))
            #expect(try await world.questions.askDue(now: world.clock.now()) == 0, "not yet")
            try store.set(ann.description, subscriber(until: start + .days(60), at: start + .days(29)))
            world.clock.set(start + .days(30) - .minutes(29))
            #expect(try await world.questions.askDue(now: world.clock.now()) == 1)
            world.clock.set(start + .days(31))
            try await world.expire()
            #expect(try await world.entitlements(of: ann).isPremium)
            #expect(try await world.emittedPlans(of: ann) == [.premium, .premium], "with another end, and never free")
            // Once it is cancelled, no more is asked.
            try store.set(ann.description, subscriber(until: start + .days(60), cancelled: true, at: start + .days(59)))
            world.clock.set(start + .days(60) - .minutes(20))
            _ = try await world.questions.askDue(now: world.clock.now())
            world.clock.set(start + .days(70))
            try await world.expire()
            #expect(try await world.questions.askDue(now: world.clock.now()) == 0)
            #expect(try await !world.entitlements(of: ann).isPremium)
        }
    }

    @Test func `the store is asked only about users of ours`() async throws {
        let store = try await RevenueCatServer.start()
        try await withWorld(store: store) { world in
            world.others.add([ann])
            let stranger = UserID(high: 9, low: 9)
            let fields: [String: Any] = [
                "transferred_from": [stranger.description, "$RCAnonymousID:1"], "transferred_to": [ann.description],
            ]
            try await world.receive(webhook("TRANSFER", "e1", "", at: start, fields))
            try await world.receive(
                webhook("INITIAL_PURCHASE", "e2", stranger.description, at: start, period(from: start, until: start + .days(9)))
            )
            try await world.settle()
            while try await world.questions.askDue(now: world.clock.now()) > 0 {}
            #expect(store.customers == [ann.description])
        }
    }
}
