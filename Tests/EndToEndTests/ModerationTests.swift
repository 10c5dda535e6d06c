import TestSupport
import Testing

/// Reports and what moderators do about them (SO-8, SO-9).
struct ModerationTests {
    private func people(_ names: String...) async throws -> [Person] {
        let home = try await Installation.shared.value
        var people: [Person] = []
        for name in names { people.append(try await Person.register(name, at: home)) }
        return people
    }

    /// A user whose next session is a moderator's.
    private func moderator() async throws -> Person {
        var person = try await people("moira")[0]
        _ = try await person.home.sql("UPDATE auth.account SET is_admin = true WHERE id = '\(person.id)'")
        try await person.signIn()
        return person
    }

    private func report(_ type: String, _ id: String, _ reason: String = "spam", _ description: String = "null") -> String {
        "{\"subject_type\":\"\(type)\",\"subject_id\":\"\(id)\",\"reason\":\"\(reason)\",\"description\":\(description)}"
    }

    @Test func `a subject is reported once by each, and not by its owner`() async throws {
        let people = try await people("sam", "tia", "uma")
        let (sam, tia, uma) = (people[0], people[1], people[2])
        let first = try await sam.post("/api/reports", report("user", tia.id, "harassment", "\"She shouts.\""), key: "r")
        #expect(first.status == 201 && first.data["status"].string == "pending", "\(first.text)")
        #expect(
            try await sam.post("/api/reports", report("user", tia.id, "harassment", "\"She shouts.\""), key: "r").data
                == first.data
        )
        let second = try await sam.post("/api/reports", report("user", tia.id))
        #expect(second.status == 409 && second.code == "ALREADY_REPORTED", "\(second.text)")
        #expect(try await uma.post("/api/reports", report("user", tia.id)).status == 201)
        #expect(try await sam.post("/api/reports", report("user", sam.id)).code == "CANNOT_REPORT_SELF")
        for body in [
            report("user", "x"), report("planet", tia.id), report("user", tia.id, "boring"),
            report("user", tia.id, "spam", "\"" + String(repeating: "x", count: 501) + "\""), "{}",
        ] {
            let reply = try await uma.post("/api/reports", body)
            #expect(reply.status == 400 && reply.code == "VALIDATION_ERROR", "\(body): \(reply.text)")
        }
        for type in ["user", "photo", "post"] {
            let reply = try await uma.post("/api/reports", report(type, "0190a0b0-0000-7000-8000-000000000001"))
            #expect(reply.status == 404, "\(type): \(reply.text)")
        }
    }

    @Test func `no notification offers to save a streak that the moderators have ended`() async throws {
        let people = try await people("sam", "tia")
        let (sam, tia) = (people[0], people[1])
        let streak = try await sam.befriend(tia)
        #expect(try await sam.upload(try Photos.jpeg(77)).status == 201)
        #expect(try await tia.upload(try Photos.jpeg(78)).status == 201)
        let filed = try #require(try await sam.post("/api/reports", report("user", tia.id)).data["report_id"].string)
        let moderator = try await moderator()
        let acted = try await sam.home.call(
            "PUT",
            "/api/admin/moderation/reports/\(filed)",
            token: moderator.token,
            json: "{\"action\":\"suspend\"}",
            headers: [("Idempotency-Key", "suspend-\(filed)")]
        )
        #expect(acted.status == 200, "\(acted.text)")
        // With the reply, not a moment later (D21).
        let refused = try await tia.get("/api/users/me")
        #expect(refused.code == "SESSION_REVOKED", "\(refused.text)")
        #expect(
            try await sam.get("/api/streaks/\(streak)").data["streak"]["friend"]["display_name"].string == "Unavailable account"
        )
        try await eventually("the friend is notified") { try await sam.notifications("streak_broken").count == 1 }
        let text = try #require(try await sam.notifications("streak_broken").first?["body"].string)
        #expect(text.contains("ended.") && !text.contains("token"), "\(text)")
        let detail = try await sam.get("/api/streaks/\(streak)")
        #expect(detail.data["streak"]["status"].string == "broken", "\(detail.text)")
        #expect(detail.data["recovery"]["possible"].bool == false && detail.data["recovery"]["until"].isNull)
        #expect(detail.data["recovery"]["refused"].string == "RECOVERY_WINDOW_EXPIRED")
    }

    @Test func `a photo is reported by those who may see it, and the report names its owner`() async throws {
        let people = try await people("sam", "tia", "uma")
        let (sam, tia, uma) = (people[0], people[1], people[2])
        try await sam.befriend(tia)
        let snap = try #require(try await tia.upload(try Photos.jpeg(79)).data["snap"]["id"].string)
        #expect(try await uma.post("/api/reports", report("photo", snap)).status == 404, "to a stranger it does not exist")
        #expect(try await tia.post("/api/reports", report("photo", snap)).code == "CANNOT_REPORT_SELF")
        #expect(try await sam.post("/api/blocks", "{\"user_id\":\"\(tia.id)\"}").status == 201)
        let filed = try await sam.post("/api/reports", report("photo", snap, "inappropriate"))
        #expect(filed.status == 201, "also after blocking: \(filed.text)")
        let listed = try await moderator().get("/api/admin/moderation/reports?limit=100").data["reports"].list
        let item = try #require(listed.first { $0["report_id"].string == filed.data["report_id"].string })
        #expect(item["owner"]["user_id"].string == tia.id && item["reporter_id"].string == sam.id)
        #expect(item["subject_type"].string == "photo" && item["subject_id"].string == snap)
    }

    @Test func `only administrators moderate`() async throws {
        let sam = try await people("sam")[0]
        let path = "/api/admin/moderation/reports"
        for reply in [try await sam.get(path), try await sam.put("\(path)/\(sam.id)", #"{"action":"ban"}"#)] {
            #expect(reply.status == 403 && reply.code == "ADMIN_ONLY", "\(reply.text)")
        }
        #expect(try await sam.home.call("GET", path).status == 401)
    }

    @Test func `a report is acted on once, is logged with who and when, and a warning reaches the owner`() async throws {
        let people = try await people("sam", "tia", "uma", "vic", "wim")
        let moderator = try await moderator()
        let path = "/api/admin/moderation/reports"
        let actions = ["warn": "actioned", "suspend": "actioned", "ban": "actioned", "dismiss": "dismissed"]
        for ((action, status), bad) in zip(actions.sorted { $0.key < $1.key }, people.dropFirst()) {
            let filed = try await people[0].post("/api/reports", report("user", bad.id))
            let id = try #require(filed.data["report_id"].string, "\(filed.text)")
            let acted = try await moderator.put("\(path)/\(id)", "{\"action\":\"\(action)\",\"note\":\"seen\"}")
            #expect(acted.status == 200, "\(acted.text)")
            #expect(acted.data["status"].string == status && acted.data["owner"]["username"].string == bad.username)
            #expect(acted.data["action"]["moderator_id"].string == moderator.id)
            #expect(acted.data["action"]["taken_at"].string != nil && acted.data["action"]["note"].string == "seen")
            #expect(acted.data["action"]["until"].isNull == (action != "suspend"))
            let again = try await moderator.put("\(path)/\(id)", "{\"action\":\"\(action)\"}")
            #expect(again.status == 409 && again.code == "ALREADY_ACTIONED", "\(again.text)")
            let listed = try await moderator.get("\(path)?status=\(status)&limit=100").data["reports"].list
            #expect(listed.contains { $0["report_id"].string == id && $0["action"]["action"].string == action })
            if action == "warn" {
                try await eventually("the warning is in the log") { try await bad.notifications("moderation_warning").count == 1 }
                #expect(try await bad.notifications("moderation_warning")[0]["actor_id"].isNull, "the moderator is not named")
            }
        }
        #expect(try await moderator.put("\(path)/\(moderator.id)", #"{"action":"ban"}"#).status == 404)
        #expect(try await moderator.put("\(path)/\(moderator.id)", #"{"action":"praise"}"#).status == 400)
    }

    @Test func `a moderator cannot moderate themselves, and the queue comes in pages`() async throws {
        let people = try await people("sam", "tia", "uma")
        let moderator = try await moderator()
        let path = "/api/admin/moderation/reports"
        let filed = try await people[0].post("/api/reports", report("user", moderator.id))
        let id = try #require(filed.data["report_id"].string)
        let refused = try await moderator.put("\(path)/\(id)", #"{"action":"dismiss"}"#)
        #expect(refused.status == 403 && refused.code == "CANNOT_MODERATE_SELF", "\(refused.text)")
        for other in people.dropFirst() {
            #expect(try await other.post("/api/reports", report("user", people[0].id)).status == 201)
        }
        var (found, cursor, pages): ([String], String?, Int) = ([], "", 0)
        while let next = cursor, pages < 500 {
            let page = try await moderator.get("\(path)?limit=2" + (next.isEmpty ? "" : "&cursor=\(next)"))
            found += page.data["reports"].list.compactMap { $0["report_id"].string }
            cursor = page.json["meta"]["next_cursor"].string
            pages += 1
        }
        #expect(Set(found).count == found.count && found.contains(id))
        let second = try await moderator.get("\(path)?limit=1&offset=1").data["reports"].list
        #expect(second.count == 1)
    }
}
