import BillingAPI
import Foundation
import Kernel
import TestSupport
import Testing

/// A block hides each of the two from the other everywhere (SO-7): every route is walked by both, before and after.
@Suite struct BlockWalkTests {
    /// Ada and her people: Ben shares a streak with her, Cleo has her request, Dora has asked her.
    private struct Circle {
        let home: Installation
        var ada: Person
        var ben: Person
        var cleo: Person
        var dora: Person
        var ids: [String: [String]] = [:]

        var people: [Person] { [ada, ben, cleo, dora] }

        mutating func signIn() async throws {
            try await ada.signIn()
            try await ben.signIn()
            try await cleo.signIn()
            try await dora.signIn()
        }
    }

    /// A milestone, photos, avatars, prompts, requests, a nudge, notifications: all that names people to each other.
    private func circle() async throws -> Circle {
        let home = try await Installation(["--dev-clock"])
        var circle = Circle(
            home: home,
            ada: try await Person.register("adalgisa", at: home),
            ben: try await Person.register("benvenuto", at: home),
            cleo: try await Person.register("cleophea", at: home),
            dora: try await Person.register("dorothea", at: home)
        )
        let streak = try await circle.ada.befriend(circle.ben)
        try await home.live(days: 7, [circle.ada, circle.ben])
        try await home.travel(days: 1)
        try await circle.signIn()
        let (ada, ben, cleo, dora) = (circle.ada, circle.ben, circle.cleo, circle.dora)
        for person in circle.people {
            let avatar = try await person.setAvatar(try Photos.jpeg(40))
            try #require(avatar.status == 200, "\(avatar.text)")
            try await home.emit(
                EntitlementsChanged(userID: try #require(UserID(person.id)), version: 1, plan: .premium, expiresAt: nil),
                from: "billing"
            )
        }
        let nudge = try await ben.post("/api/friends/nudge/\(ada.id)")
        try #require(nudge.status == 200, "\(nudge.text)")
        for (index, person) in [ada, ben].enumerated() {
            let posted = try await person.upload(try Photos.jpeg(UInt64(41 + index)), caption: "words of \(person.username)")
            try #require(posted.status == 201, "\(posted.text)")
        }
        try #require(try await ada.request(cleo).status == 201)
        try #require(try await dora.request(ada).status == 201)
        try await eventually("ben may set prompts") {
            let set = try await home.call(
                "PUT",
                "/api/streaks/\(streak)/prompts",
                token: ben.token,
                json: "{\"prompts\":[{\"text\":\"Your shoes\"}]}"
            )
            return set.status == 200
        }
        let card = try await ben.generate(streak)
        try #require(card.status == 200, "\(card.text)")
        let token = try #require(card.data["share_url"].string?.split(separator: "/").last.map(String.init))
        // What Ada reads of Ben.
        var entries: [String] = []
        try await eventually("ada is notified of ben") {
            entries = try await ada.get("/api/notifications").data["notifications"].list.filter {
                $0["actor_id"].string == ben.id
            }
            .compactMap { $0["id"].string }
            return !entries.isEmpty
        }
        let joined = try await ada.circle("Both", with: [ben])
        for person in [ada, ben] {
            let checkIn = try await person.post("/api/circles/\(joined.id)/check-in", "{}")
            try #require(checkIn.status == 200, "\(checkIn.text)")
        }
        let (habit, date) = try await Self.habit(of: ada)
        let categories = try await ada.get("/api/habits/categories").data["categories"].list.compactMap { $0["id"].string }
        circle.ids = [
            "habit_id": [habit], "date": [date], "category_id": Array(categories.prefix(1)),
            "circle_id": [joined.id], "code": [joined.code], "notification_id": entries, "streak_id": [streak],
            "post_id": try await Self.posts(of: [ada, ben]), "author": circle.people.map(\.id),
            "user_id": circle.people.map(\.id), "username": circle.people.map(\.username),
            "type": ["daily_snap", "social_share"], "format": ["csv"], "bbox": ["13,52,14,53"], "zoom": ["12"],
            "token": [token, token + ".png"], "q": circle.people.flatMap { [$0.username, String($0.username.prefix(8))] },
        ]
        return circle
    }

    /// A habit, and a date on which it is done, with a photo.
    private static func habit(of person: Person) async throws -> (id: String, date: String) {
        let habit = try await person.post("/api/habits", "{\"name\":\"Read\"}")
        try #require(habit.status == 201, "\(habit.text)")
        let id = try #require(habit.data["id"].string)
        let date = try #require(try await person.post("/api/habits/\(id)/completions", "{}").data["date"].string)
        let photo = try await person.setHabitPhoto(try Photos.jpeg(46), of: id, on: date)
        try #require(photo.status == 200, "\(photo.text)")
        return (id, date)
    }

    private static func posts(of people: [Person]) async throws -> [String] {
        try await people.asyncMap { person in
            try #require(try await person.pin(try Photos.jpeg(45), at: 52.5, 13.4).data["post"]["id"].string)
        }
    }

    /// What names a user.
    private func words(_ person: Person) -> [String] {
        [person.id, person.username, String(person.username.prefix { $0 != "." })]
    }

    /// The routes at which `reader` finds something of `other`. What the reader has sent may come back: it reveals nothing.
    private func sightings(of other: Person, by reader: Person, _ circle: Circle, _ walk: GetWalk) async throws -> Set<String> {
        var found: Set<String> = []
        for (target, reply) in try await walk.look(reader, circle.ids) where reply.status == 200 {
            let text = reply.text.lowercased().replacing("\\/", with: "/")
            if target.route == "/s/{token}" {
                found.insert(target.address)
                continue
            }
            for word in words(other) where text.contains(word) && !target.address.contains(word) {
                // An export is one's own data: ids of others in it are what the user did, and name no other (AU-10).
                let isInLink = text.contains(try Regex("/(media|s)/[^\"?]*\(word)"))
                if target.route == "/api/users/me/export", word == other.id, !isInLink { continue }
                found.insert(target.route)
            }
        }
        return found
    }

    /// Waits until neither finds anything of the other any more.
    private func expectHidden(_ one: Person, _ two: Person, but own: Set<String>, _ circle: Circle, _ walk: GetWalk)
        async throws
    {
        for (reader, other) in [(one, two), (two, one)] {
            var left: Set<String> = []
            let allowed = reader.id == one.id ? own : []
            for _ in 0..<100 {
                left = try await sightings(of: other, by: reader, circle, walk).subtracting(allowed)
                if left.isEmpty { break }
                try await Task.sleep(for: .milliseconds(200))
            }
            #expect(left.isEmpty, "\(reader.username) still finds \(other.username): \(left.sorted())")
        }
    }

    private func block(_ blocker: Person, _ other: Person) async throws -> String {
        let reply = try await blocker.post("/api/blocks", "{\"user_id\":\"\(other.id)\"}")
        try #require(reply.status == 201, "\(reply.text)")
        return try #require(reply.data["block_id"].string)
    }

    @Test func `after a block, either way, no route names or shows one to the other, and after its end profiles are seen again`()
        async throws
    {
        var circle = try await circle()
        let walk = try await GetWalk(circle.home)
        let (ada, ben, cleo, dora) = (circle.ada, circle.ben, circle.cleo, circle.dora)
        try await expectSeen(circle, walk)
        let links = try await photoLinks(ada, ben, circle)
        #expect(links.count == 2)
        let (benBlocked, adaBlocked) = (try await block(ada, ben), try await block(dora, ada))
        _ = try await block(ada, cleo)
        // One's own list of blocks names whom one blocks.
        try await expectHidden(ada, ben, but: ["/api/blocks"], circle, walk)
        try await expectHidden(ada, cleo, but: ["/api/blocks"], circle, walk)
        try await expectHidden(dora, ada, but: ["/api/blocks"], circle, walk)
        for link in links {
            try await eventually("a link given out before is dead") { try await circle.home.http.send("GET", link).status == 404 }
        }
        try await expectLikeUnknown(ada, ben, circle)
        try await expectLikeUnknown(ben, ada, circle)
        try await expectNoReply(ben, ada)
        for (blocker, id) in [(ada, benBlocked), (dora, adaBlocked)] {
            let ended = try await circle.home.call("DELETE", "/api/blocks/\(id)", token: blocker.token)
            #expect(ended.status == 200, "\(ended.text)")
        }
        try await circle.signIn()
        try await expectSeenAgain(circle)
        await circle.home.guardian.end()
    }

    /// Before the block: every route answers, and the walk would notice.
    private func expectSeen(_ circle: Circle, _ walk: GetWalk) async throws {
        for (target, reply) in try await walk.look(circle.ada, circle.ids) {
            // An export of a calendar needs its format.
            if target.route.hasSuffix("/calendar/export"), !target.address.contains("format=") { continue }
            #expect(reply.status == 200, "\(target) is not filled as it must be: \(reply.text.prefix(500))")
        }
        let (ada, ben, cleo, dora) = (circle.ada, circle.ben, circle.cleo, circle.dora)
        let both: Set = [
            "/api/users/{user_id}", "/api/streaks", "/api/streaks/active", "/api/streaks/{streak_id}",
            "/api/streaks/{streak_id}/milestone-data", "/api/streaks/{streak_id}/photos", "/api/photos/history/{streak_id}",
            "/api/photos/feed", "/api/streaks/feed", "/api/friends", "/api/friends/search", "/api/notifications",
            "/api/users/me/export", "/api/circles/{circle_id}/members", "/api/circles/{circle_id}/streak",
            "/api/circles/{circle_id}/feed", "/api/posts", "/api/posts/{post_id}", "/api/posts/clusters",
        ]
        for (reader, other) in [(ada, ben), (ben, ada)] {
            let found = try await sightings(of: other, by: reader, circle, walk)
            #expect(both.subtracting(found).isEmpty, "\(reader.username) does not find \(other.username) at all of them")
            #expect(found.contains { $0.hasPrefix("/s/") && $0.hasSuffix(".png") })
        }
        #expect(try await sightings(of: ben, by: ada, circle, walk).contains("/api/streaks/{streak_id}/prompts"))
        for (reader, other) in [(ada, cleo), (cleo, ada), (ada, dora), (dora, ada)] {
            #expect(try await sightings(of: other, by: reader, circle, walk).contains("/api/friends/requests"))
        }
    }

    /// Paths and queries of each one's link to the other's photo.
    private func photoLinks(_ one: Person, _ two: Person, _ circle: Circle) async throws -> [String] {
        try await [one, two].asyncMap { person in
            let text = try await person.get("/api/photos/feed").data["items"][0]["friend_snap"]["photo_url"].string
            let url = try #require(text.flatMap { URL(string: $0) })
            return url.path + "?" + (url.query ?? "")
        }
    }

    /// What a user does about one who is hidden is answered as if there were no such person, streak or friend (PF-2).
    private func expectLikeUnknown(_ reader: Person, _ other: Person, _ circle: Circle) async throws {
        let (streak, unknown) = (circle.ids["streak_id"]?.first ?? "", UUID().uuidString.lowercased())
        func pairs(_ path: (_ user: String, _ streak: String) -> String) -> (String, String) {
            (path(other.id, streak), path(unknown, unknown))
        }
        for path in [
            pairs { user, _ in "/api/users/\(user)" }, pairs { "/api/streaks/\($1)" }, pairs { "/api/streaks/\($1)/calendar" },
            pairs { "/api/streaks/\($1)/milestone-data" }, pairs { "/api/streaks/\($1)/prompts" },
            pairs { "/api/prompts/today?streak_id=\($1)" },
        ] {
            let (hidden, missing) = (try await reader.get(path.0), try await reader.get(path.1))
            #expect(hidden.status == 404 && hidden.json["error"] == missing.json["error"], "\(path.0): \(hidden.text)")
        }
        for (path, body) in [
            ("/api/friends/request", "{\"user_id\":\"\(other.id)\"}"), ("/api/friends/nudge/\(other.id)", "{}"),
            ("/api/streaks", "{\"friend_id\":\"\(other.id)\"}"), ("/api/streaks/\(streak)/recover", "{}"),
            ("/api/milestones/\(streak)/generate", "{}"),
        ] {
            let reply = try await reader.post(path, body == "{}" && !path.contains("generate") ? nil : body)
            #expect(reply.status == 404, "\(path): \(reply.text)")
            #expect(words(other).dropFirst().allSatisfy { !reply.text.contains($0) }, "\(reply.text)")
        }
        let prompts = try await circle.home.call(
            "PUT",
            "/api/streaks/\(streak)/prompts",
            token: reader.token,
            json: "{\"prompts\":[{\"text\":\"Your hands\"}]}"
        )
        #expect(prompts.status == 404, "\(prompts.text)")
        let cleared = try await circle.home.call("DELETE", "/api/streaks/\(streak)/prompts", token: reader.token)
        #expect(cleared.status == 404, "\(cleared.text)")
    }

    /// A report of the blocker and a block of them are answered as of a user who does not exist.
    private func expectNoReply(_ blocked: Person, _ blocker: Person) async throws {
        let stranger = "0190a0b0-0000-7000-8000-000000000001"
        func answers(about user: String) async throws -> [String] {
            let report = #"{"subject_type":"user","subject_id":"\#(user)","reason":"harassment"}"#
            let replies = [
                try await blocked.post("/api/reports", report), try await blocked.post("/api/blocks", #"{"user_id":"\#(user)"}"#),
            ]
            return replies.map { "\($0.status) \($0.code ?? "") \($0.json["error"]["message"].string ?? "")" }
        }
        let answered = try await answers(about: blocker.id)
        #expect(try await answered == answers(about: stranger))
        #expect(answered.allSatisfy { $0.hasPrefix("404 ") }, "\(answered)")
        #expect(try await blocked.get("/api/blocks").data["blocks"].list.isEmpty)
    }

    /// After the end of the block what every user may see is seen again, and what the two had shared; they are no friends.
    private func expectSeenAgain(_ circle: Circle) async throws {
        let streak = circle.ids["streak_id"]?.first ?? ""
        for (reader, other) in [(circle.ada, circle.ben), (circle.ben, circle.ada), (circle.ada, circle.dora)] {
            try await eventually("\(reader.username) sees \(other.username) again") {
                try await reader.get("/api/users/\(other.id)").data["username"].string == other.username
            }
        }
        for (reader, other) in [(circle.ada, circle.ben), (circle.ben, circle.ada)] {
            try await eventually("the detail of what they had is back") {
                let detail = try await reader.get("/api/streaks/\(streak)").data["streak"]
                return detail["status"].string == "ended" && detail["friend"]["user_id"].string == other.id
            }
            try await eventually("and old entries") { try await reader.get("/api/notifications").text.contains(other.id) }
            #expect(try await reader.get("/api/friends").data["friends"].list.isEmpty)
        }
        #expect(try await circle.ada.get("/api/users/\(circle.cleo.id)").status == 404, "she is blocked still")
    }
}
