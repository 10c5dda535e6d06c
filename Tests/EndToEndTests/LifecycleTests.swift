import AuthAPI
import Foundation
import Kernel
import SocialAPI
import TestSupport
import Testing

/// The end of an account (AU-7), by the development clock: one after the other with other tests that move it.
extension ClockTests {
    @Test func `who deletes the account is invisible at once, and after 30 days nothing personal is left anywhere`() async throws
    {
        let home = try await Installation.timeTravelling.value
        let word = "zeldaquix" + UUID().uuidString.prefix(6).lowercased()
        let zelda = try await Person.register(word, at: home)
        var (nell, omar) = (try await Person.register("nell", at: home), try await Person.register("omar", at: home))
        let streak = try await fill(zelda, nell, omar, word: word)
        #expect(try await home.rows(holding: [word]).count > 5, "there is something to be removed")
        let link = try await zelda.photoLink()
        let avatar = "/media/" + (try await zelda.avatarKey())
        let run = try await habitPhotoLink(of: zelda)
        for target in [link, avatar, run] { #expect(try await home.http.send("GET", target).status == 200) }

        #expect(try await zelda.delete(password: "wrong-password").code == "WRONG_PASSWORD")
        #expect(try await home.call("DELETE", "/api/auth/account", token: zelda.token).fields == ["password"])
        #expect(try await zelda.get("/api/users/me").status == 200, "a refused deletion changes nothing")
        let deleted = try await zelda.delete()
        #expect(deleted.status == 200, "\(deleted.text)")
        let purgeAt = try #require(deleted.data["purge_at"].string)

        try await expectGone(zelda, from: nell, omar, streak: streak, word: word, purgeAt: purgeAt)
        for target in [link, avatar, run] {
            try await eventually("the link is dead, within 60 s") { try await home.http.send("GET", target).status == 404 }
        }
        let history = try await nell.get("/api/photos/history/\(streak)").data["days"][0]
        #expect(history["friend_snap"].isNull && !history["your_snap"].isNull, "the friend keeps only what is the friend's own")
        #expect(!home.blobs(of: zelda).isEmpty, "an administrator can still restore the account with its photos")

        try await home.travel(days: 31)
        try await eventually("nothing is left of \(word)") { try await home.rows(holding: [word]).isEmpty }
        try await eventually("no photo is left") { home.blobs(of: zelda).isEmpty }
        let named = Set(try await home.rows(holding: [zelda.id]).compactMap { $0.split(separator: ":").first.map(String.init) })
        let elsewhere = named.subtracting(Self.tombstones).filter { table in !Self.everywhere.contains { table.hasSuffix($0) } }
        #expect(elsewhere.isEmpty, "where only a bare id is left")
        #expect(!home.logs.lowercased().contains(word), "and no log names the person")
        let login = try await zelda.login()
        #expect(login.status == 401)
        #expect(login.code == "INVALID_CREDENTIALS", "as if there had never been such an account")
        let tombstone = try await home.sql("SELECT count(*) FROM auth.purged_account WHERE user_id = '\(zelda.id)'")
        #expect(tombstone.contains("1"))

        // An event that comes once more changes nothing and fails nowhere.
        let now = Instant(microseconds: 1)
        let id = try #require(UserID(zelda.id))
        let deletion = try await home.emit(AccountDeleted(userID: id, deletedAt: now, purgeAt: now), from: "auth")
        let purge = try await home.emit(AccountPurged(userID: id, purgedAt: now), from: "auth")
        try await home.consumed(deletion, by: ["social", "streaks", "notifications"], features: ["social": 2])
        try await home.consumed(purge, by: ["social", "streaks", "media", "notifications", "billing"])
        try await nell.signIn()
        try await omar.signIn()
        let detail = try await nell.get("/api/streaks/\(streak)").data["streak"]
        #expect(detail["status"].string == "ended")
        #expect(detail["longest_count"].int == 1, "the friend's own history stays")
        let admin = try await Person.administrator(at: home)
        #expect(try await admin.restore(zelda.id).status == 404)
    }

    /// A habit that is done today, with a photo.
    private func habitPhotoLink(of person: Person) async throws -> String {
        let habit = try #require(try await person.post("/api/habits", "{\"name\":\"Run\"}").data["id"].string)
        let date = try #require(try await person.post("/api/habits/\(habit)/completions", "{}").data["date"].string)
        let photo = try await person.setHabitPhoto(try Photos.jpeg(75), of: habit, on: date)
        let link = try #require(photo.data["photo_url"].string, "\(photo.text)")
        let url = try #require(URL(string: link))
        return url.path + "?" + (url.query ?? "")
    }

    /// Everything an account can have today. - Returns: the streak with the friend.
    func fill(_ zelda: Person, _ nell: Person, _ omar: Person, word: String) async throws -> String {
        let streak = try await zelda.befriend(nell)
        #expect(try await omar.request(zelda, key: "ask-\(word)").status == 201)
        let snap = try await zelda.upload(try Photos.jpeg(71), caption: "caption of \(word)", key: "snap-\(word)")
        #expect(snap.status == 201, "\(snap.text)")
        #expect(try await zelda.setAvatar(try Photos.png(71)).status == 200)
        #expect(try await nell.upload(try Photos.jpeg(72), caption: "by the friend").data["streaks"][0]["current_count"].int == 1)
        try await eventually("both were notified") {
            let zeldas = try await zelda.notifications("friend_posted")
            let nells = try await nell.notifications("friend_posted")
            return !zeldas.isEmpty && !nells.isEmpty
        }
        try await eventually("the request made an entry") { try await !zelda.notifications("friend_request").isEmpty }
        let quin = try await Person.register("quin", at: zelda.home)
        #expect(try await zelda.request(quin, key: "ask-quin").status == 201, "its reply is kept for a repeat")
        try await fillRest(zelda, quin, streak, word: word)
        return streak
    }

    private func fillRest(_ zelda: Person, _ quin: Person, _ streak: String, word: String) async throws {
        let home = zelda.home
        // What streaks would consume from billing for a premium plan.
        _ = try await home.sql(
            "INSERT INTO streaks.entitlement_replica (user_id, version, is_premium) VALUES ('\(zelda.id)', 1, true)"
        )
        let prompts = "{\"prompts\":[{\"text\":\"Where \(word) sits\"}]}"
        let path = "/api/streaks/\(streak)/prompts"
        #expect(try await home.call("PUT", path, token: zelda.token, json: prompts).status == 200)
        let words = """
            "subject_type":"user","subject_id":"\(quin.id)","reason":"spam","description":"says \(word)"
            """
        #expect(try await zelda.post("/api/reports", "{\(words)}").status == 201)
        #expect(try await quin.post("/api/reports", "{\(words.replacing(quin.id, with: zelda.id))}").status == 201)
        let (enemy, rival) = (try await Person.register("enemy", at: home), try await Person.register("rival", at: home))
        #expect(try await zelda.post("/api/blocks", "{\"user_id\":\"\(enemy.id)\"}").status == 201)
        #expect(try await rival.post("/api/blocks", "{\"user_id\":\"\(zelda.id)\"}").status == 201)
    }

    /// Where a bare id may stay: it says that there was a user, and not which.
    private static let tombstones: Set = [
        "auth.purged_account", "streaks.purged_user", "streaks.streak", "streaks.streak_member", "streaks.contribution",
        "media.photo_owner",
        // Books must balance: amounts and a bare id stay.
        "billing.account", "billing.ledger_transaction",
    ]
    /// In every service: what makes an older event change nothing, and events until the purge of the outbox.
    private static let everywhere = [".profile_replica", ".outbox"]

    private func expectGone(
        _ zelda: Person,
        from nell: Person,
        _ omar: Person,
        streak: String,
        word: String,
        purgeAt: String
    ) async throws {
        try await eventually("access tokens are refused") { try await zelda.get("/api/users/me").code == "SESSION_REVOKED" }
        let login = try await zelda.login()
        #expect(login.status == 403)
        #expect(login.code == "ACCOUNT_SCHEDULED_FOR_DELETION")
        #expect(login.json["error"]["details"][0]["field"].string == "purge_at")
        #expect(login.json["error"]["details"][0]["message"].string == purgeAt)
        try await eventually("the friend has no such friend") { try await nell.friends().isEmpty }
        try await eventually("the streak has ended without a fault") {
            let detail = try await nell.get("/api/streaks/\(streak)")
            #expect(!detail.text.contains(word) || detail.data["streak"]["status"].string == "active")
            return detail.data["streak"]["status"].string == "ended" && detail.data["streak"]["broken_by_user_id"].isNull
                && detail.data["streak"]["friend"]["display_name"].string == "Unavailable account"
        }
        #expect(try await nell.get("/api/streaks").data["streaks"].list.isEmpty)
        #expect(try await nell.get("/api/photos/feed").data["items"].list.isEmpty)
        try await eventually("nothing in the log names the person") {
            try await !nell.get("/api/notifications?limit=100").text.contains(word)
        }
        try await eventually("the request is gone") {
            try await omar.get("/api/friends/requests").data["requests"].list.isEmpty
        }
        #expect(try await nell.request(zelda).status == 404, "no user is found by that name")
    }

    @Test func `a suspension breaks the streaks, hides the person, and lifts itself after 7 days`() async throws {
        let home = try await Installation.timeTravelling.value
        var (rude, pal) = (try await Person.register("rude", at: home), try await Person.register("pal", at: home))
        let streak = try await rude.befriend(pal)
        #expect(try await rude.upload(try Photos.jpeg(73)).status == 201)
        #expect(try await pal.upload(try Photos.jpeg(74)).data["streaks"][0]["current_count"].int == 1)
        let link = try await rude.photoLink()

        let event = try await suspension(of: rude, at: home)
        try await home.consumed(try await home.emit(event, from: "social"), by: ["auth", "streaks"])
        let login = try await rude.login()
        #expect(login.status == 403)
        #expect(login.code == "ACCOUNT_SUSPENDED")
        #expect(login.json["error"]["details"][0]["field"].string == "until")
        #expect(login.json["error"]["details"][0]["message"].string == event.until?.description)
        try await eventually("access tokens are refused") { try await rude.get("/api/users/me").code == "SESSION_REVOKED" }
        let broken = try await pal.get("/api/streaks/\(streak)").data["streak"]
        #expect(broken["status"].string == "broken")
        #expect(broken["broken_by_user_id"].string == rude.id)
        try await eventually("the friend sees no friends") { try await pal.friends().isEmpty }
        try await eventually("nor the photo") { try await home.http.send("GET", link).status == 404 }
        let hidden = try await pal.get("/api/photos/history/\(streak)").data["days"][0]
        #expect(hidden["friend_snap"].isNull && hidden["locked"].bool == false && !hidden["your_snap"].isNull)
        try await eventually("the break makes one entry") { try await pal.notifications("streak_broken").count == 1 }

        // The same decision, emitted once more, is no second one.
        let version = try await home.sql("SELECT version FROM auth.account WHERE id = '\(rude.id)'")
        try await home.consumed(try await home.emit(event, from: "social"), by: ["auth", "streaks"])
        #expect(try await home.sql("SELECT version FROM auth.account WHERE id = '\(rude.id)'") == version)
        #expect(try await pal.notifications("streak_broken").count == 1)

        try await home.travel(days: 6)
        #expect(try await rude.login().code == "ACCOUNT_SUSPENDED")
        try await home.travel(days: 1, seconds: 60)
        try await rude.signIn()
        try await pal.signIn()
        #expect(try await pal.friends() == [rude.username], "the friendship was only hidden")
        #expect(try await pal.get("/api/streaks/\(streak)").data["streak"]["status"].string == "broken", "the break stays")
        let fresh = try await rude.photoLink()
        try await eventually("the photo is served again") { try await home.http.send("GET", fresh).status == 200 }
        let shown = try await pal.get("/api/photos/history/\(streak)").data["days"][0]
        #expect(shown["friend_snap"]["user_id"].string == rude.id, "also in the history of the broken streak")
        #expect(try await rude.upload(try Photos.jpeg(75), to: streak).code == "STREAK_NOT_ACTIVE")
    }

    @Test func `a ban outlives a suspension, and a restoration`() async throws {
        let home = try await Installation.timeTravelling.value
        let (vile, pal) = (try await Person.register("vile", at: home), try await Person.register("pal", at: home))
        let streak = try await vile.befriend(pal)
        var event = try await suspension(of: vile, at: home)
        try await home.consumed(try await home.emit(event, from: "social"), by: ["auth", "streaks"])
        #expect(
            try await pal.get("/api/streaks/\(streak)").data["streak"]["status"].string == "active",
            "a streak that counts nothing cannot break (SD-8)"
        )
        (event.actionID, event.action, event.until) = (ids.make(), .ban, nil)
        try await home.consumed(try await home.emit(event, from: "social"), by: ["auth", "streaks"])
        #expect(try await vile.login().code == "ACCOUNT_BANNED")
        #expect(try await pal.get("/api/streaks/\(streak)").data["streak"]["status"].string == "ended")
        try await home.travel(days: 8)
        #expect(try await vile.login().code == "ACCOUNT_BANNED")

        // A banned person cannot sign in to delete the account; an account that was deleted before comes back as it would be.
        let sly = try await Person.register("sly", at: home)
        #expect(try await sly.delete().status == 200)
        (event.actionID, event.userID) = (ids.make(), try #require(UserID(sly.id)))
        try await home.consumed(try await home.emit(event, from: "social"), by: ["auth", "streaks"])
        #expect(try await sly.login().code == "ACCOUNT_SCHEDULED_FOR_DELETION")
        let restored = try await Person.administrator(at: home).restore(sly.id)
        #expect(restored.data["status"].string == "banned", "\(restored.text)")
        #expect(try await sly.login().code == "ACCOUNT_BANNED")
    }

    private var ids: UUIDv7Source { UUIDv7Source(clock: SystemClock()) }

    private func suspension(of person: Person, at home: Installation) async throws -> ModerationActionTaken {
        let text = try #require(try await home.call("GET", "/api/dev/clock").data["now"].string)
        let now = try #require(Instant(rfc3339: text))
        return ModerationActionTaken(
            actionID: ids.make(),
            userID: try #require(UserID(person.id)),
            action: .suspend,
            takenAt: now,
            until: now + .days(7),
            moderatorID: ids.make(),
            reportID: ids.make()
        )
    }
}
