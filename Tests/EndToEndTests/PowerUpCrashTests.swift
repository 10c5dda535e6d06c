import Foundation
import TestSupport
import Testing

/// `streaks` is killed at each step in which a power-up is consumed, by its user, by the settling of a date, or because it comes back: it
/// helps once, and no good and no coin is lost (TS-3, D6). How goods are bought and granted is `PurchaseCrashTests`.
@Suite(.timeLimit(.minutes(5))) struct PowerUpCrashTests {
    /// On processes of its own: others would meet the killed ones.
    @Test func `a power-up whose process is killed helps once, and comes back once`() async throws {
        var life = try await Life()
        try await life.live(7)
        try await life.use()
        try await life.protect()
        try await life.comeBack()
        try await life.repair()
        await life.home.guardian.end()
    }
}

/// A check-in streak and two typed ones of one user, on the development clock.
private struct Life {
    static let bought = ["insurance": 2, "shield": 1, "restore": 1, "time_machine": 1, "double_day": 2, "xp_booster": 1]

    let home: Installation
    private var admin: Person
    private var ann: Person
    private let restarts = RestartTests()

    init() async throws {
        home = try await Installation(["--separate", "--dev-clock"])
        // A Monday, early in a month: its free dates are there.
        try await home.travel(to: "2030-03-04T10:00:00Z")
        admin = try await Person.administrator(at: home)
        ann = try await Person.register("ann", at: home, zone: "UTC")
        for (good, count) in Self.bought {
            _ = try await home.sql(
                "INSERT INTO streaks.goods_stock (user_id, good, count) VALUES ('\(ann.id)', '\(good)', \(count))"
            )
        }
    }

    /// All three streaks count so many dates, from the 4th on. The shield in hand is armed by the first check-in.
    mutating func live(_ dates: Int) async throws {
        let me = self
        for number in 0..<dates {
            let time = try await home.productTime().description
            if number == 0 {
                try await killed("streaks.streak_protection", "INSERT") { try await me.sendCheckIn(at: time, key: "first") }
                try await expect("shield", .active, on: "")
            } else {
                try await checkIn(at: time)
            }
            for type in ["recipe_creation", "healthy_eating"] { try await act(type) }
            try await go(days: 1)
        }
        // Three freezes keep the check-ins of the 11th to the 13th; the typed streaks have a free date in the month.
        #expect(try await status()["freezes_available"].int == 3)
    }

    /// On the 11th: what is used leaves the stock with its effect.
    mutating func use() async throws {
        try await use("insurance", "{\"type\":\"recipe_creation\"}", killedAt: "streaks.streak_protection", left: 1)
        let again = try await ann.post("/api/streaks/power-ups/shield/use", "{\"type\":\"check_in\"}")
        #expect(again.status == 400 && again.text.contains("POWER_UP_ALREADY_ACTIVE"), "\(again.text)")
        try await use("xp_booster", "{}", killedAt: "streaks.booster", left: 0)
        try await use("double_day", "{\"date\":\"2030-03-12\"}", killedAt: "streaks.double_day", left: 1)
        #expect(try await home.sql("SELECT count(*) FROM streaks.streak_protection") == "2")
        #expect(try await home.sql("SELECT count(*) FROM streaks.booster") == "1")
        #expect(try await home.sql("SELECT count(*) FROM streaks.double_day") == "1")
    }

