import Foundation
import TestSupport
import Testing

/// Every route of the descriptor, walked by those who may not use it. A route or a parameter that is new fails here until it is known
/// what it means.
struct SecurityWalkTests {
    private struct Walk {
        let home: Installation
        let operations: [APIOperation]
        let schemas: JSON

        init() async throws {
            home = try await Installation.shared.value
            let page = try await home.call("GET", "/openapi.json").json
            schemas = page["components"]["schemas"]
            operations = APIOperation.all(in: page)
        }

        /// A body that the rules of its schema accept; members that are ids are those given.
        func body(_ schema: JSON, _ ids: [String: String]) -> String {
            let schema = resolved(schema)
            let members = schema["properties"].names.sorted().compactMap { name -> String? in
                let member = resolved(schema["properties"][name])
                let isRequired = schema["required"].list.contains(.string(name))
                if let id = ids[name] { return "\(quoted(name)):\(quoted(id))" }
                return isRequired ? "\(quoted(name)):\(value(member, name))" : nil
            }
            return "{\(members.joined(separator: ","))}"
        }

        private func resolved(_ schema: JSON) -> JSON {
            guard let reference = schema["$ref"].string?.split(separator: "/").last else { return schema }
            return schemas[String(reference)]
        }

        private func value(_ schema: JSON, _ name: String) -> String {
            if let first = schema["enum"].list.first(where: { $0.string != "unspecified" })?.string { return quoted(first) }
            switch schema["type"].string {
            case "integer", "number": return "\(schema["minimum"].int ?? 1)"
            case "boolean": return "true"
            case "array": return "[]"
            case "object": return "{}"
            default: break
            }
            switch schema["format"].string {
            case "uuid": return quoted(UUID().uuidString.lowercased())
            case "email": return quoted("walker@example.com")
            case "date": return quoted("2026-01-02")
            case "date-time": return quoted("2026-01-02T03:04:05Z")
            case "uri": return quoted("https://example.com/")
            default: return quoted(String(repeating: "a", count: max(schema["minLength"].int ?? 1, 8)))
            }
        }
    }

    /// Routes that are public on purpose, although a path parameter names a user or a thing.
    private static let open: Set<String> = [
        // What every user may know of another.
        "GET /api/users/{user_id}",
        // Whether a name is free.
        "GET /api/auth/check-username/{username}",
        // A card whose owner shared its link (MC-2).
        "GET /s/{token}",
        // Votes on what everyone may see (PL-3).
        "PUT /api/posts/{post_id}/vote", "DELETE /api/posts/{post_id}/vote",
        // The same page for every token (AU-13).
        "GET /verify/{token}", "GET /reset/{token}",
        // Ids of habits are among those of their user: the photo is one of the caller's own, which goes when that date has no completion.
        "PUT /api/habits/{habit_id}/completions/{date}/photo", "DELETE /api/habits/{habit_id}/completions/{date}/photo",
    ]

    /// Parameters that are words of the API and name nothing of another user.
    private static let words = [
        "milestone_type": "day_3", "unlock": "crown", "good": "shield", "type": "daily_snap", "date": "2026-01-02",
    ]

    /// Everything Ada has that others must not reach, by the name of the parameter that names it.
    private func belongings() async throws -> (ada: Person, ids: [String: String], friendship: String) {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        let asked = try await ada.request(ben)
        let friendship = try #require(asked.data["friendship_id"].string)
        let accepted = try await ben.respond(friendship)
        let streak = try #require(accepted.data["streak"]["streak_id"].string)
        let snap = try await ada.upload(try Photos.jpeg(71))
        #expect(snap.status == 201)
        var ids = ["friendship_id": friendship, "streak_id": streak, "streak_ids": streak, "friend_id": ben.id]
        ids["photo_id"] = snap.data["snap"]["id"].string
        let dan = try await Person.register("dan", at: home)
        let blocked = try await ada.post("/api/blocks", "{\"user_id\":\"\(dan.id)\"}")
        ids["block_id"] = blocked.data["block_id"].string ?? blocked.data["id"].string ?? UUID().uuidString.lowercased()
        ids["report_id"] = UUID().uuidString.lowercased()
        ids["medal_id"] = UUID().uuidString.lowercased()
        // No milestone is reached without the clock; another user's is answered like one that is not there (`CardJourneyTests`).
        ids["milestone_id"] = UUID().uuidString.lowercased()
        ids["user_id"] = ben.id
        ids["circle_id"] = try await ada.circle(with: [ben]).id
        ids["invite_id"] = UUID().uuidString.lowercased()
        // One that leads nowhere: a code that is known is the right to join.
        ids["code"] = "0000000000"
        // That Ben has accepted.
        try await eventually("ada is notified") {
            ids["notification_id"] = try await ada.notifications("friend_accepted").first?["id"].string
            return ids["notification_id"] != nil
        }
        ids["action_id"] = UUID().uuidString.lowercased()
        ids["post_id"] = try await ada.pin(try Photos.jpeg(74), at: 1, 1).data["post"]["id"].string
        let habit = try await ada.post("/api/habits", "{\"name\":\"Read\"}")
        try #require(habit.status == 201, "\(habit.text)")
        ids["habit_id"] = habit.data["id"].string
        let done = try await ada.post("/api/habits/\(habit.data["id"].string ?? "")/completions", "{}")
        try #require(done.status == 201, "\(done.text)")
        ids["completion_id"] = done.data["completion"]["id"].string
        ids["category_id"] = try await ada.get("/api/habits/categories").data["categories"][0]["id"].string
        return (ada, ids, friendship)
    }

