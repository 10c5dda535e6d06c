import Foundation
import Kernel
import TestSupport
import Testing

/// Every route that changes something, sent twice with one `Idempotency-Key` (D12, PF-4). A route that is new fails here until it has a
/// request that succeeds.
struct RepeatWalk {
    /// What a repeat gets.
    enum Repeat {
        /// The first answer, byte for byte.
        case firstAnswer
        /// The first answer, or 401 as soon as the gateway knows that the first request ended the session that sends the repeat.
        case firstAnswerOrSignedOut
        /// An answer of its own: the request is done again, and finds what it did.
        case ownAnswer
    }

    let home: Installation
    /// What was sent, as in "POST /api/blocks".
    private(set) var walked: Set<String> = []

    init(home: Installation) { self.home = home }

    /// - Parameters:
    ///   - operation: verb and path of the description of the API.
    ///   - ids: what stands for the parameters of the path.
    ///   - query: what follows the path.
    ///   - storesReply: whether the request is stored by the key; that of a change across services is with its operation (D6), and
    ///     the account's own are deleted with it.
    /// - Returns: the first answer, or the repeat's own.
    @discardableResult
    mutating func send(
        _ operation: String,
        _ ids: [String: String] = [:],
        query: String = "",
        by token: String? = nil,
        json: String? = nil,
        form: Form? = nil,
        repeats: Repeat = .firstAnswer,
        storesReply: Bool = true
    ) async throws -> JSON {
        walked.insert(operation)
        let parts = operation.split(separator: " ")
        let path = ids.reduce(String(parts[1])) { $0.replacing("{\($1.key)}", with: $1.value) } + query
        let key = UUID().uuidString
        var headers = [("Idempotency-Key", key)] + (form == nil ? [] : [Form.contentType])
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        if json != nil { headers.append(("Content-Type", "application/json")) }
        let body = form?.body ?? Array((json ?? "").utf8)
        let first = try await home.http.send(String(parts[0]), path, headers: headers, body: body)
        try #require((200...204).contains(first.status), "\(operation): \(first.text)")
        let second = try await home.http.send(String(parts[0]), path, headers: headers, body: body)
        switch repeats {
        case .firstAnswerOrSignedOut where second.status == 401:
            #expect(second.code == "SESSION_REVOKED", "\(operation): \(second.text)")
        case .ownAnswer: #expect(second.status == first.status, "\(operation): \(second.text)")
        case .firstAnswer, .firstAnswerOrSignedOut:
            #expect(second.status == first.status, "\(operation): \(second.text)")
            #expect(second.dataText == first.dataText, "\(operation)")
        }
        if storesReply { #expect(try await storedReplies(key) > 0, "\(operation): it is not stored") }
        return repeats == .ownAnswer ? second.data : first.data
    }

    private func storedReplies(_ key: String) async throws -> Int {
        let schemas = ["auth", "social", "streaks", "media", "notifications", "billing"]
        let counts = schemas.map { "(SELECT count(*) FROM \($0).stored_reply WHERE key_hash = sha256('\(key)'))" }
        return try #require(Int(try await home.sql("SELECT \(counts.joined(separator: " + "))")))
    }
}

extension ClockTests {
    /// Shown beside Apple's stand-in, which has a key to sign with: `AppleTests` and `AppleNotificationTests`.
    private static let ofApple: Set<String> = ["POST /api/auth/apple", "POST /auth/apple", "POST /api/webhooks/apple"]
    /// Shown beside RevenueCat's stand-in, in `BillingTests`.
    private static let ofStore: Set<String> = ["POST /api/billing/restore", "POST /api/webhooks/revenuecat"]