    /// The settling of a date spends an insurance and a shield; a restore and a time machine bring runs back.
    mutating func protect() async throws {
        try await go(days: 1)
        // The 12th of both typed streaks ends: the insurance keeps one of them, the other breaks.
        try await killedWhileGoing("streaks.power_up", "UPDATE", when: "NEW.good = 'insurance' AND NEW.state = 2")
        try await expect("insurance", .used, on: "2030-03-12")
        #expect(try await counts() == ["recipe_creation": 7, "healthy_eating": 0])
        #expect(try await events("ProtectionUsed") == 1)
        try await use("restore", "{\"type\":\"healthy_eating\"}", killedAt: "streaks.streak_cover", left: 0)
        #expect(try await counts() == ["recipe_creation": 7, "healthy_eating": 7])
        try await act("recipe_creation")
        // At noon the double day of the 12th comes back: it has helped nothing.
        try await killedWhileGoing("streaks.power_up", "UPDATE", when: "NEW.good = 'double_day' AND NEW.state = 3", hours: 3)
        #expect(try await stock("double_day") == 2)
        #expect(try await home.sql("SELECT count(*) FROM streaks.double_day") == "0")
        // Nothing is done on the 14th; at its end the shield keeps the check-ins.
        try await go(days: 1)
        try await killedWhileGoing("streaks.power_up", "UPDATE", when: "NEW.good = 'shield' AND NEW.state = 2", hours: 14)
        try await expect("shield", .used, on: "2030-03-14")
        #expect(try await status()["current_streak"].int == 10)
        #expect(try await events("ProtectionUsed") == 2)
    }

    /// At three in the morning of the 15th.
    mutating func comeBack() async throws {
        // A check-in of the 14th arrives late: the shield is held again.
        let late = "2030-03-14T22:00:00Z"
        let me = self
        try await killed("streaks.power_up", "UPDATE", when: "NEW.good = 'shield' AND NEW.state = 1") {
            try await me.sendCheckIn(at: late, key: "late")
        }
        try await expect("shield", .active, on: "")
        #expect(try await status()["current_streak"].int == 11)
        #expect(try await events("ProtectionReturned") == 1)

        try await use("double_day", "{}", killedAt: "streaks.double_day", left: 1)
        let coins = try await coins()
        let doubled = try await killed("streaks.double_day", "UPDATE OF has_helped") {
            try await me.ann.post("/api/streaks/typed/recipe_creation/activity", "{}", key: "doubled")
        }
        #expect(doubled.data["coins_earned"].int == 20, "\(doubled.text)")
        try await eventually("the coins are there, once") { try await me.coins() == coins + 20 }
        let machine = "{\"type\":\"recipe_creation\",\"date\":\"2030-03-14\"}"
        try await use("time_machine", machine, killedAt: "streaks.streak_cover", left: 0)
        // Seven, the 13th, the 14th and today.
        #expect(try await counts()["recipe_creation"] == 10)
        // Nothing that was earned before is earned again.
        try await go(hours: 1)
        #expect(try await self.coins() == coins + 20)
    }

    /// The 15th is the shield's, the 16th is covered by nothing: coins repair the streak.
    mutating func repair() async throws {
        try await go(days: 1)
        try await go(days: 1)
        #expect(try await status()["current_streak"].int == 0)
        try await admin.signIn()
        let (me, grant) = (self, "{\"currency\":\"coins\",\"amount\":500,\"reason\":\"a test\"}")
        _ = try await restarts.insist("the grant") {
            try await me.admin.post("/api/admin/users/\(me.ann.id)/wallet/grants", grant, key: "grant")
        }
        let coins = try await coins()
        let body = "{\"payment_method\":\"coins\",\"streak_value\":11}"
        let repaired = try await killed("streaks.streak_cover", "INSERT") {
            try await me.ann.post("/api/mobile/streaks/repair", body, key: "repair")
        }
        #expect(repaired.data["restored_streak"].int == 11, "\(repaired.text)")
        #expect(try await self.coins() == coins - 500)
        #expect(try await [stock("restore"), stock("repair")] == [0, 0], "what was bought was used")
        #expect(try await status()["current_streak"].int == 11)
        let books = "SELECT count(*) FROM (SELECT 1 FROM billing.account GROUP BY currency HAVING sum(balance) <> 0) AS wrong"
        #expect(try await home.sql(books) == "0")
        // What was bought is in the stock, or was used and is not back.
        for (good, count) in Self.bought {
            let used = "SELECT count(*) FROM streaks.power_up WHERE user_id = '\(ann.id)' AND good = '\(good)' AND state <> 3"
            let (left, gone) = (try await stock(good), Int(try await home.sql(used)) ?? -1)
            #expect(left + gone == count, "\(good)")
        }
    }

    // What is held up, and killed there

