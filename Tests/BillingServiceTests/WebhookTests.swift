import BillingAPI
import Cryptography
import Foundation
import Kernel
import Runtime
import TestSupport
import Testing

@testable import BillingMoney
@testable import BillingService

/// What RevenueCat sends, and what only says so (BI-1).
struct WebhookTests {
    private let ann = UserID(high: 1, low: 1)
    private let ben = UserID(high: 1, low: 2)
    private let start = World.start

    private func bought(_ id: String = "e1", by user: String? = nil, of transaction: String = "t1") -> String {
        let fields = period(from: start, until: start + .days(30), of: transaction)
        return webhook("INITIAL_PURCHASE", id, user ?? ann.description, at: start, fields)
    }

    private func refusal(_ body: () async throws -> Void) async -> String? {
        do { try await body() } catch let error as ServiceError { return error.reason } catch { return "\(error)" }
        return nil
    }

    @Test func `only a request with one of the two secrets is stored`() async throws {
        try await withWorld { world in
            let (old, new) = (World.oldSecret, World.newSecret)
            for forged in [
                "", "Bearer", "Bearer new", "Bearer \(new) ", "Bearer \(new),\(old)", "Basic \(new)", new.uppercased(),
            ] {
                let reason = await refusal { try await world.receive(bought(), authorization: forged) }
                #expect(reason == "WEBHOOK_REFUSED", "\(forged)")
                // Nothing is parsed before.
                #expect(await refusal { try await world.receive("{", authorization: forged) } == "WEBHOOK_REFUSED")
            }
            let stored = try await world.count("SELECT count(*) FROM store_event")
            #expect(stored == 0)
            #expect(try await world.receive(bought("e1"), authorization: old))
            #expect(try await world.receive(bought("e2"), authorization: "Bearer \(new)"))
            #expect(await refusal { try await world.receive("[]") } == "VALIDATION_ERROR")
            #expect(await refusal { try await world.receive("{\"event\":{\"type\":\"TEST\"}}") } == "VALIDATION_ERROR")
        }
    }

    @Test(arguments: ["", " ", ",", ", ,", "\t", "\(World.oldSecret), ", ",\(World.oldSecret)", "\(World.oldSecret),\t,"])
    func `without a secret everything is refused, and a blank entry is none`(setting: String) throws {
        let secrets = WebhookSecrets(secrets: try #require(SecretList(settingText: setting)), signingSecret: "")
        for forged in ["", " ", "Bearer", "Bearer ", "\t"] {
            #expect(throws: ServiceError.webhookRefused, "\(forged)") {
                try secrets.check(authorization: forged, signature: "", body: [], now: .epoch)
            }
        }
    }

    @Test(arguments: ["s", "short", "\(World.oldSecret),short", "fifteen-letters", "               s"])
    func `a secret that can be guessed is refused at start, by the setting's name`(setting: String) throws {
        let declared = MoneySettings.all
        let settings = Settings(values: [MoneySettings.webhookSecret.key: setting], declared: declared)
        let error = #expect(throws: Settings.Invalid.self) { try settings.checkAll() }
        #expect(error?.description.contains("--billing-webhook-secret") == true)
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("secret-\(UUID().uuidString)").path
        try setting.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let fromFile = Settings(values: [MoneySettings.webhookSecret.key + ".file": path], declared: declared)
        let fileError = #expect(throws: Settings.Invalid.self) { try fromFile.get(MoneySettings.webhookSecret) }
        #expect(fileError?.description.contains("at least 16") == true)
    }

