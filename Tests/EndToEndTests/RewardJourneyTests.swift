import TestSupport
import Testing

/// What a year of check-ins opens, seen from outside (CI-5): the Hall of Fame with its opt-out, and the medal that an admin works off.
struct RewardJourneyTests {
    @Test func `who has reached a year is in the public hall until they opt out, and gets their medal`() async throws {
        let home = try await Installation.shared.value
        let (una, admin) = (try await Person.register("una", at: home), try await Person.administrator(at: home))
        func isFamous() async throws -> Bool {
            // Without an account.
            let hall = try await home.call("GET", "/api/hall-of-fame?limit=100")
            try #require(hall.status == 200, "\(hall.text)")
            return hall.data["entries"].list.contains { $0["username"].string == una.username }
        }
        func switched(_ isOn: Bool) async throws -> HTTPReply {
            try await home.call("PUT", "/api/mobile/unlocks/hall_of_fame", token: una.token, json: "{\"active\":\(isOn)}")
        }
        #expect(try await switched(false).code == "UNLOCK_NOT_EARNED")
        let address = "{\"name\":\"Una\",\"line1\":\"1 Road\",\"city\":\"London\",\"country\":\"GB\"}"
        #expect(try await una.post("/api/mobile/unlocks/medal/request", address).code == "UNLOCK_NOT_EARNED")
        for unlock in ["hall_of_fame", "physical_medal"] {
            _ = try await home.sql(
                "INSERT INTO streaks.unlock (user_id, unlock, earned_at) VALUES ('\(una.id)', '\(unlock)', '2000-01-01')"
            )
        }
        try await eventually("streaks knows her name") { try await isFamous() }
        #expect(try await switched(false).status == 200)
        #expect(try await !isFamous(), "she has opted out")
        #expect(try await switched(true).status == 200)
        #expect(try await isFamous())

        let asked = try await una.post("/api/mobile/unlocks/medal/request", address)
        let medal = try #require(asked.data["medal_id"].string, "\(asked.text)")
        #expect(try await una.get("/api/admin/medals").status == 403)
        let open = try await admin.get("/api/admin/medals?limit=100").data["medals"].list
        #expect(open.contains { $0["medal"]["medal_id"].string == medal })
        let sent = "{\"status\":\"sent\",\"tracking_code\":\"RR123456785GB\"}"
        let update = try await home.call("PUT", "/api/admin/medals/\(medal)", token: admin.token, json: sent)
        #expect(update.status == 200, "\(update.text)")
        let shown = try await una.get("/api/mobile/unlocks").data["medal"]
        #expect(shown["status"].string == "sent" && shown["tracking_code"].string == "RR123456785GB")
        #expect(try await una.post("/api/mobile/unlocks/medal/request", address).code == "MEDAL_ALREADY_SENT")

        #expect(try await una.delete().status == 200)
        try await eventually("a deleted account is not in the hall") { try await !isFamous() }
    }
}