    /// Uses a good; streaks is killed before its effect is stored, and the request repeated.
    private func use(_ good: String, _ body: String, killedAt table: String, left: Int) async throws {
        let (me, key) = (self, "use-\(UUID())")
        let reply = try await killed(table, "INSERT") {
            try await me.ann.post("/api/streaks/power-ups/\(good)/use", body, key: key)
        }
        #expect(reply.data["left"].int == left, "\(reply.text)")
        #expect(try await stock(good) == left)
    }

    @discardableResult
    private func killed(
        _ table: String,
        _ event: String,
        when condition: String = "true",
        _ send: @escaping @Sendable () async throws -> HTTPReply
    ) async throws -> HTTPReply {
        let hold = try await RecoverTests.Hold(table, event, when: condition, at: home)
        // Not awaited: there may be no answer.
        Task { try? await send() }
        try await hold.heldUp()
        try await restarts.killed("streaks", of: home)
        try await hold.end(isDead: true)
        return try await restarts.insist("the repeat", send)
    }

    /// Moves the clock; streaks is killed while it settles what became due.
    private mutating func killedWhileGoing(_ table: String, _ event: String, when condition: String, hours: Int = 24) async throws
    {
        let hold = try await RecoverTests.Hold(table, event, when: condition, at: home)
        let home = home
        // Not awaited: it waits for an answer of the process that is killed.
        Task { try? await home.travel(days: 0, seconds: hours * 3_600) }
        try await hold.heldUp()
        try await restarts.killed("streaks", of: home)
        try await hold.end(isDead: true)
        try await ann.signIn()
        let ann = ann
        _ = try await restarts.insist("the status") { try await ann.get("/api/mobile/streaks/status") }
        try await eventually("everything due is done", within: .seconds(60)) {
            (try? await home.call("POST", "/api/dev/clock", json: "{\"advance_seconds\":1}"))?.status == 200
        }
    }

    private mutating func go(days: Int = 0, hours: Int = 0) async throws {
        try await home.travel(days: days, seconds: hours * 3_600)
        try await ann.signIn()
    }

    // What the user does

    private func sendCheckIn(at time: String, key: String? = nil) async throws -> HTTPReply {
        let body = "{\"mood_score\":8,\"energy_level\":7,\"check_in_time\":\"\(time)\"}"
        return try await ann.post("/api/mobile/streaks/check-in", body, key: key)
    }

    private func checkIn(at time: String) async throws {
        let reply = try await sendCheckIn(at: time)
        try #require(reply.status == 200, "\(reply.text)")
    }

    private func act(_ type: String) async throws {
        let reply = try await ann.post("/api/streaks/typed/\(type)/activity", "{}")
        try #require(reply.status < 300, "\(reply.text)")
    }

    // What there is

    private enum State: Int { case active = 1, used = 2 }

    private func expect(_ good: String, _ state: State, on date: String) async throws {
        let found = "SELECT state || ' ' || coalesce(helped_on::text, '') FROM streaks.power_up WHERE good = '\(good)'"
        #expect(try await home.sql(found) == "\(state.rawValue) \(date)", "\(good)")
    }

    private func stock(_ good: String) async throws -> Int {
        let held = "SELECT coalesce(sum(count), 0) FROM streaks.goods_stock WHERE user_id = '\(ann.id)' AND good = '\(good)'"
        return Int(try await home.sql(held)) ?? -1
    }

    private func coins() async throws -> Int {
        let balance = "SELECT balance FROM billing.account WHERE user_id = '\(ann.id)' AND currency = 1 AND kind = 0"
        return Int(try await home.sql(balance)) ?? -1
    }

    private func events(_ name: String) async throws -> Int {
        Int(try await home.sql("SELECT count(*) FROM streaks.outbox WHERE subject LIKE '%.\(name)'")) ?? -1
    }

    private func status() async throws -> JSON { try await ann.get("/api/mobile/streaks/status").data }

    private func counts() async throws -> [String: Int] {
        let listed = try await ann.get("/api/streaks/typed").data["streaks"].list.filter { !$0["id"].isNull }
        return Dictionary(uniqueKeysWithValues: listed.map { ($0["type"].string ?? "", $0["current_streak"].int ?? -1) })
    }
}