    @Test func `a signature must be of this body, by this key, and of now`() async throws {
        let now = SystemClock.now()
        let body = Array("{}".utf8)
        func signature(_ at: Instant, key: String = "k", body: String = "{}") -> String {
            let message = Array("\(at.seconds).\(body)".utf8)
            let code = HMACSHA256(key: key.utf8).code(for: message)
            return "t=\(at.seconds),v1=" + code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        let secrets = WebhookSecrets(secrets: try #require(SecretList(settingText: World.oldSecret)), signingSecret: "k")
        func accepts(_ text: String) -> Bool {
            (try? secrets.check(authorization: World.oldSecret, signature: text, body: body, now: now)) != nil
        }
        #expect(accepts(signature(now)) && accepts(signature(now - .minutes(4))) && accepts(signature(now + .minutes(4))))
        #expect(accepts(signature(now) + ",v1=00"), "one of several")
        let refused = [
            "", "t=1", signature(now - .minutes(6)), signature(now + .minutes(6)), signature(now, key: "other"),
            signature(now, body: "{ }"), signature(now).replacing("v1=", with: "v0="),
            signature(now).replacing("t=", with: "t=1"), "t=\(now.seconds),v1=", "t=\(now.seconds),v1=zz",
        ]
        for text in refused { #expect(!accepts(text), "\(text)") }
    }

    @Test func `a replayed event changes nothing, and events in any order come to the same`() async throws {
        let renewed = webhook(
            "RENEWAL",
            "e2",
            ann.description,
            at: start + .days(29),
            period(from: start + .days(30), until: start + .days(60))
        )
        let ended = webhook(
            "EXPIRATION",
            "e3",
            ann.description,
            at: start + .days(60),
            period(from: start + .days(30), until: start + .days(60))
        )
        let bodies = [bought(), renewed, ended]
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            try await withWorld { world in
                world.others.add([ann])
                for index in order {
                    #expect(try await world.receive(bodies[index]))
                    #expect(try await !world.receive(bodies[index]), "it was known")
                    try await world.settle()
                }
                world.clock.set(start + .days(59))
                let plan = try await world.entitlements(of: ann)
                #expect(
                    plan.isPremium && plan.expiresAt == start + .days(60) && plan.status == .active && !plan.willRenew,
                    "\(order)"
                )
                world.clock.set(start + .days(60))
                #expect(try await world.entitlements(of: ann).status == .expired)
                #expect(try await world.count("SELECT count(*) FROM store_event WHERE state = 2") == 3)
                _ = try await StoreEventRepository.replay(nil, now: world.clock.now(), world.database)
                try await world.settle()
                #expect(try await world.entitlements(of: ann).expiresAt == start + .days(60))
                // What the operator's command calls.
                let replay = try #require(BillingModule.replay)
                #expect(try await replay(nil, world.database) == 3)
            }
        }
    }

    @Test func `kinds and fields that are not known are stored and change nothing`() async throws {
        try await withWorld { world in
            world.others.add([ann])
            let kinds = [
                "TEST", "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION", "EXPERIMENT_ENROLLMENT",
                "PRICE_INCREASE_CONSENT_REQUIRED",
                "PRICE_INCREASE_CONSENT_APPROVED", "PRODUCT_CHANGE", "SUBSCRIPTION_PAUSED", "OF_TOMORROW",
            ]
            for kind in kinds {
                let fields = period(from: start, until: start + .days(30))
                #expect(try await world.receive(webhook(kind, kind, ann.description, at: start, fields)))
            }
            #expect(
                try await world.receive("{\"event\":{\"id\":\"odd\",\"type\":7,\"app_user_id\":[],\"aliases\":\"a\\u0000\"}}")
            )
            try await world.settle()
            #expect(try await !world.entitlements(of: ann).isPremium)
            #expect(try await world.emittedPlans(of: ann) == [])
            #expect(try await world.ledger.entries(of: ann, limit: 10).isEmpty, "their virtual currency is not ours")
            #expect(try await world.count("SELECT count(*) FROM store_event") == kinds.count + 1)
            #expect(try await world.count("SELECT count(*) FROM store_event WHERE state = 1") == 0)
        }
    }

