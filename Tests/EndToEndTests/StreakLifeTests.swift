import Foundation
import TestSupport
import Testing

/// A month of two friends as their apps see it, on the development clock: calendars, card data, achievements, statistics (MS-5, MS-7,
/// MC-1).
struct StreakLifeTests {
    /// Two friends, a third one with a streak of her own with the first, and the clock they all live by.
    private struct Life {
        let home: Installation
        var ann: Person
        var bob: Person
        var cat: Person
        var streak = ""
        var second = ""
        var seed: UInt64 = 600

        /// Begins on the 25th of a month at 11:00 UTC, so that calendars meet the end of one.
        init() async throws {
            home = try await Installation(["--dev-clock"])
            try await home.travel(to: "2030-01-25T11:00:00Z")
            ann = try await Person.register("ann", at: home)
            bob = try await Person.register("bob", at: home)
            cat = try await Person.register("cat", at: home)
            streak = try await ann.befriend(bob)
            second = try await ann.befriend(cat)
        }

        /// The same hour of the next date. Every user signs in again: a token is valid for 15 minutes.
        mutating func nextDay() async throws {
            try await home.travel(days: 1)
            try await ann.signIn()
            try await bob.signIn()
            try await cat.signIn()
        }

        mutating func post(_ person: Person) async throws {
            seed += 1
            let reply = try await person.upload(try Photos.jpeg(seed, width: 80, height: 60), to: "all")
            try #require(reply.status == 201, "\(reply.text)")
        }

        func marks(_ person: Person, _ month: String, _ streak: String? = nil) async throws -> [String: String] {
            let reply = try await person.get("/api/streaks/\(streak ?? self.streak)/calendar?month=\(month)")
            try #require(reply.status == 200, "\(reply.text)")
            #expect(reply.data["month"].string == month)
            return Dictionary(
                reply.data["days"].list.map { ($0["date"].string ?? "", $0["mark"].string ?? "") },
                uniquingKeysWith: { first, _ in first }
            )
        }

        func achievements(_ person: Person) async throws -> [String] {
            let reply = try await person.get("/api/users/me/achievements")
            try #require(reply.status == 200, "\(reply.text)")
            let earned = reply.data["achievements"].list.filter { $0["earned"].bool == true }
            #expect(reply.data["achievements"].list.count == 5)
            #expect(reply.data["earned_count"].int == earned.count)
            #expect(earned.allSatisfy { !$0["earned_at"].isNull && $0["progress"] == $0["target"] })
            return earned.compactMap { $0["id"].string }
        }
    }

    @Test func `a month with a move to another zone and a miss, as calendars, badges and numbers show it`() async throws {
        var life = try await Life()
        try await sevenDates(&life)
        try await moveAndMiss(&life)
        try await calendars(life)
        try await numbers(life)
        try await strangers(life)
    }

