import Foundation
import TestSupport
import Testing

/// Friends, search, nudges and blocks over HTTP (SO-1 to SO-7).
struct SocialTests {
    private func people(_ names: String...) async throws -> [Person] {
        let home = try await Installation.shared.value
        var people: [Person] = []
        for name in names { people.append(try await Person.register(name, at: home)) }
        return people
    }

    private func friends(of person: Person) async throws -> [JSON] { try await person.get("/api/friends").data["friends"].list }

    @Test func `a request can be withdrawn, and a declined one is not repeated for a week`() async throws {
        let people = try await people("sam", "tia")
        let (sam, tia) = (people[0], people[1])
        let first = try #require(try await sam.request(tia).data["friendship_id"].string)
        #expect(try await tia.delete("/api/friends/\(first)").status == 404, "the receiver declines instead")
        let withdrawn = try await sam.delete("/api/friends/\(first)")
        #expect(withdrawn.status == 200 && withdrawn.data["status"].string == "withdrawn", "\(withdrawn.text)")
        #expect(try await sam.delete("/api/friends/\(first)").data["status"].string == "withdrawn", "again the same")
        #expect(try await tia.respond(first).status == 404)
        #expect(try await tia.get("/api/friends/requests").data["requests"].list.isEmpty)

        let second = try #require(try await sam.request(tia).data["friendship_id"].string)
        #expect(second != first)
        let declined = try await tia.delete("/api/friends/request/\(second)/decline")
        #expect(declined.data["status"].string == "declined", "\(declined.text)")
        let again = try await sam.request(tia)
        #expect(again.status == 400 && again.code == "FRIEND_REQUEST_DECLINED", "\(again.text)")
        #expect(again.header("Retry-After").flatMap { Int($0) } ?? 0 > 600_000)
        #expect(try await tia.request(sam).status == 201, "the one who declined may ask")
    }

    @Test func `refusals of a request say what is wrong`() async throws {
        let sam = try await people("sam")[0]
        let itself = try await sam.request(sam)
        #expect(itself.status == 400 && itself.code == "CANNOT_BEFRIEND_SELF")
        for body in [#"{"username":"unknown.of.this.name"}"#, #"{"user_id":"0190a0b0-0000-7000-8000-000000000001"}"#] {
            #expect(try await sam.post("/api/friends/request", body).status == 404)
        }
        #expect(try await sam.post("/api/friends/request", "{}").status == 400)
        #expect(try await sam.delete("/api/friends/0190a0b0-0000-7000-8000-000000000001").status == 404)
        #expect(try await sam.delete("/api/friends/nonsense").status == 400)
    }

