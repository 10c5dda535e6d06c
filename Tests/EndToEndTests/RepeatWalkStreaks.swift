import Foundation
import Kernel
import TestSupport
import Testing

/// What the walk over every route sends to those of check-ins, typed streaks, circles and rewards.
extension ClockTests {
    func typed(_ walk: inout RepeatWalk) async throws {
        let max = try await Person.register("max", at: walk.home, zone: "UTC")
        let activity = try await walk.send(
            "POST /api/streaks/typed/{type}/activity",
            ["type": "recipe_creation"],
            by: max.token,
            json: "{}"
        )
        #expect(activity["coins_earned"].int == 10, "the first answer")
        _ = try await walk.home.sql(
            """
            INSERT INTO streaks.xp_account AS x (user_id, balance, lifetime) VALUES ('\(max.id)', 600, 600)
            ON CONFLICT (user_id) DO UPDATE SET balance = 600
            """
        )
        let bought = try await walk.send("POST /api/streaks/power-ups/xp_booster/purchase", by: max.token, json: "{}")
        #expect(bought["held"].int == 1 && bought["xp_left"].int == 300, "bought once")
        let used = try await walk.send(
            "POST /api/streaks/power-ups/{good}/use",
            ["good": "xp_booster"],
            by: max.token,
            json: "{}"
        )
        #expect(used["left"].int == 0)
        #expect(try await walk.home.sql("SELECT count(*) FROM streaks.booster WHERE user_id = '\(max.id)'") == "1")
    }

