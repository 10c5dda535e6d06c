import Foundation
import TestSupport
import Testing

/// Pictures of people (AU-10): stored, shown wherever the person is, and gone when they are replaced, removed or may not be seen.
struct AvatarTests {
    private func friends() async throws -> (Person, Person) {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await ada.befriend(ben)
        return (ada, ben)
    }

    private func target(_ url: String) -> String { URL(string: url)?.path ?? "" }

    @Test func `a picture becomes two squares, and is shown wherever its owner is`() async throws {
        let (ada, ben) = try await friends()
        #expect(try await ada.get("/api/users/me").data["avatar_url"].isNull)
        let reply = try await ada.setAvatar(try Photos.jpeg(81, width: 900, height: 300))
        #expect(reply.status == 200, "\(reply.text)")
        let url = try #require(reply.data["avatar_url"].string)
        let small = try #require(reply.data["thumbnail_url"].string)
        #expect(small == url.replacing("512.jpg", with: "128.jpg") && !url.contains("?"), "stable, and nothing to sign")
        for (link, side) in [(url, 512), (small, 128)] {
            let picture = try await ada.home.http.send("GET", target(link))
            #expect(picture.status == 200)
            #expect(try #require(Photos.size(ofJPEG: picture.body)) == (side, side))
            #expect(Photos.metadata(in: picture.body) == [])
            #expect(picture.header("Cache-Control") == "public, max-age=60")
            let tag = try #require(picture.header("ETag"))
            let same = try await ada.home.http.send("GET", target(link), headers: [("If-None-Match", tag)])
            #expect(same.status == 304)
        }
        try await eventually("she sees it herself") { try await ada.get("/api/users/me").data["avatar_url"].string == url }
        let places: [@Sendable () async throws -> JSON] = [
            { try await ben.get("/api/users/\(ada.id)").data["avatar_url"] },
            { try await ben.get("/api/friends").data["friends"][0]["user"]["avatar_url"] },
            { try await ben.get("/api/streaks").data["streaks"][0]["friend"]["avatar_url"] },
            { try await ben.get("/api/photos/feed").data["items"][0]["friend"]["avatar_url"] },
            { try await ben.get("/api/friends/search?q=\(ada.username)").data["users"][0]["user"]["avatar_url"] },
        ]
        for (index, place) in places.enumerated() {
            try await eventually("her friend sees it in place \(index)") { try await place().string == url }
        }
        #expect(try await ada.export().json["media"]["avatars"][0]["avatar_url"].string == url)
    }

    @Test func `another picture has another link, and the one before is deleted`() async throws {
        let (ada, ben) = try await friends()
        let first = try #require(try await ada.setAvatar(try Photos.jpeg(82)).data["avatar_url"].string)
        let second = try #require(try await ada.setAvatar(try Photos.jpeg(83)).data["avatar_url"].string)
        #expect(first != second)
        #expect(try await ada.home.http.send("GET", target(first)).status == 200, "lists with it may still be in a cache")
        // The minute is over.
        _ = try await ada.home.sql("UPDATE media.avatar SET due_at = now() WHERE user_id = '\(ada.id)' AND state = 2")
        try await eventually("the first is gone") { try await ada.home.http.send("GET", target(first)).status == 404 }
        try await eventually("with its row") {
            try await ada.home.sql("SELECT count(*) FROM media.avatar WHERE user_id = '\(ada.id)'") == "1"
        }
        #expect(ada.home.blobs(of: ada).filter { $0.contains("/avatars/") }.count == 2)
        try await eventually("the friend sees the second") {
            try await ben.get("/api/friends").data["friends"][0]["user"]["avatar_url"].string == second
        }

        for _ in 0..<2 {
            let removed = try await ada.home.call("DELETE", "/api/users/me/avatar", token: ada.token)
            #expect(removed.status == 200, "\(removed.text)")
        }
        try await eventually("the second is gone") { try await ada.home.http.send("GET", target(second)).status == 404 }
        try await eventually("and no event is emitted for it") {
            let friends = try await ben.get("/api/friends").data["friends"]
            let me = try await ada.get("/api/users/me").data
            return friends[0]["user"]["avatar_url"].isNull && me["avatar_url"].isNull
        }
        try await eventually("no byte is left") { ada.home.blobs(of: ada).isEmpty }
        #expect(try await ada.export().json["media"]["avatars"].list.isEmpty)
    }

