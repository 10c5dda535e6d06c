import Foundation
import TestSupport
import Testing

/// Stored photos and the links to them.
struct PhotoTests {
    /// One photo that is posted, as its author sees it.
    private static let posted = Task { () -> JSON in
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await ada.befriend(ben)
        let reply = try await ada.upload(try Photos.jpeg(3, width: 2_400, height: 300))
        try #require(reply.status == 201, "\(reply.text)")
        return reply.data["snap"]
    }

    private func link(_ name: String = "photo_url") async throws -> String {
        let text = try #require(try await Self.posted.value[name].string)
        let url = try #require(URL(string: text))
        return url.path + "?" + (url.query ?? "")
    }

    private func get(_ target: String, _ headers: [(String, String)] = []) async throws -> HTTPReply {
        try await Installation.shared.value.http.send("GET", target, headers: headers)
    }

    @Test func `renditions are small enough and hold no metadata`() async throws {
        #expect(Photos.metadata(in: try Photos.jpeg(3)).count >= 3, "the photo that was posted must hold what is to be removed")
        let display = try await get(try await link())
        #expect(display.status == 200)
        #expect(display.header("Content-Type") == "image/jpeg")
        let size = try #require(Photos.size(ofJPEG: display.body))
        #expect(size == (2_048, 256))
        #expect(Photos.metadata(in: display.body) == [])
        let thumbnail = try await get(try await link("thumbnail_url"))
        let small = try #require(Photos.size(ofJPEG: thumbnail.body))
        #expect(small == (300, 300))
        #expect(Photos.metadata(in: thumbnail.body) == [])
        let home = try await Installation.shared.value
        for file in Files.all(below: home.data.appending(path: "blobs/snaps")) {
            #expect(Photos.metadata(in: Array(try Data(contentsOf: file))) == [], "\(file.path)")
        }
    }

