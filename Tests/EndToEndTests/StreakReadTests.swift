import Foundation
import Testing

/// What lists show of streaks without looking at their ledgers.
struct StreakReadTests {
    /// Each reader's own clock decides what "today" is; the zones are a day apart at every instant.
    @Test func `who has posted today goes by each one's own clock, also after travelling`() async throws {
        let home = try await Installation.shared.value
        // Their midnight is the same. Of three pairs one whose midnight is an hour away, so that none comes meanwhile.
        let hour = Int(Date().timeIntervalSince1970 / 3_600) % 24
        let ahead = try #require((12...14).first { (hour + $0) % 24 != 23 })
        // Signs of these names are the wrong way round.
        let (eastern, western) = ("Etc/GMT-\(ahead)", "Etc/GMT+\(24 - ahead)")
        let east = try await Person.register("eve", at: home, zone: eastern)
        let west = try await Person.register("wes", at: home, zone: western)
        let streak = try await east.befriend(west)
        #expect(try await east.upload(try Photos.jpeg(301)).status == 201)
        try await check(east, west, streak, posted: (true, false))
        #expect(try await west.upload(try Photos.jpeg(302)).status == 201)
        try await check(east, west, streak, posted: (true, true))

        // She travels: her clock now shows a date before the one she has posted for.
        try await travel(east, to: western)
        try await check(east, west, streak, posted: (false, true))
        _ = try await home.sql(
            """
            INSERT INTO streaks.contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
            SELECT streak_id, '\(east.id)', on_date, received_at, recorded_at, operation_id FROM streaks.contribution
            WHERE streak_id = '\(streak)' AND user_id = '\(west.id)'
            """
        )
        try await check(east, west, streak, posted: (true, true))
    }

    @Test func `a streak that starts late in the day has nothing to lose, in the list as in the detail`() async throws {
        let home = try await Installation.shared.value
        let zone = Installation.zone(atHour: 20)
        let (ann, bob) = (
            try await Person.register("ann", at: home, zone: zone), try await Person.register("bob", at: home, zone: zone)
        )
        let streak = try await ann.befriend(bob)
        let detail = try await ann.get("/api/streaks/\(streak)").data["streak"]
        let listed = try await bob.get("/api/streaks").data["streaks"][0]
        for item in [detail, listed] {
            #expect(item["id"].string == streak)
            #expect(item["at_risk"].bool == false, "MS-4: less than six hours are left, and the count is 0")
            #expect(item["status_pill"].string == "waiting_on_you")
        }
    }

    private func travel(_ person: Person, to zone: String) async throws {
        _ = try await person.home.sql(
            "INSERT INTO streaks.zone_change (user_id, since, zone) VALUES ('\(person.id)', now(), '\(zone)')"
        )
    }

    /// The list, the detail, the friend list and the feed agree.
    private func check(_ one: Person, _ two: Person, _ streak: String, posted: (Bool, Bool)) async throws {
        for (reader, friend, flags) in [(one, two, posted), (two, one, (posted.1, posted.0))] {
            let items = [
                try await reader.get("/api/streaks").data["streaks"][0],
                try await reader.get("/api/streaks/\(streak)").data["streak"],
            ]
            for item in items {
                #expect(item["id"].string == streak)
                #expect(item["friend"]["username"].string == friend.username)
                #expect(item["you_posted_today"].bool == flags.0)
                #expect(item["friend_posted_today"].bool == flags.1)
            }
            let entry = try await reader.get("/api/friends").data["friends"][0]
            #expect(entry["user"]["user_id"].string == friend.id)
            #expect(entry["streak"]["streak_id"].string == streak)
            #expect(entry["streak"]["you_posted_today"].bool == flags.0)
            #expect(entry["streak"]["friend_posted_today"].bool == flags.1)
        }
    }

    @Test func `a friend list pages through all once, newest first`() async throws {
        let home = try await Installation.shared.value
        let hub = try await Person.register("hub", at: home)
        var names: [String] = []
        for number in 0..<7 {
            let friend = try await Person.register("spoke\(number)", at: home)
            let asked = try await hub.request(friend)
            #expect(try await friend.respond(try #require(asked.data["friendship_id"].string)).status == 200)
            names.insert(friend.username, at: 0)
        }
        var found: [JSON] = []
        var cursor: String? = ""
        while let next = cursor {
            let page = try await hub.get("/api/friends?limit=3" + (next.isEmpty ? "" : "&cursor=\(next)"))
            try #require(page.status == 200, "\(page.text)")
            found += page.data["friends"].list
            cursor = page.json["meta"]["next_cursor"].string
        }
        #expect(found.compactMap { $0["user"]["username"].string } == names)
        #expect(found.filter { !$0["streak"].isNull }.count == 3, "the free plan has three streaks (MS-1)")
    }
}