    /// 25 to 31 January: all three post every day.
    private func sevenDates(_ life: inout Life) async throws {
        for day in 1...7 {
            if day > 1 { try await life.nextDay() }
            try await life.post(life.ann)
            if day == 7 { #expect(try await life.achievements(life.ann) == []) }
            try await life.post(life.bob)
            try await life.post(life.cat)
        }
        for person in [life.ann, life.bob, life.cat] { #expect(try await life.achievements(person) == ["7_day_warrior"]) }
        let detail = try await life.ann.get("/api/streaks/\(life.streak)").data
        #expect(detail["streak"]["current_count"].int == 7)
        #expect(detail["next_milestone"].int == 14 && detail["days_to_next_milestone"].int == 7)
        #expect(detail["snaps_available"].bool == true && detail["locked"].bool == false)
        #expect(detail["your_snap"]["user_id"].string == life.ann.id)
        #expect(detail["friend_snap"]["user_id"].string == life.bob.id)
        let link = try #require(detail["friend_snap"]["photo_url"].string.flatMap { URL(string: $0) })
        #expect(try await life.home.http.send("GET", link.path + "?" + (link.query ?? "")).status == 200)
    }

    /// Ann's clock moves to Tokyo on 31 January; all post on 1 February; on the 2nd Bob does not.
    private func moveAndMiss(_ life: inout Life) async throws {
        let moved = try await life.home.call(
            "PUT",
            "/api/users/me",
            token: life.ann.token,
            json: "{\"time_zone\":\"Asia/Tokyo\"}"
        )
        #expect(moved.status == 200, "\(moved.text)")
        let (home, ann) = (life.home, life.ann)
        try await eventually("streaks knows of the move") {
            try await home.sql(
                "SELECT count(*) FROM streaks.zone_change WHERE user_id = '\(ann.id)' AND zone = 'Asia/Tokyo'"
            ) == "1"
        }
        try await life.nextDay()
        for person in [life.ann, life.bob, life.cat] { try await life.post(person) }
        try await life.nextDay()
        try await life.post(life.ann)
        try await life.post(life.cat)
        let locked = try await life.bob.get("/api/streaks/\(life.streak)")
        #expect(locked.data["locked"].bool == true && locked.data["friend_snap"].isNull && locked.data["your_snap"].isNull)
        #expect(!locked.text.contains("/media/"), "no link may be had before posting (PH-4)")
        try await life.nextDay()
        for person in [life.ann, life.cat] { try await life.post(person) }
    }

    private func calendars(_ life: Life) async throws {
        let january = try await life.marks(life.ann, "2030-01")
        #expect(january.count == 31)
        #expect(january.filter { $0.value == "both" }.keys.sorted() == (25...31).map { "2030-01-\($0)" })
        #expect(january.filter { $0.value != "both" }.allSatisfy { $0.value == "none" })
        let february = try await life.marks(life.bob, "2030-02")
        #expect(february.count == 28)
        #expect(february["2030-02-01"] == "both" && february["2030-02-02"] == "broken" && february["2030-02-03"] == "none")
        #expect(try await life.marks(life.ann, "2030-02", life.second)["2030-02-03"] == "both")
        for month in ["2029-12", "2031-05"] {
            #expect(try await life.marks(life.ann, month).values.allSatisfy { $0 == "none" })
        }
        let present = try await life.ann.get("/api/streaks/\(life.streak)/calendar")
        #expect(present.data["month"].string == "2030-02" && present.data["completed_days"].int == 1)
        let missed = present.data["days"][1]
        #expect(missed["completed"].bool == true && missed["partner_completed"].bool == false)
        for wrong in ["2030-13", "2030-1", "2030", "2030-02-01", "x", ""] {
            let reply = try await life.ann.get("/api/streaks/\(life.streak)/calendar?month=\(wrong)")
            #expect(reply.status == 400 && reply.fields == ["month"], "\(wrong): \(reply.text)")
        }

        let year = try await life.ann.get("/api/users/me/calendar")
        #expect(year.data["year"].int == 2030 && year.data["days"].list.count == 365)
        #expect(year.data["posted_dates"].int == 10 && year.data["completed_dates"].int == 10)
        #expect(year.data["most_completed"].int == 2)
        let dates = Dictionary(
            year.data["days"].list.map { ($0["date"].string ?? "", $0) },
            uniquingKeysWith: { first, _ in first }
        )
        #expect(dates["2030-01-25"]?["posted"].int == 2 && dates["2030-01-25"]?["completed"].int == 2)
        #expect(dates["2030-02-02"]?["posted"].int == 2 && dates["2030-02-02"]?["completed"].int == 1)
        #expect(dates["2030-02-03"]?["posted"].int == 1)
        #expect(try await life.ann.get("/api/users/me/calendar?year=2029").data["posted_dates"].int == 0)
        for wrong in ["1999", "10000", "x"] {
            let reply = try await life.ann.get("/api/users/me/calendar?year=\(wrong)")
            #expect(reply.status == 400 && reply.fields == ["year"], "\(wrong): \(reply.text)")
        }
    }

    private func numbers(_ life: Life) async throws {
        let anns = try await life.ann.get("/api/users/me/stats").data
        #expect(anns["total_active_streaks"].int == 1 && anns["total_streaks"].int == 2)
        #expect(anns["longest_streak"].int == 10 && anns["longest_active_streak"].int == 10)
        #expect(anns["total_photos"].int == 10, "one photo to two streaks is one")
        #expect(anns["completed_dates"].int == 18)
        #expect(anns["broken_streaks"].int == 1 && anns["broken_by_you"].int == 0)
        // 11:00 UTC is 20:00 in Tokyo.
        #expect(anns["on_time_photos"].int == 7 && anns["on_time_percent"].int == 70)
        #expect(anns["posted_dates_in_year"].int == 10)
        // 25 January 2030 is a Friday, and so is 1 February.
        #expect(anns["weekdays"].list.map { $0["posted_dates"].int } == [1, 1, 1, 1, 2, 2, 2])
        #expect(anns["best_weekday"].int == 5)
        let bobs = try await life.bob.get("/api/users/me/stats").data
        #expect(bobs["total_active_streaks"].int == 0 && bobs["broken_by_you"].int == 1 && bobs["on_time_percent"].int == 100)
        #expect(bobs["recoveries_used"].int == 0)

        let card = try await life.bob.get("/api/streaks/\(life.streak)/milestone-data").data
        #expect(card["current_count"].int == 8 && card["milestone"].int == 7 && card["next_milestone"].int == 14)
        #expect(card["reached"].list.map { $0["date"].string } == ["2030-01-31"])
        #expect(card["from_date"].string == "2030-01-25" && card["to_date"].string == "2030-02-01")
        #expect(card["you"]["username"].string == life.bob.username && card["friend"]["username"].string == life.ann.username)
        #expect(card["text"]["names"].string == "@\(life.bob.username) & @\(life.ann.username)")
        #expect(card["text"]["dates"].string == "Jan 25 – Feb 1, 2030")
        #expect(card["styles"].list.map { $0["name"].string } == ["orange", "purple", "green", "dark"])
        // Emitted once each, although counted in two streaks.
        let emitted = try await life.home.sql("SELECT count(*) FROM streaks.outbox WHERE subject LIKE '%AchievementEarned'")
        #expect(emitted == "3")
    }

    private func strangers(_ life: Life) async throws {
        for path in ["", "/calendar", "/calendar?month=2030-01", "/milestone-data"] {
            let reply = try await life.cat.get("/api/streaks/\(life.streak)\(path)")
            #expect(reply.status == 404 && reply.code == "NOT_FOUND", "\(path): \(reply.text)")
        }
        #expect(try await life.cat.get("/api/users/me/stats").data["total_photos"].int == 10)
    }

    @Test func `a streak with a blocked user is not there, and is seen again after the block (SO-7)`() async throws {
        let home = try await Installation.shared.value
        let (ann, bob) = (try await Person.register("ann", at: home), try await Person.register("bob", at: home))
        let streak = try await ann.befriend(bob)
        for (person, seed) in [(ann, UInt64(691)), (bob, 692)] {
            #expect(try await person.upload(try Photos.jpeg(seed)).status == 201)
        }
        #expect(try await ann.get("/api/streaks/\(streak)").data["friend_snap"]["user_id"].string == bob.id)
        let block = try await bob.post("/api/blocks", "{\"user_id\":\"\(ann.id)\"}")
        let blockID = try #require(block.data["block_id"].string, "\(block.text)")
        for person in [ann, bob] {
            for path in ["", "/calendar"] {
                try await eventually("the streak is not there: \(path)") {
                    try await person.get("/api/streaks/\(streak)\(path)").status == 404
                }
            }
        }
        #expect(try await home.call("DELETE", "/api/blocks/\(blockID)", token: bob.token).status == 200)
        try await eventually("the streak is seen again") {
            try await ann.get("/api/streaks/\(streak)/calendar").data["completed_days"].int == 1
        }
        try await eventually("and its photo") {
            try await ann.get("/api/streaks/\(streak)").data["friend_snap"]["user_id"].string == bob.id
        }
    }
}