    @Test func `a link that was kept dies when its owner blocks another, and friends get a new one`() async throws {
        let (ada, ben) = try await friends()
        let eve = try await Person.register("eve", at: ada.home)
        let reply = try await ada.setAvatar(try Photos.jpeg(87))
        let kept = [try #require(reply.data["avatar_url"].string), try #require(reply.data["thumbnail_url"].string)]
        let bytes = try await ada.home.http.send("GET", target(kept[0])).body
        #expect(try await ada.post("/api/blocks", "{\"user_id\":\"\(eve.id)\"}").status == 201)
        for link in kept {
            try await eventually("\(link) is dead") { try await ada.home.http.send("GET", target(link)).status == 404 }
        }
        try await eventually("her friend sees the same picture by another link") {
            guard let link = try await ben.get("/api/users/\(ada.id)").data["avatar_url"].string, link != kept[0] else {
                return false
            }
            return try await ada.home.http.send("GET", target(link)).body == bytes
        }
        try await eventually("what was moved is deleted") {
            try await ada.home.sql("SELECT count(*) FROM media.avatar WHERE user_id = '\(ada.id)'") == "1"
        }
        #expect(ada.home.blobs(of: ada).filter { $0.contains("/avatars/") }.count == 2)
    }

    @Test func `a repeat with the same key is one picture`() async throws {
        let home = try await Installation.shared.value
        let ada = try await Person.register("ada", at: home)
        let picture = try Photos.jpeg(84)
        let first = try await ada.setAvatar(picture, key: "avatar-1")
        #expect(first.status == 200, "\(first.text)")
        #expect(try await ada.setAvatar(picture, key: "avatar-1").data == first.data)
        let other = try await ada.setAvatar(try Photos.jpeg(85), key: "avatar-1")
        #expect(other.code == "IDEMPOTENCY_KEY_REUSED", "\(other.text)")
        try await eventually("what the repeats made is deleted") {
            try await home.sql("SELECT count(*) FROM media.avatar WHERE user_id = '\(ada.id)'") == "1"
        }
        #expect(home.blobs(of: ada).count == 2)
        #expect(try await home.http.send("GET", target(first.data["avatar_url"].string ?? "")).status == 200)
    }

    @Test func `of what is no picture nothing is kept`() async throws {
        let home = try await Installation.shared.value
        let ada = try await Person.register("ada", at: home)
        let photo = try Photos.jpeg(86)
        let wrong: [([UInt8]?, String, Int, String)] = [
            (Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8), "avatar", 400, "UNSUPPORTED_IMAGE_TYPE"),
            ([], "avatar", 400, "UNSUPPORTED_IMAGE_TYPE"),
            (Array(photo.prefix(photo.count / 2)), "avatar", 400, "IMAGE_UNDECODABLE"),
            (photo + [UInt8](repeating: 0, count: 10_485_761 - photo.count), "avatar", 413, "FILE_TOO_LARGE"),
            (nil, "avatar", 400, "VALIDATION_ERROR"), (photo, "photo", 400, "VALIDATION_ERROR"),
        ]
        for (picture, part, status, code) in wrong {
            let reply = try await ada.setAvatar(picture, part: part)
            #expect(reply.status == status && reply.code == code, "\(reply.text)")
        }
        #expect(try await home.sql("SELECT count(*) FROM media.avatar WHERE user_id = '\(ada.id)'") == "0")
        // Those of other tests may be among them; they go too.
        let there = Set(home.incoming)
        try await eventually("no part of an upload is left") { there.isDisjoint(with: home.incoming) }
        #expect(home.blobs(of: ada).isEmpty)
    }

    @Test func `a picture whose maker died is collected`() async throws {
        let home = try await Installation.shared.value
        let ada = try await Person.register("ada", at: home)
        let id = UUID().uuidString.lowercased()
        let folder = home.data.appending(path: "blobs/avatars/\(ada.id)/\(id)")
        _ = try await home.sql(
            "INSERT INTO media.avatar (id, user_id, due_at) VALUES ('\(id)', '\(ada.id)', now() + interval '1 h')"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data([1]).write(to: folder.appending(path: "512.jpg"))
        _ = try await home.sql("UPDATE media.avatar SET due_at = now() WHERE id = '\(id)'")
        try await eventually("blob and row are gone") {
            let rows = try await home.sql("SELECT count(*) FROM media.avatar WHERE id = '\(id)'")
            return rows == "0" && home.blobs(of: ada).isEmpty
        }
    }
}
