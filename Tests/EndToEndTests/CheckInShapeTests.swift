import Foundation
import TestSupport
import Testing

/// The nine routes of check-ins answer to the letter as their published interface shows, in success and in every error it names.
@Suite(.timeLimit(.minutes(5))) struct CheckInShapeTests {
    /// What our replies have besides: identification of the request, how long it took, and what screens need.
    private static let everywhere: Set<String> = [
        "meta", "meta.request_id", "meta.request_time", "error.details", "error.reason",
    ]
    private static let entry: Set<String> = [
        "notes", "yesterday_feeling", "is_streak_check_in", "check_in_timestamp", "activities", "updated_at", "created_at",
    ]

    private func check(
        _ reply: HTTPReply,
        _ name: String,
        _ status: Int = 200,
        additions: Set<String> = [],
        nullable: Set<String> = []
    ) throws {
        #expect(reply.status == status, "\(name): \(reply.text)")
        let published = try PublishedShape.fixture(name, "reply")
        let shape = PublishedShape(published, additions: Self.everywhere.union(additions), nullable: nullable)
        #expect(shape.differences(reply.json).sorted() == [], "\(name): \(reply.text)")
        #expect(reply.json["meta"]["request_time"].number != nil)
    }

    private func checkError(_ reply: HTTPReply, _ name: String, _ code: String, _ status: Int = 400) throws {
        #expect(reply.status == status && reply.code == code, "\(name): \(reply.text)")
        let published = try PublishedShape.fixture(name, "error").filter { $0["error"]["code"].string == code }
        #expect(published.count == 1, "\(code) is published")
        let shape = PublishedShape(published, additions: Self.everywhere)
        #expect(shape.differences(reply.json).sorted() == [], "\(name): \(reply.text)")
    }

    /// A person, the clock, and what is sent.
    private struct Life {
        let home: Installation
        var person: Person

        init() async throws {
            home = try await Installation(["--dev-clock"])
            try await home.travel(to: "2030-01-07T11:00:00Z")
            person = try await Person.register("fit", at: home, zone: "UTC")
        }

        mutating func nextDay(_ days: Int = 1) async throws {
            try await home.travel(days: days)
            try await person.signIn()
        }

        func now() async throws -> String {
            try #require(try await home.call("GET", "/api/dev/clock").data["now"].string)
        }

        func send(_ route: String, _ json: String) async throws -> HTTPReply {
            try await person.post("/api/mobile/streaks/\(route)", json)
        }

        func checkIn(_ more: String = "") async throws -> HTTPReply {
            let time = try await now()
            return try await send("check-in", "{\"mood_score\":8,\"energy_level\":7,\"check_in_time\":\"\(time)\"\(more)}")
        }

        func status() async throws -> JSON { try await person.get("/api/mobile/streaks/status").data }

        func give(xp: Int) async throws {
            _ = try await home.sql(
                """
                INSERT INTO streaks.xp_account AS x (user_id, balance, lifetime) VALUES ('\(person.id)', \(xp), \(xp))
                ON CONFLICT (user_id) DO UPDATE SET balance = x.balance + \(xp)
                """
            )
        }
    }

    @Test func `every reply and error is as published`() async throws {
        var life = try await Life()
        let entry = Set(Self.entry.map { "data.tracking_entry.\($0)" })
        let clock: Set<String> = ["meta.captured_at_ignored", "meta.server_time"]
        let checkIn = entry.union(clock).union(["data.milestone.rewards.coins", "data.xp_earned", "message"])
        let nothingReached: Set<String> = ["data.milestone.milestone_type", "data.milestone.title", "data.milestone.message"]
        let screens: Set<String> = ["data.repair", "data.asks_yesterday_feeling", "data.today"]
        let fresh: Set<String> = ["data.last_check_in_date", "data.last_check_in_time"]

        try check(try await life.person.get("/api/mobile/streaks/status"), "status", additions: screens, nullable: fresh)
        let first = try await life.checkIn(",\"yesterday_feeling\":\"ok\",\"weight_kg\":71.5")
        try check(first, "check-in", additions: checkIn, nullable: nothingReached)
        #expect(first.data["streak"]["is_first_check_in_today"].bool == true)
        #expect(first.data["streak"]["current_streak"].int == 1)
        #expect(first.data["milestone"]["rewards"]["xp"].int == 0 && first.data["xp_earned"].int == 10)
        #expect(first.data["tracking_entry"]["yesterday_feeling"].string == "ok")
        let second = try await life.send(
            "check-in",
            "{\"mood_score\":6,\"energy_level\":4,\"check_in_time\":\"\(try await life.now())\"}"
        )
        try check(second, "check-in", additions: checkIn)
        #expect(second.data["milestone"].isNull && second.json["message"].string != nil)
        #expect(second.data["tracking_entry"]["weight_kg"].number == 71.5, "what is left out keeps its value")
        let bad = "{\"mood_score\":11,\"energy_level\":0,\"check_in_time\":\"\(try await life.now())\"}"
        let refused = try await life.send("check-in", bad)
        try checkError(refused, "check-in", "VALIDATION_ERROR")
        for field in ["mood_score", "energy_level"] {
            #expect(refused.json["error"]["details"][field].string == "Must be between 1 and 10", "\(refused.text)")
        }
        let stranger = try await life.home.call("GET", "/api/mobile/streaks/status", token: "nonsense")
        try checkError(stranger, "check-in", "UNAUTHORIZED", 401)
        #expect(stranger.json["error"]["reason"].string == "INVALID_TOKEN", "\(stranger.text)")
        #expect(stranger.header("WWW-Authenticate")?.contains("error=\"invalid_token\"") == true)

        try await life.nextDay()
        let today = String(try await life.now().prefix(10))
        try check(try await life.send("freeze/use", "{\"date\":\"\(today)\"}"), "freeze-use")
        try checkError(try await life.send("freeze/use", "{\"date\":\"\(today)\"}"), "freeze-use", "NO_FREEZES_AVAILABLE")
        try await life.give(xp: 1_000)
        let bought = try await life.send("freeze/purchase", "{\"quantity\":1,\"payment_method\":\"xp\"}")
        try check(bought, "freeze-purchase")
        #expect(bought.data["payment"]["amount"].number == 100 && bought.data["payment"]["currency"].string == "XP")
        let many = try await life.send("freeze/purchase", "{\"quantity\":5,\"payment_method\":\"xp\"}")
        try checkError(many, "freeze-purchase", "MAX_FREEZES_REACHED")

        try await pausing(life)
        try check(try await life.person.get("/api/mobile/streaks/status"), "status", additions: screens)
        try await repairing(&life)
    }

    @Test func `the page of the API says which routes have details as an object, and all have a reason`() async throws {
        let page = try await Installation.shared.value.call("GET", "/openapi.json").json
        func resolved(_ schema: JSON) -> JSON {
            page["components"]["schemas"][schema["$ref"].string?.split(separator: "/").last.map(String.init) ?? ""]
        }
        func failure(_ verb: String, _ path: String) -> JSON {
            let reply = page["paths"][path][verb]["responses"]["default"]["content"]["application/json"]["schema"]
            return resolved(resolved(reply)["properties"]["error"])
        }
        let published = failure("post", "/api/mobile/streaks/check-in")
        #expect(published["properties"]["details"]["type"].string == "object")
        #expect(published["properties"]["details"]["description"].string?.contains("published") == true)
        let other = failure("get", "/api/users/me")
        #expect(other["properties"]["details"]["type"].string == "array")
        for error in [published, other] { #expect(error["required"].list.compactMap(\.string).contains("reason")) }
        let text = try #require(page["info"]["description"].string)
        #expect(text.contains("`POST /api/mobile/streaks/check-in`") && text.contains("TOKEN_EXPIRED"), "\(text)")
        let headers = page["paths"]["/api/users/me"]["get"]["responses"]["default"]["headers"]
        #expect(!headers["WWW-Authenticate"].isNull && !headers["Retry-After"].isNull)
    }

    private func pausing(_ life: Life) async throws {
        func pause(_ date: String) async throws -> HTTPReply {
            try await life.send("pause", "{\"resume_date\":\"\(date)\",\"reason\":\"vacation\"}")
        }
        try checkError(try await pause("2030-06-30"), "pause", "PAUSE_TOO_LONG")
        try check(try await pause("2030-01-15"), "pause")
        #expect(try await pause("2030-01-16").code == "ALREADY_PAUSED")
        try check(try await life.send("resume", "{}"), "resume")
        #expect(try await life.send("resume", "{}").code == "NOT_PAUSED")
    }

    /// Seven dates, a break that is repaired, and another too soon.
    private func repairing(_ life: inout Life) async throws {
        let home = life.home
        var short = try await Person.register("short", at: home, zone: "UTC")
        let time = try await life.now()
        let once = "{\"mood_score\":5,\"energy_level\":5,\"check_in_time\":\"\(time)\"}"
        #expect(try await short.post("/api/mobile/streaks/check-in", once).status == 200)
        for day in 2...8 {
            let reply = try await life.checkIn()
            #expect(reply.status == 200 && reply.data["streak"]["is_first_check_in_today"].bool == true, "\(day): \(reply.text)")
            try await life.nextDay()
            guard day == 4 else { continue }
            // The first date was missed with a freeze, the second broke the streak last night.
            try await short.signIn()
            let repair = "{\"payment_method\":\"xp\",\"streak_value\":2}"
            try checkError(try await short.post("/api/mobile/streaks/repair", repair), "repair", "STREAK_TOO_SHORT")
        }
        let milestones = try await life.person.get("/api/mobile/streaks/milestones")
        let more: Set<String> = ["data.milestones.rewards.coins", "data.streak_id"]
        try check(milestones, "milestones", additions: more)
        #expect(milestones.data["achieved_milestones"].int == 2 && milestones.data["total_milestones"].int == 9)

        // As many missed dates as there are freezes, and one.
        let freezes = try #require(try await life.status()["freezes_available"].int)
        try await life.nextDay(freezes + 1)
        let broken = try await life.status()["repair"]
        let value = try #require(broken["broken_streak_value"].int, "\(broken)")
        #expect(broken["eligible"].bool == true && !broken["missed_dates"].list.isEmpty)
        #expect(try await life.send("repair", "{\"payment_method\":\"xp\",\"streak_value\":3}").code == "STREAK_VALUE_MISMATCH")
        let repair = "{\"payment_method\":\"xp\",\"streak_value\":\(value)}"
        try await life.give(xp: 1_000)
        try check(try await life.send("repair", repair), "repair")
        #expect(try await life.status()["current_streak"].int == value)
        let history = try await life.person.get("/api/mobile/streaks/history?days=30")
        let details: Set<String> = ["status", "check_in_time", "mood_score", "energy_level"]
        try check(history, "history", additions: Set(details.map { "data.history.\($0)" }))

        try await life.nextDay(3)
        let again = try #require(try await life.status()["repair"]["broken_streak_value"].int)
        let expired = try await life.send("repair", "{\"payment_method\":\"xp\",\"streak_value\":\(again)}")
        try checkError(expired, "repair", "REPAIR_WINDOW_EXPIRED")
        try await cooldown(&life)
    }

    /// Another break within 30 days of the repair.
    private func cooldown(_ life: inout Life) async throws {
        #expect(try await life.checkIn().status == 200)
        let freezes = try #require(try await life.status()["freezes_available"].int)
        try await life.nextDay(freezes + 2)
        let value = try #require(try await life.status()["repair"]["broken_streak_value"].int)
        let early = try await life.send("repair", "{\"payment_method\":\"xp\",\"streak_value\":\(value)}")
        try checkError(early, "repair", "REPAIR_COOLDOWN_ACTIVE")
    }
}