    @Test func `every route that changes something answers a repeat with the same key as the first time`() async throws {
        let home = try await Installation.timeTravelling.value
        var walk = RepeatWalk(home: home)
        var pair = try await Pair.posted(at: home)
        try await sessions(&walk)
        try await profiles(&walk)
        try await email(&walk)
        try await secondFactor(&walk)
        try await friends(&walk)
        try await safety(&walk)
        try await store(&walk)
        try await typed(&walk)
        try await habits(&walk)
        try await circles(&walk)
        try await rewards(&walk)
        try await photos(&walk)
        try await places(&walk)
        try await prompts(&walk, pair)
        try await cards(&walk, &pair)
        try await notifications(&walk)
        try await brokenStreaks(&walk)
        try await ends(&walk)
        // Moves the clock: the tokens of the others end.
        try await checkIns(&walk)

        let page = try await home.call("GET", "/openapi.json").json
        // The clock is the gateway's own, for development.
        let changing = APIOperation.all(in: page).filter { $0.verb != "GET" && $0.path != "/api/dev/clock" }
        for operation in changing {
            let parameters = operation.json["parameters"].list.compactMap { $0["$ref"].string }
            #expect(parameters.contains("#/components/parameters/IdempotencyKey"), "\(operation) offers no key")
        }
        let described = Set(changing.map(\.description))
        #expect(
            described.subtracting(Self.ofApple).subtracting(Self.ofStore).subtracting(walk.walked).sorted() == [],
            "teach this test these routes"
        )
        #expect(walk.walked.subtracting(described).sorted() == [], "not in the description")
    }

    private func sessions(_ walk: inout RepeatWalk) async throws {
        let home = walk.home
        let nan = Person(home: home, username: Person.unique("nan"))
        try await walk.send("POST /api/auth/register", json: nan.registration())
        #expect(try await home.sql("SELECT count(*) FROM auth.account WHERE username = '\(nan.username)'") == "1")
        let login = "{\"email\":\(quoted(nan.email)),\"password\":\"\(Person.password)\"}"
        for end in ["", "/api"] {
            let session = try await walk.send("POST /api/auth/login", json: login)
            let token = try #require(session["refresh_token"].string)
            let renewed = try await walk.send("POST \(end)/auth/refresh", json: "{\"refresh_token\":\(quoted(token))}")
            let access = try #require(renewed["access_token"].string)
            try await walk.send("POST \(end)/auth/logout", by: access, repeats: .firstAnswerOrSignedOut)
        }
        let sessions =
            "SELECT count(*) FROM auth.session JOIN auth.account a ON a.id = account_id WHERE username = '\(nan.username)'"
        #expect(try await home.sql(sessions) == "3", "one of each sign-in")
        let guest = try await walk.send("POST /api/auth/guest", json: "{\"device_id\":\"\(UUID().uuidString)\"}")
        let peek = try await walk.send("POST /api/auth/guest/peek", by: guest["access_token"].string)
        #expect(peek["guest_peeks_remaining"].int == 2, "one peek was used")
    }

    private func profiles(_ walk: inout RepeatWalk) async throws {
        let pam = try await Person.register("pam", at: walk.home)
        try await walk.send("POST /api/users/me/terms", by: pam.token, json: "{\"version\":\"2026-02\"}")
        try await walk.send("PUT /api/users/me", by: pam.token, json: "{\"display_name\":\"Pamela\"}")
        let picture = Form(photo: try Photos.jpeg(41), part: "avatar")
        try await walk.send("PUT /api/users/me/avatar", by: pam.token, form: picture)
        try await walk.send("DELETE /api/users/me/avatar", by: pam.token)
    }

    private func email(_ walk: inout RepeatWalk) async throws {
        let home = walk.home
        let mails = Mails(home: home)
        let ned = try await Person.register("ned", at: home)
        try await walk.send("POST /api/auth/email/resend", by: ned.token)
        let verification = try await mails.token("Confirm your e-mail address", to: ned.email, count: 2)
        try await walk.send("POST /api/auth/email/verify", json: "{\"token\":\"\(verification)\"}")
        let new = "\(Person.unique("ned"))@example.org"
        let wish = "{\"email\":\(quoted(new)),\"password\":\"\(Person.password)\"}"
        try await walk.send("PUT /api/users/me/email", by: ned.token, json: wish)
        #expect(try await mails.newest("Confirm your new e-mail address", to: new).token != nil)
        let change = "{\"current_password\":\"\(Person.password)\",\"new_password\":\"battery-horse-staple\"}"
        try await walk.send("POST /api/auth/password/change", by: ned.token, json: change)
        try await walk.send("POST /api/auth/password/forgot", json: "{\"email\":\(quoted(ned.email))}")
        let reset = try await mails.token("Set a new password", to: ned.email)
        let body = "{\"token\":\"\(reset)\",\"new_password\":\"\(Person.password)\"}"
        try await walk.send("POST /api/auth/password/reset", json: body)
        #expect(mails.all(to: ned.email).filter { $0.subject == "Set a new password" }.count == 1, "a repeat sends none")
    }

