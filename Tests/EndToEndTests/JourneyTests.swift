import Foundation
import TestSupport
import Testing

/// The product's main job on real input.
struct JourneyTests {
    @Test func `two people who befriend each other and post a photo each have a streak of 1`() async throws {
        let home = try await Installation.shared.value
        // An hour apart, and on the same date.
        let zone = Installation.zone(atHour: 13)
        let (ada, ben) = (try await Person.register("ada", at: home, zone: zone), try await Person.register("ben", at: home))
        let streak = try await becomeFriends(ada, ben)
        try await postAndReveal(ada, ben, streak)
        try await bothCount(ada, ben, streak)
        try await eachIsNotifiedOnce(ada, ben)
        try await statisticsArrive(ada, zone)
        try await ownTablesAnswer(ada)
    }

    private func becomeFriends(_ ada: Person, _ ben: Person) async throws -> String {
        let asked = try await ada.request(ben)
        #expect(asked.status == 201)
        #expect(asked.data["status"].string == "pending")
        #expect(asked.data["direction"].string == "outgoing")
        let incoming = try await ben.get("/api/friends/requests?direction=incoming")
        #expect(incoming.data["requests"][0]["user"]["username"].string == ada.username)
        let friendship = try #require(asked.data["friendship_id"].string)
        let accepted = try await ben.respond(friendship)
        #expect(accepted.data["status"].string == "accepted")
        #expect(accepted.data["streak"]["current_count"].int == 0)
        let friends = try await ada.get("/api/friends")
        #expect(friends.data["friends"].list.map { $0["user"]["user_id"].string } == [ben.id])
        return try #require(accepted.data["streak"]["streak_id"].string)
    }

    private func postAndReveal(_ ada: Person, _ ben: Person, _ streak: String) async throws {
        let first = try await ada.upload(try Photos.jpeg(1), caption: "From Ada")
        #expect(first.status == 201, "\(first.text)")
        #expect(first.data["streaks"][0]["accepted"].bool == true)
        #expect(first.data["streaks"][0]["date_completed"].bool == false)
        #expect(first.data["snap"]["caption"].string == "From Ada")

        let locked = try await ben.get("/api/photos/feed")
        #expect(locked.data["items"][0]["locked"].bool == true)
        #expect(locked.data["items"][0]["your_turn"].bool == true)
        #expect(locked.data["items"][0]["friend_snap"].isNull)
        #expect(!locked.text.contains("/media/"), "no link may be obtained before posting (PH-4)")
        let detail = try await ben.get("/api/streaks/\(streak)")
        #expect(!detail.text.contains("/media/"))

        let second = try await ben.upload(try Photos.png(2), caption: "From Ben")
        #expect(second.status == 201, "\(second.text)")
        #expect(second.data["streaks"][0]["date_completed"].bool == true)
        #expect(second.data["streaks"][0]["current_count"].int == 1)
        for (reader, caption) in [(ada, "From Ben"), (ben, "From Ada")] {
            let item = try await reader.get("/api/photos/feed").data["items"][0]
            #expect(item["locked"].bool == false)
            #expect(item["friend_snap"]["caption"].string == caption)
        }
    }

    private func bothCount(_ ada: Person, _ ben: Person, _ streak: String) async throws {
        for (person, friend) in [(ada, ben), (ben, ada)] {
            let item = try await person.get("/api/streaks").data["streaks"][0]
            #expect(item["id"].string == streak)
            #expect(item["friend"]["user_id"].string == friend.id)
            #expect(item["current_count"].int == 1)
            #expect(item["longest_count"].int == 1)
            #expect(item["status_pill"].string == "both_posted")
            let detail = try await person.get("/api/streaks/\(streak)").data
            #expect(detail["photo_count"].int == 2)
            #expect(detail["next_milestone"].int == 7)
            #expect(detail["calendar"].list.count == 90)
            #expect(detail["calendar"].list.filter { $0["mark"].string == "both" }.count == 1)
        }
    }

    private func eachIsNotifiedOnce(_ ada: Person, _ ben: Person) async throws {
        let expected = [(ada, ["friend_accepted", "friend_posted"]), (ben, ["friend_posted", "friend_request"])]
        for (person, kinds) in expected {
            try await eventually("\(person.username) is notified of \(kinds)") {
                try await person.get("/api/notifications").data["notifications"].list.count >= kinds.count
            }
            let list = try await person.get("/api/notifications").data
            #expect(list["notifications"].list.compactMap { $0["type"].string }.sorted() == kinds)
            #expect(list["unread_count"].int == 2)
            #expect(try await person.get("/api/notifications/unread-count").data["unread_count"].int == 2)
        }
    }

    private func statisticsArrive(_ ada: Person, _ zone: String) async throws {
        try await eventually("the profile shows a streak and a photo") {
            let stats = try await ada.get("/api/users/me").data["stats"]
            return stats["total_active_streaks"].int == 1 && stats["total_photos"].int == 1
        }
        let me = try await ada.get("/api/users/me").data
        #expect(me["email"].string == ada.email)
        #expect(me["time_zone"].string == zone)
        try await eventually("the longest streak is 1") {
            try await ada.get("/api/users/me").data["stats"]["longest_streak"].int == 1
        }
    }

    private func ownTablesAnswer(_ ada: Person) async throws {
        let balance = try await ada.get("/api/recovery/balance").data
        #expect(balance["balance"].int == 0)
        #expect(balance["transactions"] == .array([]))
        let entitlements = try await ada.get("/api/billing/entitlements").data
        #expect(entitlements["plan"].string == "free")
        #expect(entitlements["is_premium"].bool == false)
        #expect(entitlements["streak_limit"].int == 3)
        let prompt = try await ada.get("/api/prompts/today").data
        #expect(prompt["text"].string?.isEmpty == false)
        #expect(prompt["window"]["is_open"].bool != nil)
        #expect(prompt["window"]["opens_at"].string != nil)
        #expect((prompt["window"]["seconds_left"].int ?? -1) >= 0)
    }

    @Test func `a request that crosses another accepts it`() async throws {
        let home = try await Installation.shared.value
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        #expect(try await ada.request(ben).data["status"].string == "pending")
        let crossing = try await ben.request(ada)
        #expect(crossing.data["status"].string == "accepted", "\(crossing.text)")
        #expect(crossing.data["streak"]["current_count"].int == 0)
        #expect(try await ada.get("/api/streaks").data["streaks"].list.count == 1)
        #expect(try await ada.request(ben).code == "ALREADY_FRIENDS")
    }
}
