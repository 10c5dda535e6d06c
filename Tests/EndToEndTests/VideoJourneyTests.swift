import Foundation
import Processes
import TestSupport
import Testing

/// Videos and presigned uploads over HTTP (PL-1): posted, read with ranges, played by a browser; nothing is left of what is refused.
struct VideoJourneyTests {
    private static let video = Task { try await SampleVideo(.h264InMP4, width: 320, height: 240, color: "red").bytes() }

    /// A link's path with its query.
    private func target(_ link: JSON) throws -> String {
        let url = try #require(link.string.flatMap { URL(string: $0) })
        return url.path + "?" + (url.query ?? "")
    }

    private func pin(_ video: [UInt8], by person: Person, _ fields: [(String, String)] = [], part: String = "video") async throws
        -> HTTPReply
    {
        let all = [("latitude", "12.5"), ("longitude", "-77.25")] + fields
        let form = Form(photo: video, part: part, fileName: "clip.mp4", type: "video/mp4", fields: all)
        let headers = [Form.contentType, ("Authorization", "Bearer \(person.token)")]
        return try await person.home.http.send("POST", "/api/posts", headers: headers, body: form.body)
    }

    private func sha256(_ bytes: [UInt8]) async throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "hashed-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(bytes).write(to: file)
        return String(try await run("sha256sum", [file.path]).text.prefix(64))
    }

    private func presign(_ bytes: [UInt8], _ type: String, by person: Person, id: String? = nil) async throws -> JSON {
        let post = id.map { ",\"post_id\":\"\($0)\"" } ?? ""
        let json = "{\"size\":\(bytes.count),\"type\":\"\(type)\",\"sha256\":\"\(try await sha256(bytes))\"\(post)}"
        let reply = try await person.post("/api/posts/presign", json)
        try #require(reply.status == 201, "\(reply.text)")
        return reply.data
    }

    /// Sends a file as the reply to a presign says; the client sets the length by itself.
    private func send(_ bytes: [UInt8], _ upload: JSON, at home: Installation, changing changes: [String: String] = [:])
        async throws
        -> HTTPReply
    {
        let headers = upload["headers"].list.compactMap { header -> (String, String)? in
            guard let name = header["name"].string, let value = header["value"].string, name != "content-length" else {
                return nil
            }
            return (name, changes[name] ?? value)
        }
        return try await home.http.send("PUT", try target(upload["url"]), headers: headers, body: bytes)
    }

    @Test func `a video is posted, read with ranges, and its link plays in a browser`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        let posted = try await pin(try await Self.video.value, by: ada, [("caption", "Red")])
        try #require(posted.status == 201, "\(posted.text)")
        let id = try #require(posted.data["post"]["id"].string)
        let post = try await ben.get("/api/posts/\(id)").data["post"]
        #expect(post["type"].string == "video" && (1_900...2_200).contains(post["duration_ms"].int ?? 0), "\(post)")
        #expect(post["width"].int == 320 && post["poster_url"].string == post["photo_url"].string)
        let link = try target(post["video_url"])
        let whole = try await home.http.send("GET", link)
        #expect(whole.status == 200 && whole.header("Content-Type") == "video/mp4" && whole.header("Accept-Ranges") == "bytes")
        #expect(whole.body.firstRange(of: Array(SampleVideo.secret.utf8)) == nil)
        let part = try await home.http.send("GET", link, headers: [("Range", "bytes=100-199")])
        #expect(part.status == 206 && part.body == Array(whole.body[100..<200]))
        #expect(part.header("Content-Range") == "bytes 100-199/\(whole.body.count)")
        let past = try await home.http.send("GET", link, headers: [("Range", "bytes=99999999-")])
        #expect(past.status == 416)
        #expect(try await home.http.send("GET", link.replacing("video.mp4", with: "video.webm")).status == 404)

        let site = "http://127.0.0.1:\(home.http.port)"
        let page = FileManager.default.temporaryDirectory.appending(path: "video-\(UUID().uuidString).html")
        defer { try? FileManager.default.removeItem(at: page) }
        // The picture comes from the video itself: there is no poster, and the page is grey where no frame is shown.
        let html = """
            <!doctype html><body style="margin:0;background:#888"><video muted autoplay width="320" height="240" src="\(site)\(link)"></video>
            """
        try Data(html.utf8).write(to: page)
        let shown = try await Screenshot(of: page.absoluteString, width: 320, height: 240, name: "places/video")
        let pixel = shown.pixel(160, 120)
        #expect(pixel.red > 180 && pixel.green < 80 && pixel.blue < 80, "\(pixel)")
        #expect(try await home.call("DELETE", "/api/posts/\(id)", token: ada.token).status == 200)
        try await eventually("the video is gone") { try await home.http.send("GET", link).status == 404 }
        try await eventually("and its files") { home.blobs(of: ada).isEmpty }
    }

    @Test func `a link for an upload stores nothing more when the account is deleted`() async throws {
        let home = try await Installation.shared.value
        let ada = try await Person.register("ada", at: home)
        let bytes = try Photos.jpeg(75)
        let upload = try await presign(bytes, "image/jpeg", by: ada)
        #expect(try await ada.delete().status == 200)
        try await eventually("the link leads nowhere") { try await send(bytes, upload, at: home).status == 404 }
    }

    @Test func `a file is announced, sent by its link and confirmed`() async throws {
        let home = try await Installation.shared.value
        let (ada, eve) = (try await Person.register("ada", at: home), try await Person.register("eve", at: home))
        let (bytes, id) = (try await Self.video.value, UUID().uuidString.lowercased())
        let upload = try await presign(bytes, "video/mp4", by: ada, id: id)
        let uploadID = try #require(upload["upload_id"].string)
        let json = "{\"upload_id\":\"\(uploadID)\",\"latitude\":1,\"longitude\":2}"
        let early = try await ada.post("/api/posts", json)
        #expect(early.status == 400 && early.code == "UPLOAD_INCOMPLETE", "\(early.text)")
        for (name, value) in [("content-type", "video/webm"), ("content-digest", "sha-256=:AAAA:")] {
            let refused = try await send(bytes, upload, at: home, changing: [name: value])
            #expect(refused.status == 400 && refused.code == "FILE_MISMATCH" && refused.fields == [name], "\(refused.text)")
        }
        for wrong in [bytes + [1], Array(bytes.dropLast()), Array(bytes.dropLast()) + [(bytes.last ?? 0) ^ 1]] {
            let refused = try await send(wrong, upload, at: home)
            #expect(refused.status == 400 && refused.code == "FILE_MISMATCH", "\(refused.text)")
        }
        let link = try target(upload["url"])
        for forged in [
            link.replacing("size=\(bytes.count)", with: "size=5"), String(link.dropLast()), "/uploads/\(ada.id)/\(uploadID)",
        ] {
            let refused = try await home.http.send("PUT", forged, headers: [("Content-Type", "video/mp4")], body: bytes)
            #expect(refused.status == 404, "\(refused.text)")
        }
        #expect(try await home.http.send("GET", link).status == 405)
        #expect(home.blobs(of: ada).isEmpty)
        // Others are sending, too.
        let there = Set(home.incoming)
        try await eventually("nothing of what was refused is left") { there.isDisjoint(with: home.incoming) }
        for _ in 0..<2 { #expect(try await send(bytes, upload, at: home).status == 204, "the same file may be sent again") }
        #expect(try await home.http.send("GET", link.replacing("/uploads/", with: "/media/uploads/")).status == 404)
        let foreign = try await eve.post("/api/posts", json)
        #expect(foreign.status == 404, "\(foreign.text)")
        let nowhere = try await ada.post("/api/posts", "{\"upload_id\":\"\(uploadID)\"}")
        #expect(nowhere.status == 400 && nowhere.fields == ["latitude", "longitude"], "\(nowhere.text)")
        for _ in 0..<2 {
            let confirmed = try await ada.post("/api/posts", json)
            #expect(confirmed.status == 201 && confirmed.data["post"]["id"].string == id, "\(confirmed.text)")
            #expect(confirmed.data["post"]["type"].string == "video")
        }
        let other = "{\"upload_id\":\"\(uploadID)\",\"post_id\":\"\(UUID().uuidString)\",\"latitude\":1,\"longitude\":2}"
        #expect(try await ada.post("/api/posts", other).code == "UPLOAD_USED")
        #expect(home.blobs(of: ada).allSatisfy { $0.contains("/posts/") })
        #expect(try await ada.export().json["media"]["post_uploads"][0]["id"].string == uploadID)
        #expect(try await ada.export().json["media"]["posts"][0]["video_url"].string?.contains("/\(id)/video.mp4?") == true)
    }

    @Test func `a request names one file, and a key of the store is none`() async throws {
        let home = try await Installation.shared.value
        let ada = try await Person.register("ada", at: home)
        let none = try await ada.post("/api/posts", "{\"latitude\":1,\"longitude\":2}")
        #expect(none.status == 400 && none.fields == ["photo"], "\(none.text)")
        let key = "{\"photo\":{\"key\":\"incoming/x\",\"sha256\":\"x\"},\"latitude\":1,\"longitude\":2}"
        let written = try await ada.post("/api/posts", key)
        #expect(written.status == 400 && written.fields == ["photo"], "\(written.text)")
        let both = try await pin(try await Self.video.value, by: ada, [("upload_id", UUID().uuidString)])
        #expect(both.status == 400 && both.fields == ["upload_id"], "\(both.text)")
        let wrongPart = try await pin(try await Self.video.value, by: ada, part: "photo")
        #expect(wrongPart.status == 400 && wrongPart.code == "UNSUPPORTED_IMAGE_TYPE", "\(wrongPart.text)")
        for (type, size, code) in [("image/jpeg", "10485761", "VALIDATION_ERROR"), ("image/gif", "5", "VALIDATION_ERROR")] {
            let hash = String(repeating: "0", count: 64)
            let refused = try await ada.post(
                "/api/posts/presign",
                "{\"size\":\(size),\"type\":\"\(type)\",\"sha256\":\"\(hash)\"}"
            )
            #expect(refused.code == code, "\(refused.text)")
        }
        #expect(home.blobs(of: ada).isEmpty)
    }

    @Test func `hostile files are refused clearly, and the executable lives and stays small`() async throws {
        let home = try await Installation(["--separate"])
        let ada = try await Person.register("ada", at: home)
        let before = home.processes()
        // Every kind of them; all of them are tested in the service.
        for file in try await HostileFile.all().enumerated().filter({ $0.offset % 9 == 4 }).map(\.element)
        where !file.bytes.isEmpty {
            let reply = file.isVideo ? try await pin(file.bytes, by: ada) : try await ada.pin(file.bytes, at: 1, 1)
            #expect(reply.status == 400 && reply.code != nil && reply.code != "VALIDATION_ERROR", "\(file.name): \(reply.text)")
        }
        #expect(home.blobs(of: ada).isEmpty)
        #expect(try await home.sql("SELECT count(*) FROM media.place_post WHERE user_id = '\(ada.id)'") == "0")
        #expect(Set(before.keys).isSubset(of: Set(home.processes().keys)))
        let media = try #require(before.first { $0.value == "media" }?.key)
        let memory = try #require(ProcessTree.mostMemory(of: media))
        #expect(memory < 200_000_000, "\(memory) bytes")
        #expect(try await ada.pin(try Photos.jpeg(97), at: 1, 1).status == 201)
        await home.guardian.end()
    }
}
