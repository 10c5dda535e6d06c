import Foundation
import TestSupport
import Testing

/// Milestone cards and their public pages (MC-1, MC-2), by the development clock.
extension ClockTests {
    @Test func `a milestone becomes one card, whose page is public until it is withdrawn`() async throws {
        let home = try await Installation.timeTravelling.value
        var (ivy, jon) = (try await Person.register("ivy", at: home), try await Person.register("jon", at: home))
        var (kim, lee) = (try await Person.register("kim", at: home), try await Person.register("lee", at: home))
        let (streak, other) = (try await ivy.befriend(jon), try await kim.befriend(lee))
        let early = try await ivy.generate(streak)
        #expect(early.status == 400 && early.code == "MILESTONE_NOT_REACHED", "\(early.text)")
        try await home.live(days: 7, [ivy, jon, kim, lee])
        try await ivy.signIn()
        try await jon.signIn()
        try await kim.signIn()
        try await lee.signIn()

        let card = try await made(ivy, jon, streak)
        try await copied(ivy, streak, stranger: kim)
        try await shown(card, ivy)
        try await looked(card, home)
        try await refusals(card, streak, ivy, stranger: kim)
        try await withdrawn(card, streak, ivy, jon)
        try await deleted(kim, lee, other)
    }

    private struct Card {
        let id: String
        /// Of the public page, without the address of the installation.
        let page: String
        let image: String
    }

    private func card(_ reply: HTTPReply) throws -> Card {
        try #require(reply.status == 200, "\(reply.text)")
        let image = try #require(reply.data["image_url"].string.flatMap { URL(string: $0) })
        return Card(
            id: try #require(reply.data["milestone_id"].string),
            page: try #require(reply.data["share_url"].string.flatMap { URL(string: $0) }).path,
            image: image.path + "?" + (image.query ?? "")
        )
    }

