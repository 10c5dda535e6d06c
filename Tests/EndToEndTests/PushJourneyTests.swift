import Foundation
import TestSupport
import Testing

/// Pushes from a user's deed to the push service, over the public API (NO-2 to NO-6).
struct PushJourneyTests {
    private static let german = "{\"push_token\":\"ExponentPushToken[ben]\",\"platform\":\"android\",\"locale\":\"de-DE\"}"

    private func register(_ person: Person, _ json: String) async throws -> HTTPReply {
        try await person.home.call("PUT", "/api/users/me/push-token", token: person.token, json: json)
    }

    @Test func `a friend request is pushed in the device's language, and its entry shows what became of it`() async throws {
        let expo = try await ExpoServer.start()
        let home = try await Installation(environment: [
            "STREAKSNAP_NOTIFICATIONS_PUSH_URL": expo.url, "STREAKSNAP_NOTIFICATIONS_PUSH_TOKEN": "s3cret-of-expo",
        ])
        var ann = try await Person.register("ann", at: home)
        let ben = try await Person.register("ben", at: home)
        #expect(try await register(ben, Self.german).data["devices"].int == 1)
        #expect(try await register(ben, #"{"push_token":"nonsense","platform":"ios"}"#).code == "INVALID_PUSH_TOKEN")

        let asked = try await ann.request(ben)
        try await eventually("ben's device gets it") { try !expo.pushes.isEmpty }
        let push = try #require(try expo.pushes.first)
        #expect(push.title == "👋 Neue Freundschaftsanfrage" && push.body == "ann will einen Streak mit dir beginnen!")
        #expect(push.badge == 1 && push.data.deep_link == "streaksnap://friends?tab=requests")
        let entry = try #require(try await ben.notifications("friend_request").first)
        #expect(entry["request_state"].string == "pending" && entry["actor"]["username"].string == ann.username)
        #expect(entry["title"].string == "👋 Neue Freundschaftsanfrage" && entry["deep_link"].string == push.data.deep_link)
        _ = try await ben.respond(try #require(asked.data["friendship_id"].string))
        #expect(try await ben.notifications("friend_request").first?["request_state"].string == "accepted")

        // A device ends with its session; other sessions of the user keep theirs.
        #expect(try await register(ann, #"{"push_token":"ExponentPushToken[ann-1]","platform":"ios"}"#).status == 200)
        let first = ann.token
        try await ann.signIn()
        #expect(try await register(ann, #"{"push_token":"ExponentPushToken[ann-2]","platform":"ios"}"#).data["devices"].int == 2)
        #expect(try await home.call("POST", "/api/auth/logout", token: first).status == 200)
        try await eventually("its device has ended") {
            try await home.sql("SELECT count(*) FROM notifications.device WHERE user_id = '\(ann.id)'") == "1"
        }
        #expect(try await ann.post("/api/notifications/test").data["devices"].int == 1)
        try await eventually("the other one gets pushes") {
            try expo.pushes.contains { $0.to == "ExponentPushToken[ann-2]" && $0.data.type == "test" }
        }
        #expect(try expo.pushes.filter { $0.to == "ExponentPushToken[ann-1]" && $0.data.type == "test" }.isEmpty)

        // The log: what is unread, marking, deleting.
        let id = try #require(entry["id"].string)
        let marked = try await home.call("PUT", "/api/notifications/\(id)/read", token: ben.token)
        #expect(marked.data["marked"].int == 1, "\(marked.text)")
        #expect(try await ben.get("/api/notifications?type=friend_request&unread=true").data["notifications"].list.isEmpty)
        #expect(try await ben.get("/api/notifications/\(id)").data["title"].string == "👋 Neue Freundschaftsanfrage")
        #expect(try await ben.get("/api/notifications/\(id)?locale=en").data["title"].string == "👋 New friend request")
        #expect(try await ben.delete("/api/notifications/\(id)").status == 200)
        #expect(try await ben.get("/api/notifications/\(id)").status == 404)
        for everything in [#"{"ids":"all"}"#, #"{"all":true}"#] {
            let all = try await home.call("PUT", "/api/notifications/read", token: ann.token, json: everything)
            #expect(all.status == 200 && all.data["unread_count"].int == 0, "\(all.text)")
        }
        for wrong in ["{}", #"{"ids":"some"}"#, #"{"all":true,"ids":"all"}"#, #"{"ids":"all","ids":[]}"#] {
            let refused = try await home.call("PUT", "/api/notifications/read", token: ann.token, json: wrong)
            #expect(refused.status == 400 && refused.code == "VALIDATION_ERROR", "\(wrong): \(refused.text)")
        }

        // Preferences.
        let change = #"{"friend_requests":false,"quiet_start_hour":23}"#
        let path = "/api/users/me/notification-preferences"
        let changed = try await home.call("PUT", path, token: ben.token, json: change)
        #expect(changed.data["friend_requests"].bool == false && changed.data["nudges"].bool == true, "\(changed.text)")
        #expect(try await ben.get(path).data["quiet_start_hour"].int == 23)
        #expect(try await home.call("PUT", path, token: ben.token, json: #"{"quiet_start_hour":24}"#).status == 400)

        #expect(!home.logs.contains("ExponentPushToken["), "a token of a device is a secret")
        #expect(!home.logs.contains("s3cret-of-expo"))
        await home.guardian.end()
    }

    @Test func `a provider that hangs slows no request, and a service that is killed meanwhile loses no push`() async throws {
        let expo = try await ExpoServer.start()
        let home = try await Installation(["--separate"], environment: ["STREAKSNAP_NOTIFICATIONS_PUSH_URL": expo.url])
        let ben = try await Person.register("ben", at: home)
        #expect(try await register(ben, Self.german).status == 200)
        try expo.behave(#"{"mode": "hang", "seconds": 120}"#)
        let friends = [try await Person.register("a", at: home), try await Person.register("b", at: home)]
        for friend in friends {
            let start = ContinuousClock.now
            #expect(try await friend.request(ben).status == 201)
            // The provider does not answer for two minutes; a busy machine takes its time.
            #expect(ContinuousClock.now - start < .seconds(30))
        }
        try await eventually("the provider was asked") { try !expo.requests.isEmpty }
        let pid = try #require(home.process(of: "notifications"))
        #expect(kill(pid, SIGKILL) == 0)
        try expo.behave("{}")
        // The claims of the killed process run out after a minute.
        try await eventually("both arrive", within: .seconds(150)) { try expo.pushes.count >= 2 }
        let counts = Dictionary(grouping: try expo.pushes, by: \.data.notification_id).mapValues(\.count)
        #expect(counts.count == 2 && counts.values.allSatisfy { $0 == 1 }, "\(counts)")
        await home.guardian.end()
    }
}
