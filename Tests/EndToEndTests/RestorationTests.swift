import Foundation
import Kernel
import TestSupport
import Testing

/// Deleted accounts that come back (AU-7), and the export of personal data (AU-10).
struct RestorationTests {
    @Test func `an administrator brings an account back, without the friendships that ended`() async throws {
        let home = try await Installation.shared.value
        let admin = try await Person.administrator(at: home)
        var (vera, wim) = (try await Person.register("vera", at: home), try await Person.register("wim", at: home))
        let streak = try await vera.befriend(wim)
        #expect(try await vera.upload(try Photos.jpeg(81), caption: "before").status == 201)
        #expect(try await wim.upload(try Photos.jpeg(82)).data["streaks"][0]["current_count"].int == 1)
        let (_, code) = try await wim.circle("Walkers")
        #expect(try await vera.post("/api/circles/join", "{\"code\":\"\(code)\"}").status == 200)
        let link = try await vera.photoLink()
        let habit = try #require(try await vera.post("/api/habits", "{\"name\":\"Read\"}").data["id"].string)
        #expect(try await vera.post("/api/streaks/typed/recipe_creation/activity", "{}").status == 200)
        #expect(try await admin.restore(vera.id).code == "ACCOUNT_NOT_DELETED")
        #expect(try await vera.delete().status == 200)
        #expect(try await vera.login().code == "ACCOUNT_SCHEDULED_FOR_DELETION")
        try await eventually("the photo is withheld") { try await home.http.send("GET", link).status == 404 }
        #expect(try await wim.restore(vera.id).code == "ADMIN_ONLY")
        var entries: [JSON] = []
        try await eventually("the partner is notified that the streak has ended") {
            entries = try await wim.notifications("streak_broken")
            return !entries.isEmpty
        }
        #expect(entries.map { $0["streak_id"].string } == [streak] && entries[0]["actor"].isNull)
        #expect(entries[0]["title"].string == "🔥 Your 1-day streak has ended", "\(entries)")

        let restored = try await admin.restore(vera.id)
        #expect(restored.status == 200, "\(restored.text)")
        #expect(restored.data["username"].string == vera.username)
        #expect(restored.data["username_changed"].bool == false)
        #expect(restored.data["status"].string == "active")
        let ended = restored.data["ended"]
        #expect([ended["friendships"].int, ended["circles"].int, ended["mutual_streaks"].int] == [1, 1, 1], "\(restored.text)")
        try await vera.signIn()
        try await eventually("the user reads what has not come back") {
            let bodies = try await vera.notifications("account_restored").map { $0["body"].string }
            return bodies == ["Your own streaks go on. Not restored: 1 friendship, 1 circle and 1 streak with a friend."]
        }
        try await eventually("the photo is served again") { try await home.http.send("GET", link).status == 200 }
        try await eventually("the streak of recipes goes on") {
            let typed = try await vera.get("/api/streaks/typed").data["streaks"].list
            return typed.first { $0["type"].string == "recipe_creation" }?["current_streak"].int == 1
        }
        try await eventually("and so does the habit") {
            try await vera.post("/api/habits/\(habit)/completions", "{}").status < 300
        }
        #expect(try await vera.friends().isEmpty)
        #expect(try await wim.friends().isEmpty)
        try await eventually("they can be friends again") { try await wim.request(vera).status == 201 }
        let purge = try await home.sql("SELECT count(*) FROM auth.account WHERE id = '\(vera.id)' AND purge_at IS NOT NULL")
        #expect(purge.contains("0"), "and will not be removed")
    }

    @Test func `e-mail and username are free at once; a taken username is replaced, a taken e-mail refuses`() async throws {
        let home = try await Installation.shared.value
        let admin = try await Person.administrator(at: home)
        let first = try await Person.register("xena", at: home)
        #expect(try await first.delete().status == 200)
        var second = Person(home: home, username: first.username)
        try second.take(try await home.call("POST", "/api/auth/register", json: second.registration()), 201)
        #expect(second.id != first.id)
        #expect(try await admin.restore(first.id).code == "EMAIL_TAKEN")
        try await second.signIn()
        #expect(try await second.get("/api/users/me").data["id"].string == second.id, "the e-mail is the new owner's")
        let seeker = try await Person.register("yuri", at: home)
        #expect(try await seeker.request(second).data["user"]["user_id"].string == second.id, "and so is the name")

        // The new owner goes as well: now the e-mail is free, and the first comes back with the name.
        #expect(try await second.delete().status == 200)
        #expect(try await admin.restore(first.id).data["username"].string == first.username)
        let refused = try await admin.restore(second.id)
        #expect(refused.code == "EMAIL_TAKEN")
        #expect(refused.fields == ["email"])

        let third = try await Person.register("zack", at: home)
        #expect(try await third.delete().status == 200)
        let other = """
            {"email":"other.\(third.email)","password":"\(Person.password)","username":"\(third.username)"}
            """
        #expect(try await home.call("POST", "/api/auth/register", json: other).status == 201)
        let renamed = try await admin.restore(third.id)
        #expect(renamed.data["username_changed"].bool == true, "\(renamed.text)")
        let name = try #require(renamed.data["username"].string)
        #expect(name != third.username && name.hasPrefix("zack"))
        #expect(try await third.login().data["user"]["username"].string == name)
    }

