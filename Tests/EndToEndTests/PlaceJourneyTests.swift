import Foundation
import TestSupport
import Testing

/// Photos pinned to places (PL-1 to PL-3, PL-7), as apps meet them: guests, strangers, blocks, votes, an account that is deleted.
struct PlaceJourneyTests {
    private func ids(_ reply: HTTPReply) -> [String] { reply.data["posts"].list.compactMap { $0["id"].string } }

    /// A link's path with its query.
    private func target(_ link: JSON) throws -> String {
        let url = try #require(link.string.flatMap { URL(string: $0) })
        return url.path + "?" + (url.query ?? "")
    }

    private func guest(_ home: Installation) async throws -> String {
        let guest = try await home.call("POST", "/api/auth/guest", json: "{\"device_id\":\"\(UUID().uuidString)\"}")
        return try #require(guest.data["access_token"].string)
    }

    @Test func `a post is seen by guests and strangers, voted on, and gone for whom its author blocks`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        // A place of this test's own.
        let (latitude, longitude) = (-48.1234567, 179.9999)
        let area = "/api/posts?bbox=179.9,-48.2,-179.9,-48.0"
        let id = UUID().uuidString.lowercased()
        let fields = [("post_id", id), ("caption", "Edge of the map"), ("precision", "1km")]
        let photo = try Photos.jpeg(91, width: 900, height: 600)
        let posted = try await ada.pin(photo, at: latitude, longitude, fields)
        #expect(posted.status == 201, "\(posted.text)")
        // Days later, from an app that never saw the answer.
        let again = try await ada.pin(photo, at: latitude, longitude, fields, key: UUID().uuidString)
        #expect(again.status == 201 && again.data["post"]["id"].string == id, "\(again.text)")
        let post = posted.data["post"]
        #expect(post["author"]["username"].string == ada.username && post["type"].string == "photo")
        #expect(post["geohash"].string?.count == 6 && post["my_vote"].isNull && post["vote_count"].int == 0)
        #expect(!posted.text.contains("1234567"), "nothing of the exact position: \(posted.text)")