    /// Sixteen at once, by both.
    private func made(_ ivy: Person, _ jon: Person, _ streak: String) async throws -> Card {
        let replies = try await withThrowingTaskGroup(of: HTTPReply.self) { group in
            for index in 0..<16 {
                group.addTask {
                    try await (index % 2 == 0 ? ivy : jon).generate(streak, "{\"milestone\":7,\"style\":\"purple\"}")
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for reply in replies { #expect(reply.status == 200, "\(reply.text)") }
        #expect(Set(replies.compactMap { $0.data["milestone_id"].string }).count == 1)
        #expect(Set(replies.compactMap { $0.data["share_url"].string }).count == 1)
        let stored = ivy.home.blobs(of: ivy).filter { $0.contains("/cards/") }
        #expect(stored.count == 1, "\(stored)")
        let first = try #require(replies.first)
        #expect(first.data["style"].string == "purple" && first.data["milestone"].int == 7)
        #expect(first.data["width"].int == 1_080 && first.data["height"].int == 1_920)

        let image = try await ivy.home.http.send("GET", try card(first).image)
        #expect(image.status == 200 && image.header("Content-Type") == "image/png")
        #expect(Array(image.body.prefix(4)) == [0x89, 0x50, 0x4E, 0x47])
        #expect(Array(image.body[16..<24]) == [0, 0, 0x04, 0x38, 0, 0, 0x07, 0x80], "1080 × 1920")

        let plain = try await jon.generate(streak)
        #expect(plain.data["milestone"].int == 7, "the highest that was reached")
        #expect(plain.data["style"].string == "orange")
        #expect(plain.data["milestone_id"].string != first.data["milestone_id"].string, "another style is another card")
        return try card(first)
    }

    /// What a client that draws the card itself shows has the link to copy, in one call.
    private func copied(_ ivy: Person, _ streak: String, stranger: Person) async throws {
        let data = try await ivy.get("/api/streaks/\(streak)/milestone-data")
        #expect(data.status == 200 && data.data["milestone"].int == 7, "\(data.text)")
        let plain = try await ivy.generate(streak)
        #expect(data.data["milestone_id"].string == plain.data["milestone_id"].string)
        let link = try #require(data.data["share_url"].string)
        #expect(link == plain.data["share_url"].string)
        let path = try #require(URL(string: link)).path
        #expect(try await ivy.home.http.send("GET", path).status == 200)
        #expect(try await stranger.get("/api/streaks/\(streak)/milestone-data").status == 404)

        // Reading is not sharing: a withdrawn page stays so until its user shares it again, and then has a new address.
        let id = try #require(plain.data["milestone_id"].string)
        #expect(try await ivy.revoke(id).status == 200)
        #expect(try await ivy.get("/api/streaks/\(streak)/milestone-data").data["share_url"].isNull)
        #expect(try await ivy.share(id, "photos").data["share_url"].isNull, "who keeps the picture shares nothing")
        #expect(try await ivy.home.http.send("GET", path).status == 404)
        let again = try #require(try await ivy.share(id, "link").data["share_url"].string.flatMap { URL(string: $0) }).path
        #expect(again != path)
        #expect(try await ivy.home.http.send("GET", again).status == 200)
        #expect(try await ivy.home.http.send("GET", path).status == 404)
    }

    private func shown(_ card: Card, _ ivy: Person) async throws {
        let home = ivy.home
        let page = try await home.http.send("GET", card.page)
        #expect(page.status == 200 && page.header("Content-Type") == "text/html; charset=utf-8")
        let policy = try #require(page.header("Content-Security-Policy"))
        #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe") && !policy.contains("script"))
        #expect(page.header("Cache-Control") == "public, max-age=60")
        #expect(page.header("X-Content-Type-Options") == "nosniff" && page.header("Referrer-Policy") == "no-referrer")
        let tags = page.tags
        #expect(tags["og:title"]?.hasPrefix("🔥 7-day streak: ") == true && tags["og:title"]?.contains("ivy") == true)
        #expect(tags["og:url"] == "http://127.0.0.1:\(home.http.port)\(card.page)")
        #expect(tags["og:image"] == "http://127.0.0.1:\(home.http.port)\(card.page).wide.png")
        #expect(tags["og:image:width"] == "1200" && tags["og:image:height"] == "630")
        #expect(tags["twitter:card"] == "summary_large_image" && tags["twitter:image"] == tags["og:image"])
        // Several messengers at once, and networks append what they like.
        let previews = try await withThrowingTaskGroup(of: HTTPReply.self) { group in
            for _ in 0..<8 { group.addTask { try await home.http.send("GET", card.page + ".wide.png?fbclid=x&utm_source=y") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for preview in previews {
            #expect(preview.status == 200 && preview.header("Content-Type") == "image/png", "\(preview.status)")
            #expect(Array(preview.body[16..<24]) == [0, 0, 0x04, 0xB0, 0, 0, 0x02, 0x76], "1200 × 630")
        }
        #expect(Set(previews.map(\.body)).count == 1)
        #expect(try await home.http.send("GET", card.page + "?fbclid=x&igsh=y&utm_medium=z").status == 200)
        #expect(page.text.contains("<h1><b>7</b> day streak") && !page.text.contains("<script"))

        let image = try await home.http.send("GET", card.page + ".png")
        #expect(image.status == 200 && image.header("Content-Type") == "image/png")
        #expect(image.header("Cache-Control") == "public, max-age=60")
        #expect(image.body == (try await home.http.send("GET", card.image)).body)
        let tag = try #require(image.header("ETag"))
        #expect(try await home.http.send("GET", card.page + ".png", headers: [("If-None-Match", tag)]).status == 304)
        #expect(try await home.http.send("GET", card.page + ".png", headers: [("Range", "bytes=0-7")]).body.count == 8)
        // Networks append their own to every link that is shared.
        for query in ["?fbclid=IwAR0abc", "?utm_source=share&utm_medium=social", "?igsh=x%3D%3D&token=other"] {
            #expect(try await home.http.send("GET", card.page + query).body == page.body, "\(query)")
            #expect(try await home.http.send("GET", card.page + ".png" + query).body == image.body, "\(query)")
        }
        // Messengers ask so before they fetch.
        for (target, whole) in [(card.page, page), (card.page + ".png", image)] {
            let head = try await home.http.send("HEAD", target)
            #expect(head.status == 200 && head.body.isEmpty && head.header("Content-Length") == "\(whole.body.count)")
            #expect(head.header("Content-Type") == whole.header("Content-Type"))
        }
        for missing in ["/s/none", "/s/none.png", "/s/\(String(repeating: "A", count: 32))", card.page + "x", card.page + ".jpg"]
        {
            let reply = try await home.http.send("GET", missing)
            #expect(reply.status == 404 && reply.text.contains("Nothing here"), "\(missing): \(reply.text)")
        }
    }

    /// In a real browser, which obeys the policy: style sheet and picture are let through, and nothing is cut off.
    private func looked(_ card: Card, _ home: Installation) async throws {
        let site = "http://127.0.0.1:\(home.http.port)"
        for (width, height) in [(390, 844), (844, 390), (1_280, 800)] {
            let name = "cards/page-\(width)x\(height)"
            let page = try await Screenshot(of: site + card.page, width: width, height: height, name: name)
            try #require(page.width == width && page.height == height)
            for (x, y) in [(0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1)] {
                let (red, green, blue) = page.pixel(x, y)
                #expect(blue > 150 && blue > red + 40 && red > green, "purple to the corners: \((red, green, blue)) at \((x, y))")
            }
            for edge in [0..<10, width - 10..<width] {
                #expect(page.count(columns: edge) { $0.green > 200 } == 0, "no text or picture is cut off")
            }
            let card = width > height ? 0..<width / 2 : 0..<width
            #expect(page.count(columns: card) { $0.red > 230 && $0.green < 200 && $0.blue < 60 } > 200, "the flame on the card")
            #expect(page.count(columns: card) { min($0.red, $0.green, $0.blue) > 250 } > 2_000, "its seven")
            guard width > height else { continue }
            #expect(page.count(columns: width / 2..<width) { min($0.red, $0.green, $0.blue) > 250 } > 500, "the words beside it")
        }
        let nothing = try await Screenshot(of: site + "/s/none", width: 390, height: 844, name: "cards/page-nothing")
        #expect(nothing.pixel(0, 0).red < 60 && nothing.count(columns: 10..<380) { $0.green > 240 } > 500)
    }

    private func refusals(_ card: Card, _ streak: String, _ ivy: Person, stranger kim: Person) async throws {
        #expect(try await kim.generate(streak).status == 404)
        #expect(try await kim.share(card.id, "instagram").status == 404)
        #expect(try await kim.revoke(card.id).status == 404)
        let far = try await ivy.generate(streak, "{\"milestone\":14}")
        #expect(far.status == 400 && far.code == "MILESTONE_NOT_REACHED")
        #expect(try await ivy.generate(streak, "{\"milestone\":5}").code == "MILESTONE_NOT_REACHED", "5 is no milestone")
        #expect(try await ivy.generate(streak, "{\"milestone\":0}").fields == ["milestone"])
        #expect(try await ivy.generate(streak, "{\"style\":\"pink\"}").fields == ["style"])
        #expect(try await ivy.generate("nonsense").fields == ["streak_id"])
        #expect(try await ivy.share(card.id, "myspace").fields == ["platform"])

        for platform in ["instagram", "tiktok", "instagram"] {
            let shared = try await ivy.share(card.id, platform)
            #expect(shared.status == 200 && shared.data["platform"].string == platform, "\(shared.text)")
        }
        let export = try await ivy.export().json["media"]
        #expect(
            export["milestone_shares"].list.compactMap { $0["platform"].string }.sorted() == [
                "instagram", "link", "photos", "tiktok",
            ]
        )
        #expect(export["milestone_cards"].list.contains { $0["id"].string == card.id })
    }

    private func withdrawn(_ card: Card, _ streak: String, _ ivy: Person, _ jon: Person) async throws {
        let home = ivy.home
        #expect(try await jon.revoke(card.id).status == 200, "either of the two may")
        #expect(try await jon.revoke(card.id).status == 200, "twice is once")
        #expect(try await home.http.send("GET", card.page).status == 404)
        #expect(try await home.http.send("GET", card.page + ".png").status == 404)
        let still = try await ivy.generate(streak, "{\"style\":\"purple\"}")
        #expect(still.status == 200 && still.data["share_url"].isNull, "only the one who has withdrawn it can have it back")
        let again = try self.card(try await jon.generate(streak, "{\"style\":\"purple\"}"))
        #expect(again.id == card.id && again.page != card.page)
        #expect(try await home.http.send("GET", again.page).status == 200)
        #expect(try await home.http.send("GET", card.page).status == 404, "the old address stays dead")

        #expect(try await ivy.post("/api/blocks", "{\"user_id\":\"\(jon.id)\"}").status < 300)
        try await eventually("a block ends the page") { try await home.http.send("GET", again.page).status == 404 }
        try await eventually("streaks has consumed the block too") {
            try await jon.generate(streak, "{\"style\":\"purple\"}").status == 404
        }
        try await eventually("for good: an unblock restores nothing") {
            try await home.sql("SELECT count(token) FROM media.milestone_card WHERE id = '\(card.id)'") == "0"
        }
    }

    /// Nothing shows a user who has deleted the account, and in the end nothing is left.
    private func deleted(_ kim: Person, _ lee: Person, _ streak: String) async throws {
        let home = kim.home
        let card = try self.card(try await kim.generate(streak))
        #expect(try await kim.share(card.id, "link").status == 200)
        #expect(try await home.http.send("GET", card.page).status == 200)
        #expect(try await lee.delete().status == 200)
        for target in [card.page, card.page + ".png", card.page + ".wide.png", card.image] {
            try await eventually("\(target) is dead, within 60 s") { try await home.http.send("GET", target).status == 404 }
        }
        #expect(try await kim.generate(streak).code == "FRIEND_UNAVAILABLE")
        #expect(!home.blobs(of: lee).isEmpty, "the account can be restored with its cards")
        try await home.travel(days: 31)
        try await eventually("no picture of the person is left") { home.blobs(of: lee).isEmpty }
        try await eventually("and no row") {
            try await home.sql("SELECT count(*) FROM media.milestone_card WHERE '\(lee.id)' IN (first_user, second_user)") == "0"
        }
        #expect(try await home.sql("SELECT count(*) FROM media.milestone_share WHERE card_id = '\(card.id)'") == "0")
    }
}

/// A maker of cards that dies (D6).
extension RestartTests {
    @Test func `a card whose maker is killed is made by the next one, once`() async throws {
        let home = try await Installation(["--separate", "--dev-clock"])
        var (mia, ned) = (try await Person.register("mia", at: home), try await Person.register("ned", at: home))
        let streak = try await mia.befriend(ned)
        try await home.live(days: 7, [mia, ned])
        try await mia.signIn()
        try await ned.signIn()
        let (first, second) = (mia, ned)
        // Its picture is stored, and then its row does not learn of it.
        _ = try await home.sql(
            """
            CREATE FUNCTION media.hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(20); RETURN NEW; END';
            CREATE TRIGGER hold BEFORE UPDATE OF state ON media.milestone_card FOR EACH ROW
                WHEN (OLD.state = 0) EXECUTE FUNCTION media.hold();
            """
        )
        Task { try? await first.generate(streak) }
        try await eventually("the card is held up") {
            try await home.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND usename = 'media'") == "1"
        }
        try await killed("media", of: home)
        _ = try await home.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND usename = 'media'"
        )
        _ = try await home.sql("DROP FUNCTION media.hold() CASCADE")
        let reply = try await insist("the next one") { try await second.generate(streak) }
        let again = try await insist("the same one") { try await first.generate(streak) }
        #expect(again.data["milestone_id"] == reply.data["milestone_id"] && again.data["share_url"] == reply.data["share_url"])
        #expect(home.blobs(of: mia).filter { $0.contains("/cards/") }.count == 1)
        #expect(try await home.sql("SELECT count(*) FROM media.milestone_card") == "1")
        let page = try #require(reply.data["share_url"].string.flatMap { URL(string: $0) }).path
        #expect(try await home.http.send("GET", page + ".png").body.count > 100_000)
        await home.guardian.end()
    }
}

extension Installation {
    /// Every user posts to all their streaks on this many days, one after the other.
    func live(days: Int, _ people: [Person]) async throws {
        for day in 0..<days {
            if day > 0 { try await travel(days: 1) }
            for (index, person) in people.enumerated() {
                var awake = person
                try await awake.signIn()
                let posted = try await awake.upload(try Photos.jpeg(UInt64(900 + day * 10 + index), width: 64, height: 48))
                try #require(posted.status == 201, "\(posted.text)")
            }
        }
    }
}

extension Person {
    func generate(_ streak: String, _ json: String = "{}") async throws -> HTTPReply {
        // Pictures are made at a low priority: a busy machine may still be at work on the first sending.
        var reply = try await post("/api/milestones/\(streak)/generate", json)
        try await eventually("a card has been made, or is refused", within: .seconds(240)) {
            guard reply.code == "REQUEST_IN_PROGRESS" else { return true }
            reply = try await post("/api/milestones/\(streak)/generate", json)
            return false
        }
        return reply
    }

    func share(_ card: String, _ platform: String) async throws -> HTTPReply {
        try await home.call(
            "PUT",
            "/api/milestones/\(card)/shared",
            token: token,
            json: "{\"platform\":\"\(platform)\"}"
        )
    }

    func revoke(_ card: String) async throws -> HTTPReply {
        try await home.call("DELETE", "/api/milestones/\(card)/share", token: token)
    }
}

extension HTTPReply {
    /// The tags for previews, with their character references resolved.
    var tags: [String: String] {
        let matches = text.matches(of: /<meta (?:property|name)="([a-z:]+)" content="([^"]*)">/)
        let pairs = matches.map { match in
            (
                String(match.1),
                String(match.2).replacing("&quot;", with: "\"").replacing("&#39;", with: "'").replacing("&lt;", with: "<")
                    .replacing("&gt;", with: ">").replacing("&amp;", with: "&")
            )
        }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }
}
