import Foundation
import TestSupport
import Testing

/// Cards about check-ins, a typed streak and a circle's (MC-1, MC-2), by the development clock.
extension ClockTests {
    @Test func `milestones of every kind become cards, until their user leaves`() async throws {
        let home = try await Installation.timeTravelling.value
        var oda = try await Person.register("oda", at: home, zone: "UTC")
        var pia = try await Person.register("pia", at: home, zone: "UTC")
        let (circle, _) = try await oda.circle("Early & <b>birds</b>", with: [pia])
        for date in 0..<7 {
            if date > 0 { try await home.travel(days: 1) }
            try await oda.signIn()
            try await pia.signIn()
            for person in [oda, pia] {
                let checked = try await person.post("/api/circles/\(circle)/check-in", "{\"mood\":8}")
                try #require(checked.status == 200, "\(checked.text)")
            }
            let recorded = try await oda.post("/api/streaks/typed/recipe_creation/activity", "{}")
            try #require(recorded.status == 200, "\(recorded.text)")
            let (awake, count) = (oda, date + 1)
            try await eventually("the circle's check-in is her own") {
                try await awake.get("/api/mobile/streaks/status").data["current_streak"].int == count
            }
        }
        let checkIns = try #require(try await oda.get("/api/mobile/streaks/milestones").data["streak_id"].string)
        let typed = try await oda.get("/api/streaks/typed").data["streaks"].list
        let recipes = try #require(typed.first { $0["type"].string == "recipe_creation" }?["id"].string)
        let team = try #require(try await oda.get("/api/circles/\(circle)/streak").data["streak_id"].string)

        try await said(oda, checkIns, "Daily Check-In · Week Warrior", style: "orange")
        let recipe = try await said(oda, recipes, "Recipe Creator · Week Warrior", style: "orange")
        let ours = try await said(oda, team, "Early &amp; &lt;b&gt;birds&lt;/b&gt;", style: "green")
        let hers = try await said(pia, team, "Early &amp; &lt;b&gt;birds&lt;/b&gt;", style: "green")
        #expect(!(try await home.http.send("GET", hers).text.contains("oda")), "only the one whose card it is")
        for streak in [checkIns, recipes] {
            #expect(try await pia.generate(streak).status == 404)
            #expect(try await pia.get("/api/streaks/\(streak)/milestone-data").status == 404)
        }
        try await shared(oda, recipes)

        #expect(try await pia.post("/api/circles/\(circle)/leave", "{}").status == 200)
        try await eventually("her page about the circle is gone") { try await home.http.send("GET", hers).status == 404 }
        #expect(try await home.http.send("GET", ours).status == 200)

        #expect(try await oda.delete().status == 200)
        for page in [recipe, ours, recipe + ".png", ours + ".wide.png"] {
            try await eventually("\(page) is gone with the account") { try await home.http.send("GET", page).status == 404 }
        }
        try await home.travel(days: 31)
        try await eventually("no picture is left") { home.blobs(of: oda).isEmpty }
        try await eventually("and no row") {
            try await home.sql("SELECT count(*) FROM media.milestone_card WHERE first_user = '\(oda.id)'") == "0"
        }
    }

    /// What the card, its page and the data to draw it say of the kind. - Returns: the page.
    @discardableResult
    private func said(_ person: Person, _ streak: String, _ kind: String, style: String) async throws -> String {
        let home = person.home
        let reply = try await person.generate(streak)
        try #require(reply.status == 200, "\(reply.text)")
        #expect(reply.data["milestone"].int == 7 && reply.data["style"].string == style)
        #expect(try await person.generate(streak).data["milestone_id"] == reply.data["milestone_id"], "made once")
        let page = try #require(reply.data["share_url"].string.flatMap { URL(string: $0) }).path
        let shown = try await home.http.send("GET", page)
        #expect(shown.status == 200 && shown.text.contains("<bdi>\(kind)</bdi>"), "\(shown.text)")
        let image = try await home.http.send("GET", page + ".png")
        #expect(Array(image.body[16..<24]) == [0, 0, 0x04, 0x38, 0, 0, 0x07, 0x80], "1080 × 1920")
        let wide = try await home.http.send("GET", page + ".wide.png")
        #expect(Array(wide.body[16..<24]) == [0, 0, 0x04, 0xB0, 0, 0, 0x02, 0x76], "1200 × 630")
        let data = try await person.get("/api/streaks/\(streak)/milestone-data").data
        #expect(data["milestone_id"] == reply.data["milestone_id"] && data["share_url"] == reply.data["share_url"])
        #expect(data["friend"].isNull && data["styles"].list.first?["name"].string == style)
        return page
    }

    /// What is shown to others extends the streak of sharing, whatever the card is about.
    private func shared(_ person: Person, _ streak: String) async throws {
        let card = try #require(try await person.generate(streak).data["milestone_id"].string)
        #expect(try await person.share(card, "photos").status == 200)
        #expect(try await person.share(card, "instagram").status == 200)
        try await eventually("the share is an activity") {
            let typed = try await person.get("/api/streaks/typed").data["streaks"].list
            return typed.first { $0["type"].string == "social_share" }?["current_streak"].int == 1
        }
    }
}
