import Foundation
import TestSupport
import Testing

/// What the screens of an app need, in the calls that it makes, and what an app developer tries first.
struct AppScreenTests {
    private func pair(_ one: String, _ other: String) async throws -> (Person, Person, streak: String) {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register(one, at: home), try await Person.register(other, at: home))
        return (ada, ben, try await ada.befriend(ben))
    }

    @Test func `more entries than a page may have are taken as the most, and none as a mistake`() async throws {
        let (ada, _, streak) = try await pair("ada", "ben")
        let lists = [
            "/api/friends", "/api/friends/requests", "/api/notifications", "/api/blocks", "/api/streaks/\(streak)/photos",
        ]
        for list in lists {
            #expect(try await ada.get(list + "?limit=1000000").status == 200, "\(list)")
            #expect(try await ada.get(list + "?limit=0").status == 200, "\(list)")
            #expect(try await ada.get(list + "?limit=-1").fields == ["limit"], "\(list)")
        }
        #expect(try await ada.get("/api/friends/search?q=a&limit=500").data["users"].list.count <= 20)
    }

    @Test func `one field is named once, with the first rule it breaks`() async throws {
        let home = try await Installation.shared.value
        let reply = try await home.call(
            "POST",
            "/api/auth/register",
            json: #"{"email":"nonsense","password":"x","username":"!"}"#
        )
        #expect(reply.fields.sorted() == ["email", "password", "username"], "\(reply.text)")
    }

    @Test func `a friend is found by the name in capitals too`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        let asked = try await ada.post("/api/friends/request", "{\"username\":\"\(ben.username.uppercased())\"}")
        #expect(asked.status == 201 && asked.data["user"]["user_id"].string == ben.id, "\(asked.text)")
    }

    @Test func `nothing is said to be unspecified`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await eventually("the index has him") {
            try await ada.get("/api/friends/search?q=\(ben.username)").data["users"].list.count == 1
        }
        let user = try await ada.get("/api/friends/search?q=\(ben.username)").data["users"][0]
        #expect(user["user"]["user_id"].string == ben.id)
        #expect(user["friendship_status"].isNull && user["direction"].isNull)
        let free = try await home.call("GET", "/api/auth/check-username/\(Person.unique("free"))")
        #expect(free.data["available"].bool == true && free.data["problem"].isNull, "\(free.text)")
        let refused = try await ada.get("/api/friends/requests?direction=sideways")
        #expect(refused.status == 400 && refused.text.contains("incoming, outgoing"), "\(refused.text)")
        #expect(!refused.text.contains("unspecified"))
        #expect(!(try await home.call("GET", "/openapi.json")).text.contains("\"unspecified\""))
    }

    @Test func `no picture of a person is shown before the terms are accepted`() async throws {
        let home = try await Installation.shared.value
        var eva = Person(home: home, username: Person.unique("eva"))
        try eva.take(try await home.call("POST", "/api/auth/register", json: eva.registration()), 201)
        let refused = try await eva.setAvatar(try Photos.jpeg(4))
        #expect(refused.status == 400 && refused.code == "TERMS_NOT_ACCEPTED", "\(refused.text)")
        #expect(refused.text.contains("POST /api/users/me/terms") && refused.text.contains("version"), "\(refused.text)")
        #expect(home.blobs(of: eva).isEmpty)
        #expect(try await eva.acceptTerms().status == 200)
        #expect(try await eva.setAvatar(try Photos.jpeg(4)).status == 200)
    }

    @Test func `a bad file is a bad file also for who has posted already`() async throws {
        let (ada, _, _) = try await pair("ada", "ben")
        #expect(try await ada.upload(try Photos.jpeg(5)).status == 201)
        let bad = try await ada.upload(Array("no picture at all".utf8))
        #expect(bad.code == "UNSUPPORTED_IMAGE_TYPE", "\(bad.text)")
        let second = try await ada.upload(try Photos.jpeg(6))
        #expect(second.status == 409 && second.code == "ALREADY_POSTED", "\(second.text)")
    }

    @Test(arguments: ["", String(repeating: "k", count: 300), "ünïcödé"])
    func `an upload with a key that is none is refused, and nothing of it is kept`(key: String) async throws {
        let (ada, _, _) = try await pair("ada", "ben")
        let refused = try await ada.upload(try Photos.jpeg(13), key: key)
        #expect(refused.status == 400, "\(refused.text)")
        try await BadUploadTests.expectNothing(of: ada)
        #expect(try await ada.setAvatar(try Photos.jpeg(13), key: key).status == 400)
        try await BadUploadTests.expectNothing(of: ada)
    }

    @Test func `a friend list says of each streak whether it runs`() async throws {
        let (ada, ben, streak) = try await pair("ada", "ben")
        let entry = try #require(try await ada.get("/api/friends").data["friends"].list.first)
        #expect(entry["streak"]["status"].string == "active" && entry["streak"]["status_pill"].string == "waiting_on_you")
        let friendship = try #require(entry["friendship_id"].string)
        #expect(try await ben.delete("/api/friends/\(friendship)").status == 200)
        try await eventually("the streak has ended") {
            let detail = try await ada.get("/api/streaks/\(streak)")
            return detail.data["streak"]["status"].string == "ended" && detail.data["streak"]["status_pill"].isNull
                && detail.data["recovery"]["possible"].bool == false
                && detail.data["recovery"]["refused"].string == "STREAK_NOT_BROKEN"
        }
    }

    @Test func `at count 0 nothing is at risk`() async throws {
        let home = try await Installation.shared.value
        // Their day ends within six hours, wherever that is now.
        let zone = Installation.zone(atHour: 20)
        let ada = try await Person.register("ada", at: home, zone: zone)
        let ben = try await Person.register("ben", at: home, zone: zone)
        let streak = try await ada.befriend(ben)
        let detail = try await ada.get("/api/streaks/\(streak)")
        #expect(detail.data["streak"]["at_risk"].bool == false, "\(detail.text)")
        #expect(detail.data["streak"]["status_pill"].string == "waiting_on_you")
        #expect(detail.data["recovery"]["refused"].string == "STREAK_NOT_BROKEN")
        #expect(detail.data["recovery"]["tokens_left"].int == 0)
    }

    @Test func `the heat map of the last 365 dates is one call`() async throws {
        let (ada, _, _) = try await pair("ada", "ben")
        #expect(try await ada.upload(try Photos.jpeg(7)).status == 201)
        let map = try await ada.get("/api/users/me/calendar?days=365")
        let days = map.data["days"].list
        #expect(days.count == 365 && map.data["posted_dates"].int == 1, "\(map.text.prefix(300))")
        #expect(days.last?["posted"].int == 1, "the last is today")
        #expect(Set(days.compactMap { $0["date"].string }).count == 365)
        #expect(try await ada.get("/api/users/me/calendar?days=365&year=2026").fields == ["days"])
        #expect(try await ada.get("/api/users/me/calendar?days=367").fields == ["days"])
    }

    @Test func `pages by number have what pages by cursor have`() async throws {
        let (ada, ben, streak) = try await pair("ada", "ben")
        for index in 0..<3 {
            let other = try await Person.register("o\(index)", at: ada.home)
            #expect(try await other.request(ada).status == 201)
        }
        try await eventually("three requests make entries") { try await ada.notifications("friend_request").count == 3 }
        let all = try await ada.get("/api/notifications").data["notifications"].list.compactMap { $0["id"].string }
        var paged: [String] = []
        for page in 1...all.count {
            let reply = try await ada.get("/api/notifications?limit=1&page=\(page)")
            paged += reply.data["notifications"].list.compactMap { $0["id"].string }
        }
        #expect(paged == all)
        #expect(try await ada.get("/api/notifications?page=999").data["notifications"].list.isEmpty)

        #expect(try await ben.upload(try Photos.jpeg(8)).status == 201)
        #expect(try await ada.upload(try Photos.jpeg(9)).status == 201)
        let history = "/api/streaks/\(streak)/photos"
        #expect(try await ada.get(history + "?page=1").data["days"] == (try await ada.get(history).data["days"]))
        #expect(try await ada.get(history + "?page=2").data["days"].list.isEmpty)
        for list in ["/api/notifications", history] {
            #expect(try await ada.get(list + "?page=0").fields == ["page"])
            let cursor = try await ada.get("/api/notifications?limit=1").json["meta"]["next_cursor"].string ?? ""
            #expect(try await ada.get(list + "?page=1&cursor=\(cursor)").status == 400)
        }
    }

    @Test func `a notification shows who caused it, as that person looks now`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        #expect(try await ben.setAvatar(try Photos.jpeg(10)).status == 200)
        #expect(try await ben.request(ada).status == 201)
        try await eventually("the request makes an entry, with name and picture") {
            let actor = try await ada.notifications("friend_request").first?["actor"]
            return actor?["username"].string == ben.username && actor?["avatar_url"].string?.hasPrefix("http") == true
        }
    }

    @Test func `a guest looks at sample streaks`() async throws {
        let home = try await Installation.shared.value
        #expect(try await home.call("GET", "/api/streaks/samples").status == 401)
        let guest = try await home.call("POST", "/api/auth/guest", json: "{\"device_id\":\"\(UUID().uuidString)\"}")
        let token = try #require(guest.data["access_token"].string)
        let samples = try await home.call("GET", "/api/streaks/samples", token: token).data["streaks"].list
        #expect(samples.map { $0["streak"]["current_count"].int } == [7, 46, 127])
        #expect(samples.map { $0["streak"]["status_pill"].string } == ["both_posted", "waiting_on_you", "waiting_on_friend"])
        for sample in samples {
            let marks = sample["calendar"].list.compactMap { $0["mark"].string }
            #expect(marks.count == 90 && marks.contains("both") && !marks.contains("broken"))
        }
        #expect(samples[1]["calendar"].list.contains { $0["mark"].string == "recovered" })
        #expect(try await home.call("GET", "/api/streaks", token: token).status == 403)
    }

    @Test func `a page of a card goes with the friendship, and a link to a photo with a block, both for good`() async throws {
        let (ada, ben, streak) = try await pair("ada", "ben")
        #expect(try await ben.upload(try Photos.jpeg(11)).status == 201)
        #expect(try await ada.upload(try Photos.jpeg(12)).status == 201)
        let feed = try await ada.get("/api/photos/feed").data["items"].list
        let link = try #require(feed.first?["friend_snap"]["photo_url"].string.flatMap { URL(string: $0) })
        let target = link.path + "?" + (link.query ?? "")
        #expect(try await ada.home.http.send("GET", target).status == 200)
        let block = try await ada.post("/api/blocks", "{\"user_id\":\"\(ben.id)\"}")
        let id = try #require(block.data["block_id"].string, "\(block.text)")
        try await eventually("the link is dead") { try await ada.home.http.send("GET", target).status == 404 }
        #expect(try await ada.delete("/api/blocks/\(id)").status == 200)
        try await eventually("the end of the block has reached media") {
            try await ada.home.sql("SELECT count(*) FROM media.hidden_pair WHERE is_shown AND '\(ada.id)' IN (one, other)") == "1"
        }
        #expect(try await ada.home.http.send("GET", target).status == 404, "an unblock restores nothing")
        #expect(try await ada.get("/api/streaks/\(streak)").data["streak"]["status"].string == "ended")
    }
}
