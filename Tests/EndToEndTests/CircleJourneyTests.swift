import TestSupport
import Testing

/// A circle over HTTP, from its invite to its streak (SO-10, TS-4).
struct CircleJourneyTests {
    @Test func `friends make a circle, check in together, and it has a streak`() async throws {
        let home = try await Installation.shared.value
        let ann = try await Person.register("circleann", at: home, zone: "UTC")
        let ben = try await Person.register("circleben", at: home, zone: "UTC")
        let (id, code) = try await ann.circle("Läufer & co")
        let page = try await home.call("GET", "/c/\(code)")
        #expect(page.status == 200 && page.text.contains("Läufer &amp; co") && page.text.contains(code))
        #expect(page.header("Content-Type") == "text/html; charset=utf-8")
        #expect(try await home.call("GET", "/c/0000000000").status == 404)
        try await looked("/c/\(code)", home)
        let preview = try await ben.get("/api/circles/join/\(code)")
        #expect(preview.data["name"].string == "Läufer & co" && preview.data["joined"].bool == false, "\(preview.text)")
        #expect(try await ben.get("/api/circles/\(id)").status == 404)
        #expect(try await ben.get("/api/circles/\(id)/streak").status == 404)
        let joined = try await ben.post("/api/circles/join", "{\"code\":\"\(code)\"}")
        #expect(joined.status == 200 && joined.data["your_role"].string == "member", "\(joined.text)")
        // At once, whether streaks has consumed the event or not.
        let first = try await ben.post("/api/circles/\(id)/check-in", "{\"mood\":8}")
        #expect(first.status == 200 && first.data["counted"].bool == true, "\(first.text)")
        let second = try await ann.post("/api/circles/\(id)/check-in", "{}")
        #expect(second.data["date_completed"].bool == true && second.data["current_count"].int == 1, "\(second.text)")
        let streak = try await ben.get("/api/circles/\(id)/streak").data
        #expect(streak["current_count"].int == 1 && streak["status"].string == "active")
        #expect(streak["calendar"].list.count == 90)
        // It is a check-in of their own, too.
        try await eventually("the circle's check-in is the day's") {
            try await ben.get("/api/mobile/streaks/status").data["current_streak"].int == 1
        }
        let feed = try await ann.get("/api/circles/\(id)/feed")
        #expect(feed.data["entries"].list.count == 2 && !feed.text.contains("mood"), "\(feed.text)")
        #expect(try await ann.get("/api/circles/\(id)/members").data["members"].list.count == 2)
        let left = try await ann.post("/api/circles/\(id)/leave", "{}")
        #expect(left.status == 200 && left.data["deleted"].bool == false, "\(left.text)")
        #expect(try await ben.get("/api/circles/\(id)").data["your_role"].string == "owner")
        #expect(try await ben.delete("/api/circles/\(id)").status == 200)
        try await eventually("the circle is gone everywhere") { try await ben.get("/api/circles/\(id)/streak").status == 404 }
    }

    /// In a real browser, which obeys the policy: the page of an invite has its colours and all of its text, on a phone and on a desk.
    private func looked(_ path: String, _ home: Installation) async throws {
        let page = try await home.http.send("GET", path)
        let policy = try #require(page.header("Content-Security-Policy"))
        #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe") && !policy.contains("script"))
        #expect(page.header("Cache-Control") == "no-store" && page.header("Referrer-Policy") == "no-referrer")
        for (width, height) in [(390, 844), (844, 390), (1_280, 800)] {
            let site = "http://127.0.0.1:\(home.http.port)"
            let name = "circles/invite-\(width)x\(height)"
            let shown = try await Screenshot(of: site + path, width: width, height: height, name: name)
            try #require(shown.width == width && shown.height == height)
            for (x, y) in [(0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1)] {
                let (red, green, blue) = shown.pixel(x, y)
                #expect(max(red, green, blue) < 64, "dark to the corners: \((red, green, blue)) at \((x, y))")
            }
            for edge in [0..<10, width - 10..<width] {
                #expect(shown.count(columns: edge) { $0.green > 150 } == 0, "no text is cut off")
            }
            #expect(shown.count(columns: 10..<width - 10) { min($0.red, $0.green, $0.blue) > 240 } > 1_000, "the words are white")
        }
    }
}
