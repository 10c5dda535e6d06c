import Foundation
import TestSupport
import Testing

/// Both members' snaps of a streak side by side (PH-5), and what is kept from whom (PH-4, PH-6).
struct SnapHistoryTests {
    private func history(_ person: Person, _ streak: String, _ query: String = "") async throws -> HTTPReply {
        try await person.get("/api/photos/history/\(streak)\(query)")
    }

    private func friends() async throws -> (Person, Person, String) {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        return (ada, ben, try await ada.befriend(ben))
    }

    @Test func `before posting, a friend's photo can be reached nowhere`() async throws {
        let (ada, ben, streak) = try await friends()
        let posted = try await ada.upload(try Photos.jpeg(91), caption: "hidden words")
        #expect(posted.status == 201, "\(posted.text)")
        for path in [
            "/api/photos/history/\(streak)", "/api/streaks/\(streak)/photos", "/api/photos/feed", "/api/streaks/feed",
            "/api/streaks/\(streak)", "/api/streaks", "/api/friends", "/api/notifications",
        ] {
            let reply = try await ben.get(path)
            #expect(reply.status == 200, "\(path): \(reply.text)")
            #expect(!reply.text.contains("/media/snaps") && !reply.text.contains("hidden words"), "\(path): \(reply.text)")
        }
        let locked = try await history(ben, streak).data["days"]
        #expect(locked.list.count == 1)
        #expect(locked[0]["locked"].bool == true && locked[0]["friend_snap"].isNull && locked[0]["your_snap"].isNull)
        let own = try await history(ada, streak).data["days"][0]
        #expect(own["your_snap"]["user_id"].string == ada.id && own["locked"].bool == false)

        #expect(try await ben.upload(try Photos.jpeg(92)).status == 201)
        for path in ["/api/photos/history/\(streak)", "/api/streaks/\(streak)/photos"] {
            let day = try await ben.get(path).data["days"][0]
            #expect(day["locked"].bool == false)
            #expect(day["friend_snap"]["user_id"].string == ada.id && day["friend_snap"]["caption"].string == "hidden words")
            #expect(day["your_snap"]["user_id"].string == ben.id)
            let url = try #require(day["friend_snap"]["thumbnail_url"].string.flatMap { URL(string: $0) })
            #expect(try await ben.home.http.send("GET", url.path + "?" + (url.query ?? "")).status == 200)
        }
    }

