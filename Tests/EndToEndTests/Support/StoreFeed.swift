import Foundation
import Kernel
import TestSupport
import Testing

/// RevenueCat's part of an installation, and what billing makes of it.
struct StoreFeed: Sendable {
    let home: Installation
    /// What is tested, for messages.
    let about: String
    /// What proves that an event comes from RevenueCat.
    static let secret = "first-of-the-store"

    /// Sends an event until it is answered by 200: nothing else ends RevenueCat's tries.
    func receive(_ body: String) async throws {
        let (home, bytes) = (home, Array(body.utf8))
        let headers = [("Authorization", Self.secret), ("Content-Type", "application/json")]
        let reply = try await RestartTests().insist("the webhook") {
            try await home.http.send("POST", "/api/webhooks/revenuecat", headers: headers, body: bytes)
        }
        #expect(reply.status == 200, "\(reply.text)")
    }

    /// Waits until every step is done; waits of the machine's clock are ended.
    func isSettled() async throws {
        let home = home
        try await eventually("every step of \(about) is done") {
            _ = try await home.sql(
                """
                UPDATE billing.store_event SET due_at = received_at WHERE state = 1 AND due_at > received_at;
                UPDATE billing.goods_operation SET lease_until = now() WHERE NOT is_done AND lease_until > now();
                """
            )
            let waiting = "SELECT 1 FROM billing.store_event WHERE state IN (1, 3)"
            let undone = "SELECT 1 FROM billing.goods_operation WHERE NOT is_done"
            return try await home.sql("SELECT count(*) FROM (\(waiting) UNION ALL \(undone)) AS open") == "0"
        }
    }

    /// Kills a process while what it does, or waits for, is held up; it is started again.
    func crash(_ victim: String, heldUpBy hold: RecoverTests.Hold) async throws {
        let home = home
        try await hold.heldUp()
        let pid = try #require(home.process(of: victim), "\(victim) does not run")
        #expect(kill(pid, SIGKILL) == 0)
        try await hold.end(isDead: victim == hold.schema)
        try await eventually("\(victim) is started again") {
            guard let next = home.process(of: victim) else { return false }
            return next != pid
        }
    }

    /// What every account and posting sums up to.
    func booksAreEven() async throws -> Bool {
        let unequal = "SELECT 1 FROM billing.account GROUP BY currency HAVING sum(balance) <> 0"
        let unbalanced = "SELECT 1 FROM billing.posting GROUP BY transaction_id HAVING sum(amount) <> 0"
        return try await number("SELECT count(*) FROM (\(unequal) UNION ALL \(unbalanced)) AS wrong") == 0
    }

    /// What is with a user, and what was granted and not taken back: the same, when nothing was used.
    func stock(_ good: String, of user: Person) async throws -> [Int] {
        let mine = "WHERE user_id = '\(user.id)' AND good = '\(good)'"
        return [
            try await number("SELECT coalesce(sum(count), 0) FROM streaks.goods_stock \(mine)"),
            try await number("SELECT coalesce(sum(granted - taken), 0) FROM streaks.goods_grant \(mine)"),
        ]
    }

    /// - Parameter currency: 1 coins, 2 recovery tokens.
    func balance(_ currency: Int, of user: Person) async throws -> Int {
        let mine = "user_id = '\(user.id)' AND currency = \(currency) AND kind = 0"
        return try await number("SELECT coalesce(sum(balance), 0) FROM billing.account WHERE \(mine)")
    }

    /// Premium, as billing answers and as streaks comes to know it.
    func expectPremium(_ isPremium: Bool, of user: Person) async throws {
        let (home, about) = (home, about)
        let plan = try await RestartTests().insist("the plan") { try await user.get("/api/billing/entitlements") }
        #expect(plan.data["is_premium"].bool == isPremium, "\(about)")
        let replica =
            "SELECT coalesce(bool_or(is_premium), false) FROM streaks.entitlement_replica WHERE user_id = '\(user.id)'"
        try await eventually("streaks knows it: \(about)") { try await home.sql(replica) == (isPremium ? "t" : "f") }
    }

    func number(_ query: String) async throws -> Int { try #require(Int(try await home.sql(query))) }

    /// - Parameter person: who it names; nil: none.
    static func event(_ kind: String, _ name: String, _ person: Person?, at: Instant, _ fields: String) -> String {
        let user = person.map { "\"app_user_id\":\"\($0.id)\"," } ?? ""
        return """
            {"api_version":"1.0","event":{"id":"\(name)","type":"\(kind)",\(user)
            "event_timestamp_ms":\(at.milliseconds),"environment":"PRODUCTION","store":"APP_STORE",\(fields)}}
            """
    }
}