    private func secondFactor(_ walk: inout RepeatWalk) async throws {
        let admin = try await Person.administrator(at: walk.home)
        let path = "/api/auth/second-factor"
        let proof = "{\"password\":\"\(Person.password)\""
        let started = try await walk.send("POST \(path)", by: admin.token, json: proof + "}")
        let app = Authenticator(secret: try #require(started["secret"].string))
        let confirm = "{\"code\":\"\(app.code())\"}"
        let confirmed = try await walk.send("POST \(path)/confirm", by: admin.token, json: confirm)
        #expect(confirmed["recovery_codes"].list.count == 10)
        let removal = proof + ",\"code\":\"\(app.code(1))\"}"
        try await walk.send("DELETE \(path)", by: admin.token, json: removal, repeats: .firstAnswerOrSignedOut)
        let kinds = "SELECT kind FROM auth.admin_action WHERE subject_id = '\(admin.id)' ORDER BY taken_at"
        #expect(try await walk.home.sql(kinds) == "20\n21", "each is in the audit log once")
    }

    private func friends(_ walk: inout RepeatWalk) async throws {
        let accept = ["PUT /api/friends/{friendship_id}/respond", "PUT /api/friends/request/{friendship_id}/accept"]
        let decline = "DELETE /api/friends/request/{friendship_id}/decline"
        for answer in accept + [decline] {
            let (fay, gus) = (try await Person.register("fay", at: walk.home), try await Person.register("gus", at: walk.home))
            let asked = try await walk.send(
                "POST /api/friends/request",
                by: fay.token,
                json: "{\"username\":\"\(gus.username)\"}"
            )
            let friendship = ["friendship_id": try #require(asked["friendship_id"].string)]
            let json = answer == accept[0] ? "{\"action\":\"accept\"}" : nil
            try await walk.send(answer, friendship, by: gus.token, json: json)
            guard answer != decline else { continue }
            try await walk.send("POST /api/friends/nudge/{friend_id}", ["friend_id": gus.id], by: fay.token)
            try await walk.send("DELETE /api/friends/{friendship_id}", friendship, by: fay.token)
        }
    }

    private func safety(_ walk: inout RepeatWalk) async throws {
        let (sal, tod) = (try await Person.register("sal", at: walk.home), try await Person.register("tod", at: walk.home))
        let admin = try await Person.administrator(at: walk.home)
        let blocked = try await walk.send("POST /api/blocks", by: sal.token, json: "{\"user_id\":\"\(tod.id)\"}")
        let block = try #require(blocked["block_id"].string ?? blocked["id"].string)
        try await walk.send("DELETE /api/blocks/{block_id}", ["block_id": block], by: sal.token)
        let body = "{\"subject_type\":\"user\",\"subject_id\":\"\(tod.id)\",\"reason\":\"spam\"}"
        let report = try #require(try await walk.send("POST /api/reports", by: sal.token, json: body)["report_id"].string)
        let action = "PUT /api/admin/moderation/reports/{report_id}"
        try await walk.send(action, ["report_id": report], by: admin.token, json: "{\"action\":\"dismiss\"}")
    }

    private func notifications(_ walk: inout RepeatWalk) async throws {
        let (una, val) = (try await Person.register("una", at: walk.home), try await Person.register("val", at: walk.home))
        _ = try await val.request(una)
        try await eventually("una is notified") { try await !una.notifications("friend_request").isEmpty }
        let id = try #require(try await una.notifications("friend_request").first?["id"].string)
        let device = "{\"push_token\":\"ExponentPushToken[\(UUID().uuidString)]\",\"platform\":\"ios\"}"
        #expect(try await walk.send("PUT /api/users/me/push-token", by: una.token, json: device)["devices"].int == 1)
        try await walk.send("PUT /api/users/me/notification-preferences", by: una.token, json: "{\"nudges\":false}")
        let test = try await walk.send("POST /api/notifications/test", by: una.token)
        #expect(test["devices"].int == 1)
        #expect(try await una.notifications("test").count == 1, "a repeat writes no second one")
        try await walk.send("PUT /api/notifications/read", by: una.token, json: "{\"ids\":[\(quoted(id))]}")
        try await walk.send("PUT /api/notifications/{notification_id}/read", ["notification_id": id], by: una.token)
        try await walk.send("PUT /api/notifications/read-all", by: una.token)
        try await walk.send("DELETE /api/notifications/{notification_id}", ["notification_id": id], by: una.token)
        try await walk.send("DELETE /api/users/me/push-token", by: una.token, json: "{}")
    }

    private func store(_ walk: inout RepeatWalk) async throws {
        let (sue, admin) = (try await Person.register("sue", at: walk.home), try await Person.administrator(at: walk.home))
        let grant = "{\"currency\":\"coins\",\"amount\":60,\"reason\":\"a repeat\"}"
        for end in ["/wallet/grants", "/grants"] {
            try await walk.send("POST /api/admin/users/{user_id}\(end)", ["user_id": sue.id], by: admin.token, json: grant)
        }
        try await walk.send("POST /api/store/purchase", by: sue.token, json: "{\"item\":\"freeze\"}")
        let balances = try await sue.get("/api/wallet").data["balances"].list
        #expect(balances.first { $0["currency"].string == "coins" }?["balance"].int == 20, "granted twice, bought once")
    }

    private func photos(_ walk: inout RepeatWalk) async throws {
        for (index, way) in ["POST /api/photos/upload", "POST /api/streaks/snap"].enumerated() {
            let (vic, wes) = (try await Person.register("vic", at: walk.home), try await Person.register("wes", at: walk.home))
            let streak = try await vic.befriend(wes)
            let form = Form(photo: try Photos.jpeg(UInt64(42 + index)), fields: [("streak_ids", streak)])
            let posted = try await walk.send(way, by: vic.token, form: form, storesReply: false)
            #expect(try await walk.home.sql("SELECT count(*) FROM media.snap WHERE user_id = '\(vic.id)'") == "1")
            let ids = ["photo_id": try #require(posted["snap"]["id"].string)]
            try await walk.send("DELETE /api/photos/{photo_id}", ids, by: vic.token)
        }
    }

    /// Posts, votes and saved cities.
    private func places(_ walk: inout RepeatWalk) async throws {
        let (xan, yve) = (try await Person.register("xan", at: walk.home), try await Person.register("yve", at: walk.home))
        let form = Form(photo: try Photos.jpeg(48), fields: [("latitude", "52.5"), ("longitude", "13.4")])
        let posted = try await walk.send("POST /api/posts", by: xan.token, form: form)
        #expect(try await walk.home.sql("SELECT count(*) FROM media.place_post WHERE user_id = '\(xan.id)'") == "1")
        let ids = ["post_id": try #require(posted["post"]["id"].string)]
        let file = "{\"size\":5,\"type\":\"video/mp4\",\"sha256\":\"\(String(repeating: "0", count: 64))\"}"
        try await walk.send("POST /api/posts/presign", by: xan.token, json: file)
        #expect(try await walk.home.sql("SELECT count(*) FROM media.place_upload WHERE user_id = '\(xan.id)'") == "1")
        let vote = "/api/posts/{post_id}/vote"
        #expect(try await walk.send("PUT \(vote)", ids, by: yve.token, json: "{\"vote\":\"up\"}")["up"].int == 1)
        #expect(try await walk.send("DELETE \(vote)", ids, by: yve.token)["up"].int == 0)
        try await walk.send("DELETE /api/posts/{post_id}", ids, by: xan.token)
        let city = "{\"name\":\"Berlin\",\"latitude\":52.5,\"longitude\":13.4}"
        try await walk.send("POST /api/places/cities", by: xan.token, json: city)
        try await walk.send("PUT /api/places/cities/favorite", by: xan.token, json: city)
        try await walk.send("DELETE /api/places/cities/favorite", by: xan.token)
        try await walk.send("DELETE /api/places/cities", query: "?name=berlin", by: xan.token)
    }

    private func prompts(_ walk: inout RepeatWalk, _ pair: Pair) async throws {
        _ = try await walk.home.sql(
            "INSERT INTO streaks.entitlement_replica (user_id, version, is_premium) VALUES ('\(pair.ann.id)', 1, true)"
        )
        let path = "/api/streaks/{streak_id}/prompts"
        let ids = ["streak_id": pair.streak]
        try await walk.send("PUT \(path)", ids, by: pair.ann.token, json: "{\"prompts\":[{\"text\":\"Our dog\"}]}")
        try await walk.send("DELETE \(path)", ids, by: pair.ann.token)
    }

    private func cards(_ walk: inout RepeatWalk, _ pair: inout Pair) async throws {
        for _ in 1..<7 {
            try await pair.travel(hours: 24)
            try await pair.bothPost()
        }
        let generate = "POST /api/milestones/{streak_id}/generate"
        let card = try await walk.send(generate, ["streak_id": pair.streak], by: pair.ann.token, json: "{\"milestone\":7}")
        let ids = ["milestone_id": try #require(card["milestone_id"].string)]
        try await walk.send(
            "PUT /api/milestones/{milestone_id}/shared",
            ids,
            by: pair.ann.token,
            json: "{\"platform\":\"link\"}"
        )
        try await walk.send("DELETE /api/milestones/{milestone_id}/share", ids, by: pair.ann.token)
    }

    private func brokenStreaks(_ walk: inout RepeatWalk) async throws {
        let saved = try await Pair.broken(at: walk.home)
        try await walk.send("POST /api/streaks/{streak_id}/recover", ["streak_id": saved.streak], by: saved.ann.token)
        #expect(try await saved.balances() == [0, 1], "one token was spent")
        let lost = try await Pair.broken(at: walk.home)
        try await walk.send("POST /api/streaks", by: lost.ann.token, json: "{\"friend_id\":\"\(lost.ben.id)\"}")
    }

    private func ends(_ walk: inout RepeatWalk) async throws {
        let zoe = try await Person.register("zoe", at: walk.home)
        let admin = try await Person.administrator(at: walk.home)
        let proof = "{\"password\":\"\(Person.password)\"}"
        try await walk.send(
            "DELETE /api/auth/account",
            by: zoe.token,
            json: proof,
            repeats: .firstAnswerOrSignedOut,
            storesReply: false
        )
        let (ids, reason) = (["user_id": zoe.id], "{\"reason\":\"a repeat\"}")
        let account = "/api/admin/accounts/{user_id}"
        try await walk.send("POST \(account)/restore", ids, by: admin.token)
        try await walk.send("POST \(account)/suspend", ids, by: admin.token, json: reason)
        try await walk.send("DELETE \(account)/suspension", ids, by: admin.token, json: reason)
        try await walk.send("DELETE \(account)/sessions", ids, by: admin.token)
        let noted = try await walk.home.sql("SELECT count(*) FROM auth.admin_action WHERE subject_id = '\(zoe.id)'")
        #expect(noted == "4", "each is in the audit log once")
        let redrive = "{\"service\":\"billing\"}"
        try await walk.send("POST /api/admin/parked-events/redrive", by: admin.token, json: redrive)
        // Long before anyone posted: it changes no streak.
        let outage = #"{"from":"2020-01-01T00:00:00Z","until":"2020-01-01T01:00:00Z","reason":"a repeat"}"#
        let declared = try await walk.send("POST /api/admin/outages", by: admin.token, json: outage)
        #expect(declared["is_new"].bool == true)
    }
}