        let guest = try await guest(home)
        for query in [
            area, "/api/posts?lat=-48.12&lon=-179.99&radius=9000", "/api/posts?geohash=\(post["geohash"].string ?? "")",
        ] {
            let found = try await home.call("GET", query, token: guest)
            #expect(found.status == 200 && ids(found) == [id], "\(query): \(found.text)")
        }
        let seen = try await home.call("GET", "/api/posts/\(id)", token: guest)
        #expect(seen.data["post"]["caption"].string == "Edge of the map")
        for (link, side) in [("photo_url", 900), ("thumbnail_url", 300)] {
            let picture = try await home.http.send("GET", try target(seen.data["post"][link]))
            #expect(picture.status == 200 && Photos.metadata(in: picture.body) == [])
            #expect(try #require(Photos.size(ofJPEG: picture.body)).0 == side)
        }
        for (verb, path, json) in [
            ("PUT", "/api/posts/\(id)/vote", "{\"vote\":\"up\"}"), ("DELETE", "/api/posts/\(id)", nil),
            ("GET", "/api/places/cities", nil),
        ] {
            let reply = try await home.call(verb, path, token: guest, json: json)
            #expect(reply.status == 403 && reply.code == "GUEST_NOT_ALLOWED", "\(reply.text)")
        }
        try await voteAndBlock(id, area, ada, ben)
    }

    /// Of the post of the journey: votes, a block, an export, its removal.
    private func voteAndBlock(_ id: String, _ area: String, _ ada: Person, _ ben: Person) async throws {
        let home = ada.home
        let eve = try await Person.register("eve", at: home)
        let up = try await home.call("PUT", "/api/posts/\(id)/vote", token: ben.token, json: "{\"vote\":\"up\"}")
        #expect(up.status == 200 && up.data["my_vote"].string == "up" && up.data["up"].int == 1, "\(up.text)")
        let down = try await home.call("PUT", "/api/posts/\(id)/vote", token: eve.token, json: "{\"vote\":\"down\"}")
        #expect(down.data["vote_count"].int == 0 && down.data["down"].int == 1, "\(down.text)")
        let own = try await home.call("PUT", "/api/posts/\(id)/vote", token: ada.token, json: "{\"vote\":\"up\"}")
        #expect(own.status == 400 && own.code == "OWN_POST", "\(own.text)")
        let listed = try await ben.get(area).data["posts"][0]
        #expect(listed["my_vote"].string == "up" && listed["up"].int == 1 && listed["down"].int == 1, "\(listed)")

        let stranger = try await home.call("DELETE", "/api/posts/\(id)", token: eve.token)
        #expect(stranger.status == 404, "\(stranger.text)")
        try #require(try await ada.post("/api/blocks", "{\"user_id\":\"\(eve.id)\"}").status == 201)
        try await eventually("eve finds nothing any more") {
            let (one, all) = (try await eve.get("/api/posts/\(id)"), try await eve.get(area))
            return one.status == 404 && all.status == 200 && ids(all).isEmpty
        }
        #expect(ids(try await ben.get(area)) == [id])
        #expect(ids(try await ada.get("/api/posts?mine=true")) == [id])
        #expect(try await ada.export().json["media"]["posts"][0]["caption"].string == "Edge of the map")
        #expect(try await ben.export().json["media"]["post_votes"][0]["post_id"].string == id)

        let link = try target(try await ben.get("/api/posts/\(id)").data["post"]["photo_url"])
        let removed = try await home.call("DELETE", "/api/posts/\(id)", token: ada.token)
        #expect(removed.status == 200, "\(removed.text)")
        #expect(ids(try await ben.get(area)).isEmpty)
        try await eventually("its photo is gone") { try await home.http.send("GET", link).status == 404 }
        let late = try await ada.pin(try Photos.jpeg(91, width: 900, height: 600), at: 1, 1, [("post_id", id)])
        #expect(late.status == 400 && late.code == "POST_REMOVED", "\(late.text)")
        try await eventually("and its votes") {
            try await home.sql("SELECT count(*) FROM media.place_vote WHERE post_id = '\(id)'") == "0"
        }
    }

    @Test func `a post needs accepted terms, a photo and a position`() async throws {
        let home = try await Installation.shared.value
        let ada = try await Person.register("ada", at: home)
        var new = Person(home: home, username: Person.unique("new"))
        let registration = new.registration()
        try new.take(try await Person.patiently { try await home.call("POST", "/api/auth/register", json: registration) }, 201)
        let early = try await new.pin(try Photos.jpeg(92), at: 1, 1)
        #expect(early.status == 400 && early.code == "TERMS_NOT_ACCEPTED", "\(early.text)")
        let nowhere = try await ada.pin(try Photos.jpeg(92), at: 91, 500)
        #expect(nowhere.status == 400 && nowhere.fields == ["latitude", "longitude"], "\(nowhere.text)")
        let broken = try await ada.pin(Array("<svg/>".utf8), at: 1, 1)
        #expect(broken.code == "UNSUPPORTED_IMAGE_TYPE", "\(broken.text)")
        let vague = try await ada.pin(try Photos.jpeg(92), at: 1, 1, [("precision", "10km")])
        #expect(vague.status == 400 && vague.fields == ["precision"], "\(vague.text)")
        #expect(ids(try await ada.get("/api/posts?mine=true")).isEmpty)
        #expect(home.blobs(of: ada).isEmpty)
    }

    @Test func `who deletes the account is not seen at once, and the votes are subtracted when it is purged`() async throws {
        let home = try await Installation(["--dev-clock"])
        var (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        let posted = try await ada.pin(try Photos.jpeg(93), at: 10, 10)
        let id = try #require(posted.data["post"]["id"].string)
        let other = try await ben.pin(try Photos.jpeg(94), at: 10, 10)
        let bens = try #require(other.data["post"]["id"].string)
        for post in [bens] {
            let vote = try await home.call("PUT", "/api/posts/\(post)/vote", token: ada.token, json: "{\"vote\":\"up\"}")
            #expect(vote.data["up"].int == 1, "\(vote.text)")
        }
        let proof = "{\"password\":\"\(Person.password)\"}"
        let deleted = try await home.call("DELETE", "/api/auth/account", token: ada.token, json: proof)
        try #require(deleted.status == 200, "\(deleted.text)")
        let reader = ben
        try await eventually("her post is not seen") { try await reader.get("/api/posts/\(id)").status == 404 }
        #expect(ids(try await ben.get("/api/posts?bbox=9,9,11,11")) == [bens])
        try await home.travel(days: 31)
        try await ben.signIn()
        let later = ben
        try await eventually("her vote is subtracted", within: .seconds(60)) {
            try await later.get("/api/posts/\(bens)").data["post"]["up"].int == 0
        }
        let (author, schema) = (ada.id, "media.place_post")
        try await eventually("her post and its photo are gone", within: .seconds(60)) {
            let rows = try await home.sql("SELECT count(*) FROM \(schema) WHERE user_id = '\(author)'")
            return rows == "0" && home.blobs(of: ada).allSatisfy { !$0.contains("/posts/") }
        }
        await home.guardian.end()
    }

    @Test func `saved cities are a user's own`() async throws {
        let home = try await Installation.shared.value
        let ada = try await Person.register("ada", at: home)
        for number in 1...11 {
            let city = "{\"name\":\"City \(number)\",\"latitude\":\(number),\"longitude\":0}"
            try #require(try await ada.post("/api/places/cities", city).status == 200)
        }
        let favorite = "{\"name\":\"city 11\",\"latitude\":11,\"longitude\":0}"
        let set = try await home.call("PUT", "/api/places/cities/favorite", token: ada.token, json: favorite)
        #expect(set.data["recent"].list.map { $0["name"].string } == (2...11).reversed().map { "City \($0)" }, "\(set.text)")
        #expect(try await ada.get("/api/places/cities").data["favorite"]["name"].string == "city 11")
        let removed = try await home.call("DELETE", "/api/places/cities?name=CITY%2011", token: ada.token)
        #expect(removed.data["favorite"].isNull && removed.data["recent"].list.count == 9, "\(removed.text)")
        let cleared = try await home.call("DELETE", "/api/places/cities/favorite", token: ada.token)
        #expect(cleared.status == 200 && cleared.data["favorite"].isNull)
    }
}
