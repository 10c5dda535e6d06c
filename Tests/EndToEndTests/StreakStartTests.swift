import BillingAPI
import Foundation
import Kernel
import SocialAPI
import TestSupport
import Testing

/// Starting a streak anew (MS-1).
struct StreakStartTests {
    private func start(_ person: Person, with friend: String, key: String? = nil) async throws -> HTTPReply {
        try await person.post("/api/streaks", "{\"friend_id\":\"\(friend)\"}", key: key)
    }

    /// A user with three streaks.
    private func busy(_ name: String, at home: Installation) async throws -> Person {
        let person = try await Person.register(name, at: home)
        for _ in 0..<3 { try await person.befriend(try await Person.register("friend", at: home)) }
        return person
    }

    /// A friendship that got no streak.
    private func befriendWithoutStreak(_ one: Person, _ two: Person) async throws {
        let asked = try await one.request(two)
        let accepted = try await two.respond(try #require(asked.data["friendship_id"].string))
        try #require(accepted.data["streak_reason"].string == "STREAK_LIMIT_REACHED", "\(accepted.text)")
    }

    private func premium(_ person: Person, _ plan: Plan, version: Int64) async throws {
        let event = EntitlementsChanged(userID: try #require(UserID(person.id)), version: version, plan: plan, expiresAt: nil)
        let id = try await person.home.emit(event, from: "billing")
        try await person.home.consumed(id, by: ["streaks"])
    }

    @Test func `a full plan is named with whose it is, and premium has no limit`() async throws {
        let home = try await Installation.shared.value
        let (ann, ben) = (try await busy("ann", at: home), try await Person.register("ben", at: home))
        try await befriendWithoutStreak(ann, ben)
        let own = try await start(ann, with: ben.id)
        #expect(own.status == 400)
        #expect(own.code == "STREAK_LIMIT_REACHED")
        #expect(own.json["error"]["message"].string?.hasPrefix("You have") == true)
        let friends = try await start(ben, with: ann.id)
        #expect(friends.code == "STREAK_LIMIT_REACHED")
        #expect(friends.fields == ["friend_id"])
        #expect(friends.json["error"]["message"].string?.hasPrefix("Your friend has") == true)

        try await premium(ben, .premium, version: 1)
        #expect(try await start(ben, with: ann.id).fields == ["friend_id"], "the limit is Ann's")
        try await premium(ann, .premium, version: 1)
        let started = try await start(ben, with: ann.id, key: "start")
        #expect(started.status == 201, "\(started.text)")
        #expect(started.data["streak"]["friend"]["username"].string == ann.username)
        #expect(started.data["streak"]["status"].string == "active")
        #expect(started.data["streak"]["current_count"].int == 0)
        #expect(try await start(ben, with: ann.id, key: "start").data == started.data)
        #expect(try await ann.get("/api/streaks").data["streaks"].list.count == 4)

        // Dropping to free keeps what there is and allows no new ones.
        try await premium(ann, .free, version: 2)
        let cat = try await Person.register("cat", at: home)
        try await befriendWithoutStreak(ann, cat)
        #expect(try await start(cat, with: ann.id).code == "STREAK_LIMIT_REACHED")
        #expect(try await ann.get("/api/streaks").data["streaks"].list.count == 4)
    }

    @Test func `only with a friend, and a stranger is answered like a user who does not exist`() async throws {
        let home = try await Installation.shared.value
        let (ann, eve) = (try await Person.register("ann", at: home), try await Person.register("eve", at: home))
        let blocker = try await Person.register("bob", at: home)
        try await ann.befriend(blocker)
        #expect(try await start(ann, with: blocker.id).code == "STREAK_ALREADY_ACTIVE")
        #expect(try await start(ann, with: blocker.id).status == 409)
        #expect(try await blocker.post("/api/blocks", "{\"user_id\":\"\(ann.id)\"}").status == 201)
        var answers: [JSON] = []
        for id in [eve.id, blocker.id, "01900000-0000-7000-8000-000000000000"] {
            let reply = try await start(ann, with: id)
            #expect(reply.status == 404)
            #expect(reply.code == "NOT_FRIENDS", "\(reply.text)")
            answers.append(reply.json["error"])
        }
        #expect(answers.allSatisfy { $0 == answers[0] })
        #expect(try await start(ann, with: ann.id).fields == ["friend_id"])
        #expect(try await start(ann, with: "me").fields == ["friend_id"])
        #expect(try await ann.post("/api/streaks").fields == ["friend_id"])
        // Asked and not answered is no friend.
        #expect(try await ann.request(eve).status == 201)
        #expect(try await start(ann, with: eve.id).code == "NOT_FRIENDS")
    }

    @Test func `sixty-four starts at once make one streak`() async throws {
        let home = try await Installation.shared.value
        let (ann, ben) = (try await busy("ann", at: home), try await Person.register("ben", at: home))
        try await befriendWithoutStreak(ann, ben)
        try await premium(ann, .premium, version: 1)
        let replies = try await withThrowingTaskGroup(of: HTTPReply.self) { tasks in
            for index in 0..<64 {
                tasks.addTask { index % 2 == 0 ? try await start(ann, with: ben.id) : try await start(ben, with: ann.id) }
            }
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
        #expect(replies.filter { $0.status == 201 }.count == 1)
        #expect(replies.filter { $0.status != 201 }.allSatisfy { $0.code == "STREAK_ALREADY_ACTIVE" })
        #expect(
            try await home.sql(
                "SELECT count(*) FROM streaks.streak WHERE members @> ARRAY['\(ann.id)', '\(ben.id)']::uuid[]"
            ) == "1"
        )
    }

    @Test func `friends who part and make up at once have a new streak at 0 each time, and the old ones have ended`() async throws
    {
        let home = try await Installation.shared.value
        for _ in 0..<3 {
            let (ann, ben) = (try await Person.register("ann", at: home), try await Person.register("ben", at: home))
            var streaks = [try await ann.befriend(ben)]
            // Each may ask twenty times an hour.
            for round in 0..<15 {
                let (one, two) = round.isMultiple(of: 2) ? (ann, ben) : (ben, ann)
                let friendship = try #require(try await one.get("/api/friends").data["friends"][0]["friendship_id"].string)
                #expect(try await home.call("DELETE", "/api/friends/\(friendship)", token: one.token).status == 200)
                streaks.append(try await one.befriend(two))
            }
            #expect(Set(streaks).count == 16)
            let last = try #require(streaks.last)
            for person in [ann, ben] {
                let running = try await person.get("/api/streaks").data["streaks"].list
                #expect(running.map { $0["id"].string } == [last] && running.map { $0["current_count"].int } == [0])
            }
            // The events of the ends arrive: nothing else comes of them.
            try await eventually("every end was consumed") {
                try await home.sql(
                    """
                    SELECT count(*) FROM streaks.ended_friendship JOIN streaks.mutual_streak USING (friendship_id)
                    JOIN streaks.streak ON id = streak_id
                    WHERE members @> ARRAY['\(ann.id)', '\(ben.id)']::uuid[]
                    """
                ) == "15"
            }
            for old in streaks.dropLast() {
                let streak = try await ann.get("/api/streaks/\(old)").data["streak"]
                #expect(streak["status"].string == "ended" && streak["broken_by_user_id"].isNull)
            }
            #expect(try await ben.get("/api/streaks/\(last)").data["streak"]["status"].string == "active")
        }
    }

    @Test func `a start that is on its way when the friendship ends comes too late`() async throws {
        let home = try await Installation.shared.value
        let (ann, ben) = (try await busy("ann", at: home), try await Person.register("ben", at: home))
        try await befriendWithoutStreak(ann, ben)
        try await premium(ann, .premium, version: 1)
        let friendship = try #require(
            try await ben.get("/api/friends").data["friends"][0]["friendship_id"].string.flatMap { FriendshipID($0) }
        )
        // Streaks receives the end before social has it, like a start that asked social just before.
        let end = FriendshipEnded(
            friendshipID: friendship,
            userAID: try #require(UserID(ann.id)),
            userBID: try #require(UserID(ben.id)),
            endedAt: SystemClock.now()
        )
        try await home.consumed(try await home.emit(end, from: "social"), by: ["streaks"])
        #expect(try await start(ben, with: ann.id).code == "NOT_FRIENDS")
        #expect(try await ben.get("/api/streaks").data["streaks"].list.isEmpty)
    }
}

extension RecoverTests {
    @Test func `after a break a new streak may start, and the broken one is over for good`() async throws {
        let home = try await Installation.recovering.value
        var pair = try await Pair.broken(at: home)
        let old = pair.streak
        let started = try await pair.ann.post("/api/streaks", "{\"friend_id\":\"\(pair.ben.id)\"}", key: "anew")
        #expect(started.status == 201, "\(started.text)")
        pair.streak = try #require(started.data["streak"]["id"].string)
        #expect(pair.streak != old)
        #expect(try await pair.ben.post("/api/streaks", "{\"friend_id\":\"\(pair.ann.id)\"}").code == "STREAK_ALREADY_ACTIVE")
        for person in [pair.ann, pair.ben] {
            #expect(try await person.get("/api/streaks").data["streaks"].list.map { $0["id"].string } == [pair.streak])
        }
        #expect(try await pair.ann.get("/api/streaks/\(old)").data["streak"]["status"].string == "ended")
        let recovery = try await pair.ben.post("/api/streaks/\(old)/recover")
        #expect(recovery.code == "STREAK_NOT_BROKEN", "\(recovery.text)")
        #expect(try await pair.balances() == [1, 1])
        try await pair.bothPost()
        #expect(try await pair.item()["current_count"].int == 1)

        // The friendship's end ends the second streak as it did the first.
        let friendship = try #require(try await pair.ann.get("/api/friends").data["friends"][0]["friendship_id"].string)
        #expect(try await home.call("DELETE", "/api/friends/\(friendship)", token: pair.ann.token).status == 200)
        let ended = pair
        try await eventually("the streak has ended") { try await ended.item()["status"].string == "ended" }
        #expect(try await pair.ann.post("/api/streaks", "{\"friend_id\":\"\(pair.ben.id)\"}").code == "NOT_FRIENDS")
        #expect(try await pair.ann.post("/api/streaks", "{\"friend_id\":\"\(pair.ben.id)\"}", key: "anew").data == started.data)
    }
}