    @Test(arguments: [
        (#""environment":"PRODUCTION""#, true), (#""environment":"production""#, true), (#""environment":"SANDBOX""#, false),
        (#""environment":"sandbox""#, false), (#""environment":"Sandbox""#, false), (#""environment":"""#, false),
        (#""environment":null"#, false), (#""of_tomorrow":1"#, false),
    ]) func `only what says that it was paid for in production counts`(field: String, isPremium: Bool) async throws {
        try await withWorld { world in
            world.others.add([ann])
            let body = bought().replacing(#""environment":"PRODUCTION""#, with: field)
            #expect(body.contains(field))
            #expect(try await world.receive(body))
            try await world.settle()
            #expect(try await world.entitlements(of: ann).isPremium == isPremium)
        }
    }

    @Test func `purchases in the sandbox count for whom the operator says`() async throws {
        let body = bought().replacing("PRODUCTION", with: "SANDBOX")
        for (rule, isPremium) in [(SandboxRule.none, false), (.all, true), (.accounts([ann]), true), (.accounts([ben]), false)] {
            try await withWorld(sandbox: rule) { world in
                world.others.add([ann, ben])
                try await world.receive(body)
                try await world.settle()
                #expect(try await world.entitlements(of: ann).isPremium == isPremium, "\(rule)")
            }
        }
        #expect(SandboxRule(settingText: "yes") == nil)
        // Whose it is may come out later.
        try await withWorld(sandbox: .accounts([ann])) { world in
            world.others.add([ann])
            try await world.receive(body.replacing(ann.description, with: "$RCAnonymousID:9"))
            try await world.settle()
            let fields: [String: Any] = ["aliases": ["$RCAnonymousID:9"]]
            try await world.receive(webhook("SUBSCRIBER_ALIAS", "e9", ann.description, at: start, fields))
            try await world.settle()
            #expect(try await world.entitlements(of: ann).isPremium)
        }
    }

    @Test func `an anonymous purchase waits until an alias names its user`() async throws {
        try await withWorld { world in
            world.others.add([ann])
            try await world.receive(bought("e1", by: "$RCAnonymousID:7"))
            try await world.settle()
            #expect(try await world.count("SELECT count(*) FROM store_event WHERE state = 3") == 1)
            let fields: [String: Any] = ["aliases": ["$RCAnonymousID:7"]]
            try await world.receive(webhook("SUBSCRIBER_ALIAS", "e2", ann.description, at: start, fields))
            try await world.settle()
            #expect(try await world.entitlements(of: ann).isPremium)
            // From now on the name is known.
            try await world.receive(bought("e3", by: "$RCAnonymousID:7", of: "t2"))
            try await world.settle()
            #expect(try await world.count("SELECT count(*) FROM subscription WHERE user_id = \(ann)") == 2)
        }
    }

    @Test func `a transfer moves what there is, also when it arrives first`() async throws {
        let fields: [String: Any] = ["transferred_from": [ann.description], "transferred_to": ["x", ben.description]]
        let moved = webhook("TRANSFER", "e2", "", at: start + .days(1), fields)
        for bodies in [[bought(), moved], [moved, bought()]] {
            try await withWorld { world in
                world.others.add([ann, ben])
                for body in bodies {
                    try await world.receive(body)
                    try await world.settle()
                }
                #expect(try await !world.entitlements(of: ann).isPremium)
                #expect(try await world.entitlements(of: ben).isPremium)
                #expect(try await world.emittedPlans(of: ben) == [.premium])
                #expect(try await world.entries(of: ben).count <= 1, "one bonus for one subscription")
                #expect(try await world.count("SELECT count(*) FROM ledger_transaction") == 1)
            }
        }
    }

    @Test func `transfers move a subscription in the order in which they happened, whatever the order in which they come`()
        async throws
    {
        let eve = UserID(high: 1, low: 3)
        func moved(to user: String, days: Int64) -> String {
            let fields: [String: Any] = ["transferred_from": [ann.description], "transferred_to": [user]]
            return webhook("TRANSFER", "moved \(days)", "", at: start + .days(days), fields)
        }
        let first = moved(to: ben.description, days: 1)
        // The later one led elsewhere, to a user who is known or is not.
        for second in [moved(to: eve.description, days: 2), moved(to: "$RCAnonymousID:5", days: 2)] {
            for bodies in [[bought(), second, first], [second, bought(), first], [bought(), first, second]] {
                try await withWorld { world in
                    world.others.add([ann, ben, eve])
                    for body in bodies {
                        try await world.receive(body)
                        try await world.settle()
                    }
                    for user in [ann, ben, eve] {
                        let isPremium = try await world.entitlements(of: user).isPremium
                        #expect(isPremium == (user == ben))
                    }
                }
            }
        }
    }

    @Test func `while auth is away an event waits, and no other user's does`() async throws {
        try await withWorld { world in
            world.others.add([ann, ben])
            try await world.receive(bought("e0", by: ben.description, of: "t0"))
            try await world.settle()
            world.others.fail(200, seed: 3)
            try await world.receive(bought("e1"))
            try await world.receive(
                webhook(
                    "RENEWAL",
                    "e2",
                    ben.description,
                    at: start + .days(1),
                    period(from: start, until: start + .days(60), of: "t0")
                )
            )
            _ = try await world.events.applyDue(now: world.clock.now())
            #expect(try await world.entitlements(of: ben).expiresAt == start + .days(60))
            #expect(try await !world.entitlements(of: ann).isPremium)
            world.others.fail(0, seed: 3)
            world.clock.advance(by: .minutes(1))
            try await world.settle()
            #expect(try await world.entitlements(of: ann).isPremium)
        }
    }
}