    func circles(_ walk: inout RepeatWalk) async throws {
        let (una, vin) = (try await Person.register("una", at: walk.home), try await Person.register("vin", at: walk.home))
        let made = try await walk.send("POST /api/circles", by: una.token, json: "{\"name\":\"Once\"}")
        #expect(try await una.get("/api/circles").data["circles"].list.count == 1, "created once")
        let (id, code) = (try #require(made["circle_id"].string), try #require(made["invite"]["code"].string))
        var ids = ["circle_id": id, "user_id": vin.id]
        try await walk.send("POST /api/circles/join", by: vin.token, json: "{\"code\":\"\(code)\"}")
        let circle = "/api/circles/{circle_id}"
        try await walk.send("PUT \(circle)", ids, by: una.token, json: "{\"name\":\"Twice\"}")
        try await walk.send("POST \(circle)/check-in", ids, by: una.token, json: "{}")
        let invite = try await walk.send("POST \(circle)/invites", ids, by: una.token, json: "{\"max_uses\":1}")
        ids["invite_id"] = invite["invite_id"].string
        try await walk.send("DELETE \(circle)/invites/{invite_id}", ids, by: una.token)
        try await walk.send("DELETE \(circle)/invites", ids, by: una.token)
        try await walk.send("PUT \(circle)/members/{user_id}", ids, by: una.token, json: "{\"role\":\"admin\"}")
        try await walk.send("DELETE \(circle)/members/{user_id}", ids, by: una.token)
        let (other, _) = try await una.circle("Other", with: [vin])
        let given = "{\"user_id\":\"\(vin.id)\"}"
        try await walk.send("POST \(circle)/transfer", ["circle_id": other], by: una.token, json: given)
        try await walk.send("POST \(circle)/leave", ["circle_id": other], by: una.token, json: "{}")
        try await walk.send("DELETE \(circle)", ids, by: una.token)
    }

    func checkIns(_ walk: inout RepeatWalk) async throws {
        let home = walk.home
        let kim = try await Person.register("kim", at: home, zone: "UTC")
        let streaks = "POST /api/mobile/streaks"
        let now = try #require(try await home.call("GET", "/api/dev/clock").data["now"].string)
        try await walk.send("PUT /api/mobile/tracking/goals", by: kim.token, json: "{\"steps\":8000}")
        try await walk.send("POST /api/mobile/tracking", by: kim.token, json: "{\"steps\":9000}")
        let checkIn = "{\"mood_score\":8,\"energy_level\":7,\"check_in_time\":\"\(now)\"}"
        try await walk.send("\(streaks)/check-in", by: kim.token, json: checkIn)
        #expect(try await home.sql("SELECT count(*) FROM streaks.tracking_update WHERE user_id = '\(kim.id)'") == "2")
        let rich = "INSERT INTO streaks.xp_account AS x (user_id, balance, lifetime) VALUES ('\(kim.id)', 1000, 1000)"
        _ = try await home.sql("\(rich) ON CONFLICT (user_id) DO UPDATE SET balance = 1000")
        let buy = "{\"quantity\":1,\"payment_method\":\"xp\"}"
        let bought = try await walk.send("\(streaks)/freeze/purchase", by: kim.token, json: buy)
        #expect(bought["freezes_available"].int == 2, "bought once")
        let lee = try await Person.register("lee", at: home, zone: "UTC")
        try await pauseAndRepair(&walk, lee, streaks)
    }

    /// By the clock: a date without a check-in is frozen by hand, one is paused and resumed, and a streak is broken and repaired.
    func pauseAndRepair(_ walk: inout RepeatWalk, _ person: Person, _ streaks: String) async throws {
        let home = walk.home
        var lee = person
        for day in 0..<7 {
            let now = try #require(try await home.call("GET", "/api/dev/clock").data["now"].string)
            let checkIn = "{\"mood_score\":8,\"energy_level\":7,\"check_in_time\":\"\(now)\"}"
            let reply = try await lee.post("/api/mobile/streaks/check-in", checkIn)
            try #require(reply.status == 200, "\(day): \(reply.text)")
            try await home.travel(days: 1)
            try await lee.signIn()
        }
        let today = try #require(try await home.call("GET", "/api/dev/clock").data["now"].string).prefix(10)
        try await walk.send("\(streaks)/freeze/use", by: lee.token, json: "{\"date\":\"\(today)\"}")
        let until = try #require(CalendarDate(today)).advanced(by: 10)
        try await walk.send("\(streaks)/pause", by: lee.token, json: "{\"resume_date\":\"\(until)\",\"reason\":\"illness\"}")
        try await walk.send("\(streaks)/resume", by: lee.token, json: "{}")
        // What freezes there are, and one date more.
        let left = try #require(try await lee.get("/api/mobile/streaks/status").data["freezes_available"].int)
        try await home.travel(days: left + 2)
        try await lee.signIn()
        let broken = try await lee.get("/api/mobile/streaks/status").data["repair"]
        let value = try #require(broken["broken_streak_value"].int, "\(broken)")
        _ = try await home.sql("UPDATE streaks.xp_account SET balance = 500 WHERE user_id = '\(lee.id)'")
        let repair = "{\"payment_method\":\"xp\",\"streak_value\":\(value)}"
        #expect(try await walk.send("\(streaks)/repair", by: lee.token, json: repair)["restored_streak"].int == value)
        #expect(try await home.sql("SELECT balance FROM streaks.xp_account WHERE user_id = '\(lee.id)'") == "0", "paid once")
    }

    func rewards(_ walk: inout RepeatWalk) async throws {
        let (max, admin) = (try await Person.register("max", at: walk.home), try await Person.administrator(at: walk.home))
        for (table, names) in [("badge", ["getting_started"]), ("unlock", ["crown", "physical_medal"])] {
            for name in names {
                _ = try await walk.home.sql(
                    "INSERT INTO streaks.\(table) (user_id, \(table), earned_at) VALUES ('\(max.id)', '\(name)', now())"
                )
            }
        }
        let seen = "POST /api/mobile/streaks/milestones/{milestone_type}/celebrated"
        try await walk.send(seen, ["milestone_type": "day_3"], by: max.token)
        try await walk.send("PUT /api/mobile/unlocks/{unlock}", ["unlock": "crown"], by: max.token, json: "{\"active\":false}")
        let address = "{\"name\":\"Max\",\"line1\":\"1 Road\",\"city\":\"London\",\"country\":\"GB\"}"
        let medal = try await walk.send("POST /api/mobile/unlocks/medal/request", by: max.token, json: address)
        let ids = ["medal_id": try #require(medal["medal_id"].string)]
        #expect(try await walk.home.sql("SELECT count(*) FROM streaks.medal WHERE user_id = '\(max.id)'") == "1")
        try await walk.send("PUT /api/admin/medals/{medal_id}", ids, by: admin.token, json: "{\"status\":\"sent\"}")
    }
}