    @Test func `deleting twice at once is one deletion`() async throws {
        let home = try await Installation.shared.value
        let anna = try await Person.register("anna", at: home)
        let pair = try await concurrently({ try await anna.delete() }, { try await anna.delete() })
        let replies = [pair.0, pair.1]
        let granted = replies.filter { $0.status == 200 }
        #expect(!granted.isEmpty)
        #expect(Set(granted.compactMap { $0.data["purge_at"].string }).count == 1)
        for reply in replies where reply.status != 200 { #expect(reply.code == "SESSION_REVOKED", "\(reply.text)") }
        let events = try await home.sql(
            "SELECT count(*) FROM auth.outbox WHERE aggregate = '\(anna.id)' AND subject = 'evt.auth.v1.AccountDeleted'"
        )
        #expect(events.trimmingCharacters(in: .whitespacesAndNewlines) == "1")
    }

    @Test func `the export holds a part of every service, and of no other user`() async throws {
        let home = try await Installation.shared.value
        let (bea, cal) = (try await Person.register("bea", at: home), try await Person.register("cal", at: home))
        let streak = try await bea.befriend(cal)
        #expect(try await bea.upload(try Photos.jpeg(83), caption: "mine alone").status == 201)
        #expect(try await cal.upload(try Photos.jpeg(84), caption: "the friend's words").status == 201)
        // They come by streams of their own, in any order.
        try await eventually("the acceptance and the friend's snap are in the log") {
            let friendship = try await bea.notifications("friend_accepted")
            let snap = try await bea.notifications("friend_posted")
            return !friendship.isEmpty && !snap.isEmpty
        }

        let reply = try await bea.export()
        #expect(reply.status == 200, "\(reply.text)")
        #expect(reply.header("Content-Type")?.hasPrefix("application/json") == true)
        let document = reply.json
        #expect(
            document.names == [
                "exported_at", "user_id", "auth", "social", "streaks", "media", "notifications", "billing",
            ]
        )
        #expect(document["auth"]["account"][0]["email"].string == bea.email)
        #expect(document["auth"]["account"][0]["username"].string == bea.username)
        #expect(!document["auth"]["sessions"].list.isEmpty)
        #expect(document["social"]["friendships"][0]["user_id"].string == cal.id)
        #expect(document["social"]["friendships"][0]["status"].string == "accepted")
        #expect(document["streaks"]["streaks"][0]["id"].string == streak)
        // A moment later the snap counts for the streak of daily snaps too.
        let contributions = document["streaks"]["contributions"].list
        #expect((1...2).contains(contributions.count), "the user's own")
        #expect(document["streaks"]["time_zones"][0]["zone"].string == home.zone)
        #expect(document["media"]["snaps"].list.count == 1)
        #expect(document["media"]["snaps"][0]["caption"].string == "mine alone")
        #expect(document["notifications"]["notifications"].list.count >= 2)
        #expect(
            document["billing"].names == [
                "balances", "ledger", "subscriptions", "store_events", "store_names", "plan", "purchases",
            ],
            "keys without rows are named"
        )
        for foreign in [cal.email, cal.username, "the friend's words", Person.password, "$2b$", bea.refreshToken] {
            #expect(!reply.text.contains(foreign), "\(foreign)")
        }
        #expect(try await home.call("GET", "/api/users/me/export").code == "AUTHENTICATION_REQUIRED")
    }
}

extension RestartTests {
    @Test(arguments: ["auth", "social", "streaks", "media", "notifications"])
    func `a service that is killed at a deletion does its part all the same`(service: String) async throws {
        let home = try await Installation.separate.value
        let (gus, hal) = (try await register("gus", at: home), try await register("hal", at: home))
        let asked = try await insist("asking") { try await gus.request(hal, key: "ask") }
        let friendship = try #require(asked.data["friendship_id"].string)
        _ = try await insist("accepting") { try await hal.respond(friendship, key: "accept") }
        try await eventually("a streak has begun") { await hasStreak(gus) }
        let streak = try #require(try await gus.get("/api/streaks").data["streaks"][0]["id"].string)
        let photo = try Photos.jpeg(91)
        _ = try await insist("posting") { try await gus.upload(photo, key: "snap") }
        try await eventually("the friend was notified") { try await hal.notifications("friend_posted").count == 1 }
        let link = try await gus.photoLink()

        let death = Task { try await killed(service, of: home) }
        // The second answer may be that the first one has signed it out.
        try await eventually("deleted", within: .seconds(60)) {
            let reply = try? await gus.delete()
            return reply?.status == 200 || reply?.code == "SESSION_REVOKED"
        }
        try await death.value
        try await eventually("the streak has ended", within: .seconds(60)) {
            try await hal.get("/api/streaks/\(streak)").data["streak"]["status"].string == "ended"
        }
        try await eventually("the friend sees no friends") {
            let reply = try await hal.get("/api/friends")
            return reply.status == 200 && reply.data["friends"].list.isEmpty
        }
        try await eventually("nor notifications") {
            let reply = try await hal.get("/api/notifications?limit=100")
            return reply.status == 200 && !reply.text.contains("friend_posted")
        }
        try await eventually("nor sees the photo") { try await home.http.send("GET", link).status == 404 }
        try await eventually("signing in says why") { try await gus.login().code == "ACCOUNT_SCHEDULED_FOR_DELETION" }
    }

    @Test func `an export is never silently incomplete`() async throws {
        let home = try await Installation.separate.value
        let dora = try await Person.register("dora", at: home)
        try await eventually("every service answers") { try await dora.export().status == 200 }
        var found: pid_t?
        try await eventually("billing runs") {
            found = home.process(of: "billing")
            return found != nil
        }
        let billing = try #require(found)
        #expect(kill(billing, SIGSTOP) == 0)
        defer { kill(billing, SIGCONT) }
        let reply = try await dora.export()
        #expect(reply.status == 503, "\(reply.text)")
        #expect(reply.code == "EXPORT_INCOMPLETE")
        #expect(reply.fields == ["billing"])
        #expect(reply.header("Retry-After") != nil)
        kill(billing, SIGCONT)
        try await eventually("it is whole again") { try await dora.export().status == 200 }
    }
}