    @Test func `dates come in pages, newest first, and a date that is over is locked no more`() async throws {
        let (ada, ben, streak) = try await friends()
        #expect(try await ada.upload(try Photos.jpeg(93)).status == 201)
        #expect(try await ben.upload(try Photos.jpeg(94)).status == 201)
        // Forty dates before today: she posted on each, he on every other.
        _ = try await ada.home.sql(
            """
            INSERT INTO media.streak_snap (streak_id, on_date, user_id, snap_id)
            SELECT streak_id, on_date - back, user_id, snap_id FROM media.streak_snap, generate_series(1, 40) AS back
            WHERE streak_id = '\(streak)' AND (user_id = '\(ada.id)' OR back % 2 = 0)
            """
        )
        let first = try await history(ben, streak)
        #expect(first.data["days"].list.count == 30)
        var (dates, cursor, pages): ([JSON], String?, Int) = ([], "", 0)
        while let next = cursor, pages < 20 {
            let page = try await history(ben, streak, "?limit=7" + (next.isEmpty ? "" : "&cursor=\(next)"))
            #expect(page.status == 200, "\(page.text)")
            dates += page.data["days"].list
            cursor = page.json["meta"]["next_cursor"].string
            pages += 1
        }
        #expect(pages == 6 && dates.count == 41)
        let names = dates.compactMap { $0["date"].string }
        #expect(names == Set(names).sorted(by: >), "each once, newest first")
        #expect(Array(dates.prefix(30)).map { $0["date"] } == first.data["days"].list.map { $0["date"] })
        for (back, day) in dates.enumerated() {
            #expect(day["friend_snap"]["user_id"].string == ada.id || day["locked"].bool == true)
            #expect(day["your_snap"].isNull == (back % 2 == 1))
            if back > 0 { #expect(day["locked"].bool == false, "yesterday is over, although it could still be posted for") }
        }
        for wrong in ["?cursor=yesterday", "?cursor=2026-05-01", "?limit=-1", "?limit=x"] {
            let reply = try await history(ben, streak, wrong)
            #expect(reply.status == 400 && reply.code == "VALIDATION_ERROR", "\(wrong): \(reply.text)")
        }
    }

    @Test func `only members see it, also when it has ended, and a user does not see those he blocks`() async throws {
        let (ada, ben, streak) = try await friends()
        #expect(try await ada.upload(try Photos.jpeg(95)).status == 201)
        #expect(try await ben.upload(try Photos.jpeg(96)).status == 201)
        let eve = try await Person.register("eve", at: ada.home)
        let stranger = try await history(eve, streak)
        #expect(stranger.status == 404 && stranger.code == "NOT_FOUND", "\(stranger.text)")
        #expect(try await history(eve, UUID().uuidString.lowercased()).status == 404)
        #expect(try await history(eve, "today").status == 400)

        let mine = try await link(to: "your_snap", for: ada, streak)
        let (his, hers) = (
            try await link(to: "friend_snap", for: ben, streak), try await link(to: "friend_snap", for: ada, streak)
        )
        for target in [mine, his, hers] { #expect(try await ada.home.http.send("GET", target).status == 200) }
        let block = try await ada.post("/api/blocks", "{\"user_id\":\"\(ben.id)\"}")
        #expect(block.status == 201, "\(block.text)")
        for target in [his, hers] {
            try await eventually("links given out before are dead, both ways") {
                try await ada.home.http.send("GET", target).status == 404
            }
        }
        #expect(try await ada.home.http.send("GET", mine).status == 200)
        let unmarked = try #require(his.split(separator: "&for=\(ben.id)").first.map(String.init))
        #expect(try await ada.home.http.send("GET", unmarked + "&sig=\(his.suffix(43))").status == 404, "nor without the mark")
        for (reader, other) in [(ada, ben), (ben, ada)] {
            try await eventually("the other is not shown any more") {
                let reply = try await history(reader, streak)
                return reply.status == 200 && !reply.text.contains(other.id)
            }
            let days = try await history(reader, streak).data["days"]
            #expect(days.list.count == 1 && days[0]["your_snap"]["user_id"].string == reader.id)
            #expect(days[0]["friend_snap"].isNull && days[0]["locked"].bool == false)
        }
        try await eventually("the streak is not there, for either") {
            let (hers, his) = (try await ada.get("/api/streaks/\(streak)"), try await ben.get("/api/streaks/\(streak)"))
            return hers.status == 404 && his.status == 404
        }
        #expect(try await history(ada, streak).data["days"].list.count == 1)
        let id = try #require(block.data["block_id"].string ?? block.data["id"].string)
        #expect(try await ada.home.call("DELETE", "/api/blocks/\(id)", token: ada.token).status == 200)
        try await eventually("the blob store has the end") {
            try await ada.home.sql("SELECT count(*) FROM media.hidden_pair WHERE is_shown AND '\(ada.id)' IN (one, other)") == "1"
        }
        for target in [his, hers] {
            #expect(try await ada.home.http.send("GET", target).status == 404, "what the block has ended stays dead")
        }
        #expect(try await history(ben, streak).data["days"][0]["friend_snap"]["user_id"].string == ada.id)
    }

    /// Path and query of a photo of the newest date.
    private func link(to slot: String, for reader: Person, _ streak: String) async throws -> String {
        let text = try await history(reader, streak).data["days"][0][slot]["photo_url"].string
        let url = try #require(text.flatMap { URL(string: $0) })
        return url.path + "?" + (url.query ?? "")
    }
}