    @Test func `a snap says which prompt it answers, and is no repeat of one for another`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await ada.befriend(ben)
        let photo = try Photos.jpeg(81)
        func upload(_ prompt: String?, key: String? = nil) async throws -> HTTPReply {
            let fields = [("streak_ids", "all")] + (prompt.map { [("prompt_id", $0)] } ?? [])
            return try await ada.upload(Form(photo: photo, fields: fields), key: key)
        }
        let unknown = try await upload("no-such-prompt")
        #expect(unknown.status == 400 && unknown.code == "VALIDATION_ERROR" && unknown.text.contains("prompt_id"))
        #expect(Files.all(below: home.data.appending(path: "blobs/snaps")).allSatisfy { !$0.path.contains(ada.id) })
        let key = "prompt-\(ada.id)"
        let first = try await upload("food-01", key: key)
        #expect(first.status == 201 && first.data["snap"]["prompt_id"].string == "food-01", "\(first.text)")
        #expect(try await upload("food-01", key: key).data == first.data)
        for other in ["food-02", nil] {
            #expect(try await upload(other, key: key).code == "IDEMPOTENCY_KEY_REUSED", "\(other ?? "none")")
        }
        let feed = try await ada.get("/api/photos/feed").data["items"].list
        #expect(feed.first?["your_snap"]["prompt_id"].string == "food-01")
        _ = try await ben.upload(try Photos.jpeg(82))
        let seen = try await ben.get("/api/photos/feed").data["items"].list
        #expect(seen.first?["friend_snap"]["prompt_id"].string == "food-01")
    }

    @Test func `a person deletes a snap of theirs, and the date stays counted`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        let streak = try await ada.befriend(ben)
        let posted = try await ada.upload(try Photos.jpeg(83), caption: "a secret", key: "snap-\(ada.id)")
        _ = try await ben.upload(try Photos.jpeg(84))
        let id = try #require(posted.data["snap"]["id"].string)
        #expect(try await ben.delete("/api/photos/\(id)").status == 404)
        let seen = try await ben.get("/api/photos/feed").data["items"][0]["friend_snap"]["photo_url"].string
        let links = [seen, posted.data["snap"]["photo_url"].string].compactMap { $0.flatMap(URL.init(string:)) }
        #expect(links.count == 2)
        for _ in 0..<2 { #expect(try await ada.delete("/api/photos/\(id)").status == 200) }
        try await eventually("links that were given die") {
            for link in links where try await get(link.path + "?" + (link.query ?? "")).status != 404 { return false }
            return true
        }
        let hers = try await ada.get("/api/photos/feed").data["items"][0]
        #expect(hers["your_snap_deleted"].bool == true && hers["your_turn"].bool == false && hers["your_snap"].isNull)
        let his = try await ben.get("/api/photos/history/\(streak)")
        #expect(his.data["days"][0]["friend_snap_deleted"].bool == true && !his.text.contains("a secret"))
        #expect(try await ben.get("/api/streaks/\(streak)").data["streak"]["current_count"].int == 1)
        #expect(try await !ada.upload(try Photos.jpeg(83), key: "snap-\(ada.id)").text.contains("a secret"))
    }

    @Test func `a position planted in EXIF, XMP and the text of a PNG is in nothing that is stored`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await ada.befriend(ben)
        let mark = "PLANTED-52.5163N-13.3777E"
        // EXIF with a position and XMP are in both; each gets a mark in one more place.
        var jpeg = try Photos.jpeg(71)
        let packet = Array("http://ns.adobe.com/xap/1.0/\0<x exif:GPSLatitude=\"\(mark)\"/>".utf8)
        jpeg.insert(contentsOf: [0xFF, 0xE1, 0, UInt8(packet.count + 2)] + packet, at: 2)
        var png = try Photos.png(72)
        png.insert(contentsOf: PhotoBomb.chunk("tEXt", Array("GPSPosition\0\(mark)".utf8)), at: 33)
        for (author, photo) in [(ada, jpeg), (ben, png)] {
            #expect(Photos.metadata(in: photo).contains("GPS") && photo.firstRange(of: Array(mark.utf8)) != nil)
            let reply = try await author.upload(photo)
            #expect(reply.status == 201, "\(reply.text)")
            #expect(try await author.setAvatar(photo).status == 200)
            let stored = Files.all(below: home.data.appending(path: "blobs")).filter { $0.path.contains(author.id) }
            #expect(stored.count == 4, "two of the snap, two of the avatar: \(stored)")
            for file in stored {
                let bytes = Array(try Data(contentsOf: file))
                #expect(Photos.metadata(in: bytes) == [], "\(file.path)")
                #expect(bytes.firstRange(of: Array("PLANTED".utf8)) == nil, "\(file.path)")
            }
        }
    }

    @Test func `a link answers validators and ranges`() async throws {
        let link = try await link()
        let whole = try await get(link)
        let tag = try #require(whole.header("ETag"))
        #expect(whole.header("Accept-Ranges") == "bytes")
        let same = try await get(link, [("If-None-Match", tag)])
        #expect(same.status == 304)
        #expect(same.body.isEmpty)
        #expect(try await get(link, [("If-None-Match", "\"other\"")]).status == 200)

        let part = try await get(link, [("Range", "bytes=10-19")])
        #expect(part.status == 206)
        #expect(part.header("Content-Range") == "bytes 10-19/\(whole.body.count)")
        #expect(part.body == Array(whole.body[10..<20]))
        let end = try await get(link, [("Range", "bytes=-5")])
        #expect(end.body == Array(whole.body.suffix(5)))
        let beyond = try await get(link, [("Range", "bytes=\(whole.body.count)-")])
        #expect(beyond.status == 416)
        #expect(beyond.header("Content-Range") == "bytes */\(whole.body.count)")

        // Only GET has ranges.
        for range in [nil, "bytes=10-19", "bytes=\(whole.body.count)-"] {
            let headers = range.map { [("Range", $0)] } ?? []
            let head = try await Installation.shared.value.http.send("HEAD", link, headers: headers)
            #expect(head.status == 200)
            #expect(head.header("Content-Length") == "\(whole.body.count)")
            #expect(head.body.isEmpty && head.header("Content-Range") == nil)
        }
    }

    @Test func `a link that was tampered with leads nowhere`() async throws {
        let link = try await link()
        let end = try #require(link.last)
        let other = String(link.dropLast()) + (end == "A" ? "E" : "A")
        let unsigned = try #require(link.split(separator: "?").first.map(String.init))
        let forged = [
            other, link.replacing("exp=", with: "exp=9"), link.replacing("display.jpg", with: "thumbnail.jpg"),
            unsigned, link.replacing("/media/snaps", with: "/media/../snaps"), "/media/incoming/x?exp=1&sig=1", "/media/",
        ]
        for target in forged {
            let reply = try await get(target)
            #expect(reply.status == 404, "\(target)")
            #expect(reply.code == "NOT_FOUND")
        }
    }
}
