import Foundation
import TestSupport
import Testing

/// A crash of `billing` or `streaks` between any two steps of a purchase: coins and goods change together or not at all (BI-5, D6).
/// How goods are consumed is `PowerUpCrashTests`.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct PurchaseCrashTests {
    /// Where the purchase is held up, and who is killed there.
    enum Stage: String, CaseIterable {
        /// Billing is recording the purchase with its payment.
        case paying
        /// Streaks is granting the goods, billing waits for its answer.
        case granting
        case asking
        /// The goods are granted, but the step's row does not say so.
        case finishing

        var victim: String { self == .granting ? "streaks" : "billing" }
        /// The table whose change is held up.
        var table: String {
            switch self {
            case .paying: "billing.purchase"
            case .granting, .asking: "streaks.goods_grant"
            case .finishing: "billing.goods_operation"
            }
        }
        var event: String { self == .finishing ? "UPDATE OF is_done" : "INSERT" }
    }

    /// On processes of its own: others would meet the killed ones, and move the clock.
    @Test func `a purchase whose process is killed costs once and gives once`() async throws {
        let home = try await Installation(["--separate"])
        var admin = try await Person.administrator(at: home)
        for stage in Stage.allCases {
            try await admin.signIn()
            try await crash(stage, admin, at: home)
        }
        await home.guardian.end()
    }

    private func crash(_ stage: Stage, _ admin: Person, at home: Installation) async throws {
        let ann = try await RestartTests().register("ann", at: home)
        for round in 0..<TestDepth.pick(quick: 2, full: 25) {
            let grant = "{\"currency\":\"coins\",\"amount\":200,\"reason\":\"a test\"}"
            let granted = try await RestartTests().insist("the grant") {
                try await admin.post("/api/admin/users/\(ann.id)/wallet/grants", grant, key: "grant-\(stage)-\(round)-\(ann.id)")
            }
            #expect(granted.data["balance"]["balance"].int == 200)
            // The limit of insurances is for another test.
            _ = try await home.sql("UPDATE billing.catalog_item SET limit_count = 1000 WHERE item = 'insurance'")
            let hold = try await RecoverTests.Hold(stage.table, stage.event, at: home)
            let key = "buy-\(stage)-\(round)-\(ann.id)"
            // Not awaited: there may be no answer.
            Task { try? await ann.post("/api/store/purchase", "{\"item\":\"insurance\"}", key: key) }
            try await hold.heldUp()
            try await RestartTests().killed(stage.victim, of: home)
            try await hold.end(isDead: stage.victim == hold.schema)
            let reply = try await RestartTests().insist("the repeat") {
                try await ann.post("/api/store/purchase", "{\"item\":\"insurance\"}", key: key)
            }
            #expect(reply.data["coins"].int == 200, "\(reply.text)")
            try await eventually("every step is done") {
                try await home.sql("SELECT count(*) FROM billing.goods_operation WHERE NOT is_done") == "0"
            }
            let stock = "SELECT count FROM streaks.goods_stock WHERE user_id = '\(ann.id)' AND good = 'insurance'"
            #expect(try await home.sql(stock) == "\(round + 1)")
            #expect(
                try await home.sql(
                    "SELECT balance FROM billing.account WHERE user_id = '\(ann.id)' AND currency = 1 AND kind = 0"
                ) == "0"
            )
            #expect(
                try await home.sql(
                    "SELECT count(*) FROM (SELECT 1 FROM billing.account GROUP BY currency HAVING sum(balance) <> 0) AS w"
                ) == "0"
            )
        }
        let purchases = "SELECT count(*) FROM billing.purchase WHERE user_id = '\(ann.id)' AND state = 2"
        #expect(try await home.sql(purchases) == "\(TestDepth.pick(quick: 2, full: 25))")
    }
}
