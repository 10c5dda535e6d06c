import Foundation
import Processes
import TestSupport
import Testing

/// Posts on maps (PL-4), by words (PL-2) and as files (PL-6), as apps and their developers meet them.
struct PlaceMapTests {
    private func guest(_ home: Installation) async throws -> String {
        let guest = try await home.call("POST", "/api/auth/guest", json: "{\"device_id\":\"\(UUID().uuidString)\"}")
        return try #require(guest.data["access_token"].string)
    }

    private func map(_ home: Installation, _ box: String, zoom: Double, by token: String) async throws -> [JSON] {
        let reply = try await home.call("GET", "/api/posts/clusters?bbox=\(box)&zoom=\(zoom)", token: token)
        #expect(reply.status == 200 && reply.data["form"].string == "clusters", "\(reply.text)")
        return reply.data["clusters"].list
    }

    private func kinds(_ clusters: [JSON]) -> [String] { clusters.compactMap { $0["kind"].string }.sorted() }

    /// Two clumps, a pair and a single in and around Freiburg; the posts of the first clump are Ada's and Ben's.
    private func post(_ ada: Person, _ ben: Person) async throws -> [String] {
        var ids: [String] = []
        for (index, (latitude, longitude)) in [
            (47.990, 7.840), (47.992, 7.842), (47.995, 7.850), (48.000, 7.845), (47.997, 7.860), (48.090, 7.950),
            (48.092, 7.952), (48.094, 7.950), (48.096, 7.955), (48.098, 7.949), (47.900, 7.700), (47.901, 7.702),
            (48.140, 7.700),
        ].enumerated() {
            let author = index < 2 ? ada : ben
            let photo = try Photos.jpeg(UInt64(500 + index))
            let posted = try await author.pin(photo, at: latitude, longitude, [("caption", "Sample view \(index)")])
            ids.append(try #require(posted.data["post"]["id"].string, "\(posted.text)"))
        }
        return ids
    }

    @Test func `a map shows circles, markers and pins that panning does not change, and each reader their own`() async throws {
        let home = try await Installation(["--dev-clock"])
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await page(of: home, by: ada)
        let ids = try await post(ada, ben)
        let guest = try await guest(home)
        let (wide, west, east) = ("7.6,47.8,8.1,48.2", "7.8,47.98,7.85,48.05", "7.845,47.9,8.0,48.0")
        #expect(kinds(try await map(home, wide, zoom: 6, by: guest)) == ["large", "large"])
        #expect(kinds(try await map(home, wide, zoom: 9, by: guest)) == ["large", "large", "single", "small"])
        let near = try await map(home, wide, zoom: 12, by: guest)
        #expect(kinds(near) == ["large", "large"] + ids.map { _ in "single" })
        let pins = near.filter { $0["kind"].string == "single" }
        #expect(Set(pins.compactMap { $0["post"]["id"].string }) == Set(ids) && pins.allSatisfy { $0["count"].int == 1 })
        // The first clump is the same from both sides.
        let first = try await map(home, west, zoom: 7, by: guest)
        #expect(first.count == 1 && first.first?["members"].list.compactMap(\.string) == ids.prefix(5).sorted())
        let other = try await map(home, east, zoom: 7, by: guest)
        #expect(other.map { $0["id"].string } == first.map { $0["id"].string })
        #expect((first.first?["radius"].number ?? 0) > 600)
        try await look(at: home)

        // Without Ada's two posts it is no circle any more.
        try #require(try await ada.post("/api/blocks", "{\"user_id\":\"\(ben.id)\"}").status == 201)
        try await eventually("ben's first clump is a small one") {
            kinds(try await map(home, wide, zoom: 9, by: ben.token)) == ["large", "single", "small", "small"]
        }
        #expect(kinds(try await map(home, wide, zoom: 9, by: ada.token)) == ["small"])
        #expect(try await map(home, wide, zoom: 7, by: guest).count == 2)
        let wrong = try await home.call("GET", "/api/posts/clusters?bbox=1,2,3&zoom=4", token: guest)
        #expect(wrong.status == 400 && wrong.fields == ["bbox"], "\(wrong.text)")
        await home.guardian.end()
    }

    /// The page for development while one post is all that there is, far from the others: it is seen at every zoom.
    private func page(of home: Installation, by author: Person) async throws {
        let page = try await home.http.send("GET", "/map")
        let policy = page.header("content-security-policy") ?? ""
        #expect(page.status == 200 && policy.hasPrefix("default-src 'none'; script-src 'self'; "), "\(policy)")
        let ordinary = try await Installation.shared.value
        #expect(try await ordinary.http.send("GET", "/map").status == 404)
        let posted = try await author.pin(try Photos.jpeg(499), at: 52.5163, 13.3777, [("caption", "At the gate")])
        try #require(posted.data["post"]["id"].string != nil, "\(posted.text)")
        let address = "http://127.0.0.1:\(home.http.port)"
        let text = try await PageScript.play("map.py", [address, "At the gate"], within: .seconds(300))
        #expect(text.hasSuffix("read\n"), "\(text)")
    }

    /// Several posts on the page, on a phone's screen and a desktop's.
    private func look(at home: Installation) async throws {
        for (width, height, name) in [(390, 844, "phone"), (1_280, 800, "desktop")] {
            let address = "http://127.0.0.1:\(home.http.port)/map#10.2/48.0/7.84"
            let shown = try await Screenshot(of: address, width: width, height: height, name: "map-\(name)", scriptTime: 8_000)
            // Circles are red with a darker edge, pairs orange.
            let red = shown.count(columns: 0..<shown.width) { $0.red > 200 && $0.green < 90 && $0.blue < 90 }
            let orange = shown.count(columns: 0..<shown.width) { $0.red > 220 && (120...160).contains($0.green) && $0.blue < 60 }
            #expect(red > 60 && orange > 60, "\(name): \(red) \(orange)")
        }
    }

    @Test func `a download has time and place as exactly as the author lets others know, by another program's reading`()
        async throws
    {
        let home = try await Installation.shared.value
        let ada = try await Person.register("ada", at: home)
        let python = try await PythonPackages.pictures.value
        let guest = try await guest(home)
        for (precision, latitude, longitude, at) in [
            ("exact", -33.856_812, 151.215_312, "2026-03-04T05:06:07.250Z"),
            ("1km", 52.516_312, -13.377_712, "2026-03-04T23:59:59Z"),
        ] {
            let fields = [("precision", precision), ("captured_at", at)]
            let posted = try await ada.pin(try Photos.jpeg(77), at: latitude, longitude, fields)
            let post = posted.data["post"]
            let id = try #require(post["id"].string, "\(posted.text)")
            for token in [ada.token, guest] {
                let file = try await home.http.send(
                    "GET",
                    "/api/posts/\(id)/download",
                    headers: [("Authorization", "Bearer \(token)")]
                )
                #expect(file.status == 200 && file.header("content-type") == "image/jpeg")
                #expect(file.header("content-disposition") == "attachment; filename=\"photo.jpg\"")
                let read = try await exif(file.body, python)
                #expect(read["time"].string == String(at.prefix(19)).replacing("-", with: ":").replacing("T", with: " "))
                #expect(read["offset"].string == "+00:00" && read["size"].list.compactMap(\.int) == [400, 300])
                let (north, east) = (try #require(read["latitude"].number), try #require(read["longitude"].number))
                #expect(
                    abs(north - (post["latitude"].number ?? 99)) < 1e-6 && abs(east - (post["longitude"].number ?? 999)) < 1e-6
                )
                #expect((abs(north - latitude) < 1e-6) == (precision == "exact"))
                // Two tags for the lists, seven of the photo, eight of the position, and nothing of the upload's own.
                #expect(read["tags"].int == 17, "\(read)")
            }
            let stranger = try await Person.register("eve", at: home)
            try #require(try await ada.post("/api/blocks", "{\"user_id\":\"\(stranger.id)\"}").status == 201)
            try await eventually("whom she blocks gets nothing") {
                try await stranger.get("/api/posts/\(id)/download").status == 404
            }
        }
    }

    /// What Pillow finds.
    private func exif(_ bytes: [UInt8], _ python: String) async throws -> JSON {
        let file = FileManager.default.temporaryDirectory.appending(path: "download-\(UUID()).jpg")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(bytes).write(to: file)
        let script = """
            import json, sys
            from PIL import Image
            image = Image.open(sys.argv[1]); image.load()
            exif = image.getexif(); photo = exif.get_ifd(0x8769); gps = exif.get_ifd(0x8825)
            def degrees(parts, side): return float(parts[0] + parts[1] / 60 + parts[2] / 3600) * (-1 if side in "SW" else 1)
            print(json.dumps({"size": image.size, "time": photo[0x9003], "offset": photo[0x9011],
                "latitude": degrees(gps[2], gps[1]), "longitude": degrees(gps[4], gps[3]),
                "tags": len(exif) + len(photo) + len(gps)}))
            """
        let result = try await run(python, ["-c", script, file.path])
        try #require(result.status == 0, "\(result.transcript)")
        return try JSON(result.output)
    }

    @Test func `posts are found by words of their caption and place`() async throws {
        let home = try await Installation.shared.value
        let ada = try await Person.register("ada", at: home)
        let word = "blimp\(ada.username.filter(\.isNumber))"
        let posted = try await ada.pin(try Photos.jpeg(78), at: 35.6586, 139.7454, [("caption", "A \(word) above Tōkyō")])
        #expect(
            posted.data["post"]["city"].string == "Tokyo" && posted.data["post"]["country_code"].string == "JP",
            "\(posted.text)"
        )
        for query in ["\(word)%20tokyo", "JAPAN%20\(word)"] {
            let found = try await ada.get("/api/posts?q=\(query)")
            #expect(found.data["posts"].list.count == 1, "\(query): \(found.text)")
        }
        #expect(try await ada.get("/api/posts?q=\(word)%20berlin").data["posts"].list.isEmpty)
    }
}