    private func send(_ operation: APIOperation, _ walk: Walk, _ ids: [String: String], token: String?) async throws -> HTTPReply
    {
        var path = operation.path
        for name in operation.parameters {
            let id = try #require(
                ids[name] ?? Self.words[name] ?? ["username": "unknown", "token": "none"][name],
                "teach this test what \(name) is"
            )
            path = path.replacing("{\(name)}", with: id)
        }
        var headers = token.map { [("Authorization", "Bearer \($0)")] } ?? []
        if operation.isUpload {
            headers.append(Form.contentType)
            let isAvatar = path.hasSuffix("/avatar")
            let fields = path.hasSuffix("/photo") || isAvatar ? [] : ids["streak_ids"].map { [("streak_ids", $0)] } ?? []
            let form = Form(photo: try Photos.jpeg(72), part: isAvatar ? "avatar" : "photo", fields: fields)
            return try await walk.home.http.send(operation.verb, path, headers: headers, body: form.body)
        }
        let json = operation.body.isNull ? nil : walk.body(operation.body, ids)
        return try await walk.home.call(operation.verb, path, token: token, json: json)
    }

    @Test func `no route that needs a user answers without one`() async throws {
        let walk = try await Walk()
        let (_, ids, _) = try await belongings()
        #expect(walk.operations.count > 30)
        for operation in walk.operations where !["none", "secret"].contains(operation.auth) {
            for token in [nil, "no.token.atall"] {
                let reply = try await send(operation, walk, ids, token: token)
                #expect(reply.status == 401, "\(operation): \(reply.text)")
            }
        }
    }

    @Test func `what belongs to a user is out of others' reach on every route`() async throws {
        let walk = try await Walk()
        let (ada, ids, friendship) = try await belongings()
        let eve = try await Person.register("eve", at: walk.home)
        var walked = 0
        for operation in walk.operations where operation.auth == "user" && !operation.parameters.isEmpty {
            guard !Self.open.contains("\(operation)") else { continue }
            // What they name is the caller's own.
            guard !operation.parameters.allSatisfy({ Self.words[$0] != nil }) else { continue }
            let reply = try await send(operation, walk, ids, token: eve.token)
            #expect([403, 404].contains(reply.status), "\(operation): \(reply.text)")
            walked += 1
        }
        #expect(walked > 5)
        // Nothing of it was changed.
        let friends = try await ada.get("/api/friends").data["friends"].list
        #expect(friends.map { $0["friendship_id"].string } == [friendship])
        let streaks = try await ada.get("/api/streaks").data["streaks"].list
        #expect(streaks.map { $0["id"].string ?? $0["streak_id"].string } == [ids["streak_id"]])
    }

    /// Ids of habits are in no path of a sync, so the walks do not see them.
    @Test func `a device reaches no other user's habits`() async throws {
        let (ada, ids, _) = try await belongings()
        let eve = try await Person.register("eve", at: ada.home)
        let (habit, done) = (try #require(ids["habit_id"]), try #require(ids["completion_id"]))
        let changes = [
            "\"entity\":\"habit\",\"operation\":\"update\",\"entity_id\":\"\(habit)\",\"habit\":{\"name\":\"Mine\"}",
            "\"entity\":\"habit\",\"operation\":\"delete\",\"entity_id\":\"\(habit)\"",
            "\"entity\":\"habit\",\"operation\":\"archive\",\"entity_id\":\"\(habit)\"",
            "\"entity\":\"completion\",\"operation\":\"update\",\"entity_id\":\"\(done)\",\"completion\":{\"note\":\"Mine\"}",
            "\"entity\":\"completion\",\"operation\":\"delete\",\"entity_id\":\"\(done)\"",
            // Her own, of the same id (HA-7).
            "\"entity\":\"habit\",\"operation\":\"create\",\"entity_id\":\"\(habit)\",\"habit\":{\"name\":\"Eve's\"}",
        ].map { "{\"change_id\":\"\(UUID().uuidString.lowercased())\",\($0)}" }
        let device = UUID().uuidString.lowercased()
        let request = "{\"device_id\":\"\(device)\",\"schema_version\":1,\"changes\":[\(changes.joined(separator: ","))]}"
        let reply = try await eve.post("/api/sync", request)
        try #require(reply.status == 200, "\(reply.text)")
        let results = reply.data["results"].list
        #expect(results.map { $0["outcome"].string } == Array(repeating: "refused", count: 5) + ["applied"], "\(reply.text)")
        let codes = results.prefix(5).map { $0["code"].string }
        #expect(
            codes == ["HABIT_NOT_FOUND", "HABIT_NOT_FOUND", "HABIT_NOT_FOUND"] + ["COMPLETION_NOT_FOUND", "COMPLETION_NOT_FOUND"]
        )
        #expect(reply.data["habits"].list.map { $0["name"].string } == ["Eve's"] && reply.data["completions"].list.isEmpty)
        // Ada's are as they were, and her device gets her own.
        let own = "{\"device_id\":\"\(device)\",\"schema_version\":1}"
        let copy = try await ada.post("/api/sync", own).data
        #expect(copy["habits"].list.map { $0["name"].string } == ["Read"] && copy["habits"][0]["archived"].bool == false)
        #expect(copy["completions"].list.map { $0["id"].string } == [done] && copy["completions"][0]["note"].string == "")
        // A place in Eve's history is none in Ada's: she begins anew.
        let cursor = quoted(try #require(reply.data["next_cursor"].string))
        let foreign = "{\"device_id\":\"\(device)\",\"schema_version\":1,\"epoch\":1,\"cursor\":\(cursor)}"
        let answer = try await ada.post("/api/sync", foreign)
        #expect(answer.status == 400 || answer.data["reset"].bool == true, "\(answer.text)")
    }

    @Test func `an upload to a stranger's streak is refused`() async throws {
        let (_, ids, _) = try await belongings()
        let eve = try await Person.register("eve", at: try await Installation.shared.value)
        let reply = try await eve.upload(try Photos.jpeg(73), to: try #require(ids["streak_id"]))
        #expect([400, 403, 404].contains(reply.status), "\(reply.text)")
        #expect(try await eve.get("/api/photos/feed").data["items"].list.isEmpty)
    }

    @Test func `an administrator's route is closed to all others`() async throws {
        let walk = try await Walk()
        let (ada, ids, _) = try await belongings()
        let routes = walk.operations.filter { $0.auth == "admin" }
        for operation in routes {
            let reply = try await send(operation, walk, ids, token: ada.token)
            #expect([403, 404].contains(reply.status), "\(operation): \(reply.text)")
        }
        #expect(routes.allSatisfy { $0.path.hasPrefix("/api/admin/") })
    }

    @Test(arguments: [
        "' OR '1'='1", "'; DROP TABLE auth.account; --", "\\'; SELECT pg_sleep(5); --", "%00", "../../etc/passwd",
        "${jndi:ldap://x}",
        "<script>alert(1)</script>", "\u{202E}abc", String(repeating: "x", count: 3_000),
    ]) func `hostile text is text or a refusal, on every route`(text: String) async throws {
        let walk = try await Walk()
        let eve = try await Person.register("eve", at: walk.home)
        let escaped = try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let started = ContinuousClock.now
        for operation in walk.operations where ["user", "none"].contains(operation.auth) && !operation.isUpload {
            // Ends the session of the user.
            guard !operation.path.contains("logout"), operation.path != "/api/auth/account" else { continue }
            var path = operation.path
            for name in operation.parameters { path = path.replacing("{\(name)}", with: escaped) }
            if operation.verb == "GET", operation.parameters.isEmpty { path += "?q=\(escaped)&cursor=\(escaped)" }
            let names = operation.body.isNull ? [] : ["user_id", "username", "email", "password", "caption", "display_name", "q"]
            let json = names.isEmpty ? nil : "{\(names.map { "\(quoted($0)):\(quoted(text))" }.joined(separator: ","))}"
            let reply = try await walk.home.call(operation.verb, path, token: eve.token, json: json)
            #expect(reply.status < 500, "\(operation): \(reply.text)")
            #expect(!reply.text.contains("syntax error") && !reply.text.contains("SQLSTATE"), "\(operation): \(reply.text)")
        }
        #expect(ContinuousClock.now - started < .seconds(120))
        #expect(try await walk.home.sql("SELECT count(*) > 0 FROM auth.account") == "t")
    }

    @Test func `headers cannot be smuggled`() async throws {
        let home = try await Installation.shared.value
        let eve = try await Person.register("eve", at: home)
        for (name, value) in [
            ("principal-user-id", "00000000-0000-7000-8000-000000000001"), ("principal-role", "admin"),
            ("X-Request-Id", "a b\u{7F}c"), ("traceparent", "00-zz-zz-01"), ("Idempotency-Key", "with space"),
        ] {
            let reply = try await home.call("GET", "/api/users/me", token: eve.token, headers: [(name, value)])
            #expect(reply.status == 200 || reply.status == 400, "\(name): \(reply.text)")
            if reply.status == 200 { #expect(reply.data["id"].string == eve.id) }
        }
    }
}