    @Test func `requests list by direction, in pages`() async throws {
        let people = try await people("sam", "a", "b", "c", "d")
        let sam = people[0]
        for person in people[1...2] { #expect(try await sam.request(person).status == 201) }
        for person in people[3...4] { #expect(try await person.request(sam).status == 201) }
        for (direction, expected) in [("outgoing", people[1...2]), ("incoming", people[3...4]), ("", people[1...4])] {
            var (found, cursor, pages): ([String], String?, Int) = ([], "", 0)
            while let next = cursor, pages < 10 {
                let filter = direction.isEmpty ? "" : "&direction=\(direction)"
                let page = try await sam.get("/api/friends/requests?limit=1\(filter)" + (next.isEmpty ? "" : "&cursor=\(next)"))
                #expect(page.data["requests"].list.count == 1, "a page is full whatever the filter: \(page.text)")
                found += page.data["requests"].list.compactMap { $0["user"]["user_id"].string }
                cursor = page.json["meta"]["next_cursor"].string
                pages += 1
            }
            #expect(found == expected.reversed().map(\.id), "\(direction)")
        }
        #expect(try await sam.get("/api/friends/requests?cursor=nonsense").status == 400)
    }

    @Test func `removing a friend ends the streak for both, and the two may start again`() async throws {
        let people = try await people("sam", "tia")
        let (sam, tia) = (people[0], people[1])
        try await sam.befriend(tia)
        let friendship = try #require(try await friends(of: tia).first?["friendship_id"].string)
        let removed = try await tia.delete("/api/friends/\(friendship)")
        #expect(removed.status == 200 && removed.data["status"].string == "ended", "\(removed.text)")
        #expect(try await sam.delete("/api/friends/\(friendship)").status == 200, "it is what both want")
        for person in people {
            #expect(try await friends(of: person).isEmpty)
            try await eventually("no streak runs") { try await person.get("/api/streaks").data["streaks"].list.isEmpty }
        }
        try await sam.befriend(tia)
        #expect(try await friends(of: sam).first?["streak"]["current_count"].int == 0)
    }

    @Test func `people are found by their names, without their e-mail`() async throws {
        let home = try await Installation.shared.value
        let tag = UUID().uuidString.prefix(8).lowercased()
        let sam = try await Person.register("sam", at: home)
        var quentin = Person(home: home, username: "quentin.\(tag)")
        try quentin.take(try await home.call("POST", "/api/auth/register", json: quentin.registration()), 201)
        try await eventually("the index has them") {
            try await sam.get("/api/friends/search?q=quentin.\(tag)").data["users"].list.count == 1
        }
        for q in ["QUENTIN.\(tag)", "@quentin.\(tag)", "uentin.\(tag)", "\(tag)"] {
            let reply = try await sam.get("/api/friends/search?q=\(q)")
            #expect(reply.data["users"].list.map { $0["user"]["user_id"].string } == [quentin.id], "\(q): \(reply.text)")
            #expect(reply.data["users"][0]["friendship_status"].isNull)
            #expect(!reply.text.contains("example.com"), "no e-mail is ever returned")
        }
        #expect(try await quentin.get("/api/friends/search?q=\(tag)").data["users"].list.isEmpty, "never oneself")
        #expect(try await sam.request(quentin).status == 201)
        #expect(try await sam.get("/api/friends/search?q=\(tag)").data["users"][0]["direction"].string == "outgoing")
        for bad in ["", "?q=", "?q=%20", "?q=\(String(repeating: "x", count: 101))", "?q=a&limit=-1"] {
            let reply = try await sam.get("/api/friends/search\(bad)")
            #expect(reply.status == 400 && reply.code == "VALIDATION_ERROR", "\(bad): \(reply.text)")
        }
        #expect(try await home.call("GET", "/api/friends/search?q=sam").status == 401)
    }

    @Test func `a friend is nudged once in four hours, and not after posting`() async throws {
        let people = try await people("sam", "tia", "uma")
        let (sam, tia, uma) = (people[0], people[1], people[2])
        #expect(try await sam.post("/api/friends/nudge/\(tia.id)").status == 404, "friends only")
        try await sam.befriend(tia)
        let nudged = try await sam.post("/api/friends/nudge/\(tia.id)", key: "nudge")
        #expect(nudged.status == 200 && nudged.data["next_nudge_at"].string != nil, "\(nudged.text)")
        #expect(try await sam.post("/api/friends/nudge/\(tia.id)", key: "nudge").data == nudged.data)
        let again = try await sam.post("/api/friends/nudge/\(tia.id)")
        #expect(again.status == 429 && again.code == "NUDGED_RECENTLY" && again.header("Retry-After") != nil, "\(again.text)")
        try await eventually("the nudge is in the log") { try await tia.notifications("nudge").count == 1 }
        let entry = try await tia.notifications("nudge")[0]
        #expect(entry["actor_id"].string == sam.id && entry["streak_id"].string == nudged.data["streak_id"].string)

        try await sam.befriend(uma)
        #expect(try await uma.upload(try Photos.jpeg(77)).status == 201)
        let late = try await sam.post("/api/friends/nudge/\(uma.id)")
        #expect(late.status == 400 && late.code == "FRIEND_ALREADY_POSTED", "\(late.text)")
        #expect(try await uma.post("/api/friends/nudge/\(sam.id)").status == 200, "the other way round it is another nudge")
    }

    @Test func `a block hides each from the other everywhere, and unblocking restores nothing`() async throws {
        let people = try await people("sam", "tia", "uma")
        let (sam, tia, uma) = (people[0], people[1], people[2])
        let streak = try await sam.befriend(tia)
        for person in people[0...1] { #expect(try await person.upload(try Photos.jpeg(78)).status == 201) }
        #expect(try await sam.get("/api/photos/feed").data["items"].list.count == 1)
        let block = try await sam.post("/api/blocks", "{\"user_id\":\"\(tia.id)\"}")
        #expect(block.status == 201 && block.data["user"]["username"].string == tia.username, "\(block.text)")
        #expect(try await sam.post("/api/blocks", "{\"user_id\":\"\(tia.id)\"}").data == block.data, "again the same")

        for (one, other) in [(sam, tia), (tia, sam)] {
            #expect(try await friends(of: one).isEmpty)
            #expect(try await one.get("/api/friends/search?q=\(other.username)").data["users"].list.isEmpty)
            let asked = try await one.request(other)
            #expect(asked.status == 404 && asked.code == "NOT_FOUND", "as if there were no such person: \(asked.text)")
            #expect(asked.text.contains("user"))
            #expect(try await one.post("/api/friends/nudge/\(other.id)").status == 404)
            try await eventually("the streak is over") { try await one.get("/api/streaks").data["streaks"].list.isEmpty }
            try await eventually("the feed is empty") { try await one.get("/api/photos/feed").data["items"].list.isEmpty }
        }
        #expect(!streak.isEmpty)

        let listed = try await sam.get("/api/blocks").data["blocks"].list
        #expect(listed.map { $0["user"]["user_id"].string } == [tia.id])
        #expect(try await tia.get("/api/blocks").data["blocks"].list.isEmpty, "the blocked user does not see it")
        let id = try #require(block.data["block_id"].string)
        #expect(try await tia.delete("/api/blocks/\(id)").status == 404, "another user's block")
        for _ in 0..<2 { #expect(try await sam.delete("/api/blocks/\(id)").status == 200) }
        #expect(try await sam.get("/api/blocks").data["blocks"].list.isEmpty)
        #expect(try await friends(of: sam).isEmpty)
        #expect(try await tia.request(sam).status == 201, "they may start anew")

        #expect(try await sam.post("/api/blocks", "{\"user_id\":\"\(sam.id)\"}").code == "CANNOT_BLOCK_SELF")
        #expect(try await sam.post("/api/blocks", #"{"user_id":"0190a0b0-0000-7000-8000-000000000001"}"#).status == 404)
        #expect(try await sam.request(uma).status == 201)
        #expect(try await uma.post("/api/blocks", "{\"user_id\":\"\(sam.id)\"}").status == 201)
        #expect(
            try await sam.get("/api/friends/requests?direction=outgoing").data["requests"].list.isEmpty,
            "a pending one goes too"
        )
    }

    @Test func `20 new requests an hour get through`() async throws {
        let sam = try await people("sam")[0]
        var others: [Person] = []
        for number in 0..<21 { others.append(try await Person.register("o\(number)", at: sam.home)) }
        for other in others.prefix(20) { #expect(try await sam.request(other).status == 201) }
        let refused = try await sam.request(others[20])
        #expect(refused.status == 429 && refused.code == "TOO_MANY_FRIEND_REQUESTS", "\(refused.text)")
        #expect((1...3_601).contains(refused.header("Retry-After").flatMap { Int($0) } ?? 0))
    }
}

extension Person {
    func delete(_ path: String) async throws -> HTTPReply { try await home.call("DELETE", path, token: token) }

    func put(_ path: String, _ json: String) async throws -> HTTPReply {
        try await home.call("PUT", path, token: token, json: json)
    }
}
