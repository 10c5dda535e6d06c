import AuthAPI
import Bus
import Database
import Foundation
import Kernel
import StreaksAPI
import Testing

/// Profiles, names, terms and guests over HTTP, and what time does to them (AU-8 … AU-11).
@Suite(.serialized, .timeLimit(.minutes(5))) struct ProfileTests {
    @Test func `only the fields that are sent change`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("ann")
        let token = person.accessToken
        let first = try await world.call("PUT", "/api/users/me", "{\"display_name\":\"Ann Lee\"}", token: token)
        #expect(first.status == 200, "\(first.text)")
        #expect(first.string("display_name") == "Ann Lee")
        #expect(first.string("username") == person.user?.username)
        let second = try await world.call(
            "PUT",
            "/api/users/me",
            "{\"time_zone\":\"Asia/Kolkata\",\"display_name\":null}",
            token: token
        )
        #expect(second.string("time_zone") == "Asia/Kolkata" && second.string("display_name") == "Ann Lee", "\(second.text)")
        let third = try await world.call("PUT", "/api/users/me", "{\"timezone_offset\":-210}", token: token)
        #expect(third.string("time_zone") == "-03:30", "\(third.text)")
        let both = try await world.call(
            "PUT",
            "/api/users/me",
            "{\"timezone_offset\":60,\"time_zone\":\"Europe/Rome\"}",
            token: token
        )
        #expect(both.string("time_zone") == "Europe/Rome")
        for bad in [
            "{\"time_zone\":\"Mars/Base\"}", "{\"username\":\"No Way\"}", "{\"display_name\":\"\"}", "{\"email\":\"a@b.c\"}",
        ] {
            let reply = try await world.call("PUT", "/api/users/me", bad, token: token)
            #expect(reply.status == 400 && reply.code == "VALIDATION_ERROR", "\(reply.text)")
        }
        #expect(try await world.call("PUT", "/api/users/me", "{}").status == 401)
    }

    @Test(arguments: [
        ("\"time_zone\":\"Asia/Hanoi\"", "Asia/Ho_Chi_Minh"), ("\"time_zone\":\"US/Pacific-New\"", "America/Los_Angeles"),
        ("\"time_zone\":\"W. Europe Standard Time\"", "Europe/Berlin"), ("\"time_zone\":\"GMT+03:00\"", "+03:00"),
        ("\"time_zone\":\"UTC-3\",\"timezone_offset\":60", "-03:00"),
        // A name that is not known, and the offset beside it; one that is known wins over the offset.
        ("\"time_zone\":\"PST\",\"timezone_offset\":-480", "-08:00"),
        ("\"time_zone\":\"\",\"timezone_offset\":330", "+05:30"),
        ("\"time_zone\":\"Mitteleuropäische Sommerzeit\",\"timezone_offset\":120", "+02:00"),
        ("\"time_zone\":\"Asia/Hanoi\",\"timezone_offset\":-480", "Asia/Ho_Chi_Minh"),
    ]) func `zone names of phones are understood, and the reply says which zone is used`(sent: String, used: String) async throws
    {
        let world = try await World.shared.value
        let name = World.unique("zoe")
        let account = "\"email\":\"\(name)@example.com\",\"password\":\"\(World.password)\",\"username\":\"\(name)\""
        let made = try await world.call("POST", "/api/auth/register", "{\(account),\(sent)}")
        #expect(made.status == 201 && made.string("user", "time_zone") == used, "\(made.text)")
        #expect(Zone(used) != nil, "the zone is one that dates are computed with")
        let person = try await world.register("yan")
        let changed = try await world.call("PUT", "/api/users/me", "{\(sent)}", token: person.accessToken)
        #expect(changed.status == 200 && changed.string("time_zone") == used, "\(changed.text)")
    }

    @Test(arguments: ["PST", "Mars/Base", "GMT+15", "", "asia/kolkata"])
    func `a zone name that is not known, without an offset, is refused and changes nothing`(name: String) async throws {
        let world = try await World.shared.value
        let person = try await world.register("xia")
        let reply = try await world.call("PUT", "/api/users/me", "{\"time_zone\":\"\(name)\"}", token: person.accessToken)
        #expect(reply.status == 400 && reply.code == "VALIDATION_ERROR", "\(reply.text)")
        #expect(reply.text.contains("time_zone") && reply.text.contains("timezone_offset"), "\(reply.text)")
        let me = try await world.call("GET", "/api/users/me", token: person.accessToken)
        #expect(me.string("time_zone") == "UTC")
    }

    @Test func `a change emits one event with the next version, and no change emits none`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("bea")
        let id = try #require(person.user?.id)
        func emitted() async throws -> Int {
            try await world.database.query(
                "SELECT 1 FROM auth.outbox WHERE subject = 'evt.auth.v1.ProfileChanged' AND aggregate = \(id.description)"
            ).count
        }
        #expect(try await emitted() == 1)
        let body = "{\"display_name\":\"Bea\"}"
        for _ in 0..<3 { _ = try await world.call("PUT", "/api/users/me", body, token: person.accessToken) }
        #expect(try await emitted() == 2)
        let state = try await world.profiles.getSummaries(GetSummariesRequest(userIDs: [id]), context: World.context()).profiles
            .first
        #expect(state?.version == 2 && state?.displayName == "Bea")
    }

    @Test func `a profile has the counts of the check-in streak, and goes without them when streaks does not answer`()
        async throws
    {
        let world = try await World.shared.value
        let (ann, ben) = (try await world.register("ann"), try await world.register("ben"))
        let id = try #require(ben.user?.id)
        func profile() async throws -> PublicProfile {
            try await world.profiles.getProfile(
                GetProfileRequest(userID: id),
                context: World.context(try #require(ann.user?.id))
            )
        }
        let none = try await profile()
        #expect(none.currentStreak == 0 && none.longestStreak == 0)
        world.publicStreaks.set(PublicStreak(currentStreak: 47, longestStreak: 89), of: id)
        let shown = try await profile()
        #expect(shown.currentStreak == 47 && shown.longestStreak == 89 && shown.username == ben.user?.username)
        world.publicStreaks.refuse(id)
        let without = try await profile()
        #expect(without.currentStreak == nil && without.longestStreak == nil && without.userID == id)
    }

    @Test func `a username changes once in 14 days, and the old one is free again`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        let person = try await world.register("cem")
        let old = try #require(person.user?.username)
        let context = { World.context(person.user?.id) }
        let (one, two) = (World.unique("one"), World.unique("two"))
        func change(_ name: String) async -> String? {
            await reason { try await world.profiles.updateMe(UpdateMeRequest(username: name), context: context()) }
        }
        let other = try await world.register("dan")
        #expect(await change(try #require(other.user?.username)) == "USERNAME_TAKEN")
        #expect(await change(one) == nil, "a refusal does not count")
        #expect(await change(one) == nil, "the same name is no change")
        #expect(await change(two) == "USERNAME_CHANGED_RECENTLY")
        let check = CheckUsernameRequest(username: old)
        #expect(try await world.profiles.checkUsername(check, context: World.context()).available)
        clock.advance(by: .seconds(14 * 86_400 - 1))
        #expect(await change(two) == "USERNAME_CHANGED_RECENTLY")
        let me = try await world.profiles.getMe(GetMeRequest(), context: context())
        #expect(me.usernameChangeableAt == clock.now() + .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(await change(two) == nil)
        let renamed = try await world.profiles.updateMe(UpdateMeRequest(displayName: "Cem"), context: context())
        #expect(renamed.username == two)
    }

    @Test func `after 50,000 changes of an account its zone stays, and the rest can be changed`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("gus")
        let id = try #require(person.user?.id)
        try await world.database.execute("UPDATE account SET version = 50000 WHERE id = \(id)")
        let refused = try await world.call("PUT", "/api/users/me", "{\"time_zone\":\"Asia/Tokyo\"}", token: person.accessToken)
        #expect(refused.status == 400 && refused.code == "QUOTA_EXCEEDED", "\(refused.text)")
        let renamed = try await world.call("PUT", "/api/users/me", "{\"display_name\":\"Gus\"}", token: person.accessToken)
        #expect(renamed.status == 200 && renamed.string("display_name") == "Gus", "\(renamed.text)")
    }

    @Test func `two who want the same name at once do not both get it`() async throws {
        let world = try await World.shared.value
        let people = [try await world.register("eli"), try await world.register("fay")]
        let wanted = World.unique("same")
        let replies = try await withThrowingTaskGroup(of: APIReply.self) { group in
            for person in people {
                group.addTask {
                    try await world.call("PUT", "/api/users/me", "{\"username\":\"\(wanted)\"}", token: person.accessToken)
                }
            }
            return try await group.reduce(into: [APIReply]()) { $0.append($1) }
        }
        #expect(replies.map(\.status).sorted() == [200, 409])
        #expect(replies.compactMap(\.code) == ["USERNAME_TAKEN"])
    }

    @Test func `an app learns while the user types whether a name is free`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("gus")
        func check(_ name: String) async throws -> (Bool?, String?) {
            let reply = try await world.call("GET", "/api/auth/check-username/\(name)")
            #expect(reply.status == 200, "\(reply.text)")
            return (reply.bool("available"), reply.string("problem"))
        }
        #expect(try await check(World.unique("free")) == (true, nil))
        #expect(try await check(try #require(person.user?.username)) == (false, "taken"))
        for name in ["ab", "Upper", "sp%20ace", "%C3%BC%C3%BC%C3%BC", String(repeating: "x", count: 31)] {
            #expect(try await check(name) == (false, "invalid"), "\(name)")
        }
    }

    @Test func `a profile shows what every user may know, and only of those who can be seen`() async throws {
        let world = try await World.shared.value
        let (hal, ida) = (try await world.register("hal"), try await world.register("ida"))
        let id = try #require(hal.user?.id)
        let reply = try await world.call("GET", "/api/users/\(id)", token: ida.accessToken)
        #expect(reply.status == 200 && reply.string("username") == hal.user?.username, "\(reply.text)")
        #expect(!reply.text.contains("@example.com"), "no e-mail")
        #expect(try await world.call("GET", "/api/users/\(id)").status == 401)
        #expect(
            try await world.call("GET", "/api/users/01890000-0000-7000-8000-000000000000", token: ida.accessToken).status == 404
        )
        for status in [2, 3, 4] {
            try await world.database.execute("UPDATE auth.account SET status = \(status) WHERE id = \(id)")
            #expect(try await world.call("GET", "/api/users/\(id)", token: ida.accessToken).code == "NOT_FOUND")
        }
    }

    @Test func `accepting the terms stores version and time, and emits an event for media`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        let person = try await world.register("jo")
        let context = { World.context(person.user?.id) }
        #expect(person.user?.termsVersion == nil)
        let first = try await world.profiles.acceptTerms(AcceptTermsRequest(version: "2026-01"), context: context())
        #expect(first.termsAcceptedAt == clock.now())
        clock.advance(by: .days(1))
        #expect(try await world.profiles.acceptTerms(AcceptTermsRequest(version: "2026-01"), context: context()) == first)
        let me = try await world.profiles.getMe(GetMeRequest(), context: context())
        #expect(me.termsVersion == "2026-01" && me.termsAcceptedAt == first.termsAcceptedAt)
        let second = try await world.profiles.acceptTerms(AcceptTermsRequest(version: "2026-02"), context: context())
        #expect(second.termsAcceptedAt == clock.now())
        let ids = GetSummariesRequest(userIDs: [try #require(person.user?.id)])
        let state = try await world.profiles.getSummaries(ids, context: World.context()).profiles.first
        #expect(state?.termsVersion == "2026-02" && state?.version == 3 && state?.verifiedEmail == "")
        for wrong in ["a b", "latest", "2026-", "", "2026-01"] {
            let error = await #expect(throws: ServiceError.self) {
                try await world.profiles.acceptTerms(AcceptTermsRequest(version: wrong), context: context())
            }
            let reason = wrong == "2026-01" ? "TERMS_VERSION_OUTDATED" : "VALIDATION_ERROR"
            #expect(error?.reason == reason && error?.details.map(\.field) == ["version"], "\(wrong)")
        }
        #expect(try await world.profiles.getMe(GetMeRequest(), context: context()).termsVersion == "2026-02", "never back")
    }

    @Test func `names that are invisible, turn the text around them, or speak for the service are refused`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("lou")
        let context = { World.context(person.user?.id) }
        let wrong = [
            " ", "\u{A0}\u{2003}", "\u{200B}", "\u{200D}", "\u{2800}", "\u{3164}", "\u{301}", "a\u{202E}b", "\u{2066}a", "a\tb",
            "a\u{0}b", "Admin", "Ѕupport", "StreakSnap Team",
        ]
        for name in wrong {
            let error = await #expect(throws: ServiceError.self, "\(name.debugDescription)") {
                try await world.profiles.updateMe(UpdateMeRequest(displayName: name), context: context())
            }
            #expect(
                error?.code == .invalidArgument && error?.details.map(\.field) == ["display_name"],
                "\(name.debugDescription)"
            )
            let unique = World.unique("lou")
            let refused = await #expect(throws: ServiceError.self) {
                try await world.accounts.register(
                    RegisterRequest(email: "\(unique)@example.com", password: World.password, displayName: name),
                    context: World.context()
                )
            }
            #expect(refused?.details.map(\.field) == ["display_name"])
        }
        for name in ["Ann", "Ünïcödé", "李小龙", "شهرزاد", "👩‍👩‍👧‍👦", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "O’Neill-Smith Jr.", "می‌خواهم", "1"] {
            let me = try await world.profiles.updateMe(UpdateMeRequest(displayName: "  \(name) "), context: context())
            #expect(me.displayName == name, "white space around it goes")
        }
    }

    @Test func `a username that speaks for the service is refused`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("max")
        for name in ["admin", "support", "ad.min", "_admin_", "streaksnap", "streak.snap", "help", "me_", "..."] {
            let error = await #expect(throws: ServiceError.self) {
                try await world.profiles.updateMe(UpdateMeRequest(username: name), context: World.context(person.user?.id))
            }
            #expect(error?.details.map(\.field) == ["username"], "\(name)")
            let answer = try await world.profiles.checkUsername(CheckUsernameRequest(username: name), context: World.context())
            #expect(!answer.available && answer.problem == .reserved, "\(name)")
        }
        let made = try await world.accounts.register(
            RegisterRequest(email: "admin@\(World.unique("example")).com", password: World.password),
            context: World.context()
        )
        let username = try #require(made.user?.username)
        #expect(username.hasPrefix("user_"), "\(username)")
        #expect(made.user?.displayName == username)
    }

    @Test func `right after its deletion an account's token is answered like that of any ended session`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("ned")
        let token = person.accessToken
        let body = "{\"password\":\"\(World.password)\"}"
        #expect(try await world.call("DELETE", "/api/auth/account", body, token: token).status == 200)
        for _ in 0..<20 { #expect(try await world.call("GET", "/api/users/me", token: token).code == "SESSION_REVOKED") }
    }

    @Test func `a verified e-mail is emitted in lower case`() async throws {
        let world = try await World.shared.value
        let name = World.unique("Kim.CASE")
        let claims = Claims(email: "\(name)@Example.com")
        let token = try world.apple.token(claims.json(world.now()))
        let session = try await world.accounts.signInWithApple(
            SignInWithAppleRequest(identityToken: token),
            context: World.context()
        )
        let ids = GetSummariesRequest(userIDs: [try #require(session.user?.id)])
        let state = try await world.profiles.getSummaries(ids, context: World.context()).profiles.first
        #expect(state?.verifiedEmail == "\(name.lowercased())@example.com")
    }

    @Test func `a guest may look three times a day, on every device`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        let device = CreateGuestSessionRequest(deviceID: "device-0001")
        let guest = try await world.accounts.createGuestSession(device, context: World.context())
        #expect(guest.guestPeeksRemaining == 3 && guest.expiresIn == 900)
        let context = { World.context(guest.guestID, role: .guest) }
        for left in [Int32(2), 1, 0] {
            let reply = try await world.accounts.useGuestPeek(UseGuestPeekRequest(), context: context())
            #expect(reply.guestPeeksRemaining == left)
        }
        let refused = await #expect(throws: ServiceError.self) {
            _ = try await world.accounts.useGuestPeek(UseGuestPeekRequest(), context: context())
        }
        #expect(refused?.reason == "GUEST_PEEKS_USED_UP")
        #expect(refused?.retryAfter == Int((guest.guestPeeksResetAt ?? .epoch).seconds - clock.now().seconds) + 1)
        let again = try await world.accounts.createGuestSession(device, context: World.context())
        #expect(again.guestID == guest.guestID && again.guestPeeksRemaining == 0, "a new token gives no new peeks")
        let other = CreateGuestSessionRequest(deviceID: "device-0002")
        #expect(try await world.accounts.createGuestSession(other, context: World.context()).guestPeeksRemaining == 3)
        clock.set(try #require(guest.guestPeeksResetAt))
        #expect(try await world.accounts.createGuestSession(device, context: World.context()).guestPeeksRemaining == 3)
        #expect(try await world.accounts.useGuestPeek(UseGuestPeekRequest(), context: context()).guestPeeksRemaining == 2)
    }

    @Test func `sixteen peeks at once are three`() async throws {
        let world = try await World.shared.value
        let body = "{\"device_id\":\"\(World.unique("device"))\"}"
        let guest = try await world.call("POST", "/api/auth/guest", body)
        let token = try #require(guest.string("access_token"), "\(guest.text)")
        let replies = try await withThrowingTaskGroup(of: APIReply.self) { group in
            for _ in 0..<16 { group.addTask { try await world.call("POST", "/api/auth/guest/peek", token: token) } }
            return try await group.reduce(into: [APIReply]()) { $0.append($1) }
        }
        #expect(replies.filter { $0.status == 200 }.compactMap { $0.int("guest_peeks_remaining") }.sorted() == [0, 1, 2])
        #expect(replies.filter { $0.status == 429 && $0.code == "GUEST_PEEKS_USED_UP" }.count == 13)
    }

    @Test func `of sixty peeks with twenty device ids from one address fifteen are given on a date`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        func peeks(from address: (Int) -> String) async throws -> Int {
            var given = 0
            for number in 0..<20 {
                let request = CreateGuestSessionRequest(deviceID: World.unique("device"))
                let guest = try await world.accounts.createGuestSession(request, context: World.context(from: address(number)))
                for _ in 0..<3 {
                    let context = CallContext(
                        deadline: SystemClock.now() + .seconds(30),
                        principal: Principal(userID: guest.guestID, role: .guest),
                        clientAddress: IPAddress(address(number))
                    )
                    let answer = await reason { try await world.accounts.useGuestPeek(UseGuestPeekRequest(), context: context) }
                    if answer == nil { given += 1 } else { #expect(answer == "GUEST_PEEKS_USED_UP") }
                }
            }
            return given
        }
        // A home has a whole /64.
        #expect(try await peeks { "2001:db8::\($0)" } == 15)
        let late = CreateGuestSessionRequest(deviceID: World.unique("device"))
        let guest = try await world.accounts.createGuestSession(late, context: World.context(from: "2001:db8::99"))
        #expect(guest.guestPeeksRemaining == 0)
        #expect(try await peeks { "192.0.2.\($0)" } == 60, "of as many homes")
        clock.advance(by: .days(1))
        #expect(try await peeks { "2001:db8::\($0)" } == 15)
    }

    @Test func `a guest reads and changes nothing`() async throws {
        let world = try await World.shared.value
        let guest = try await world.call("POST", "/api/auth/guest", "{\"device_id\":\"\(World.unique("device"))\"}")
        let token = try #require(guest.string("access_token"), "\(guest.text)")
        let calls: [(String, String, String?)] = [
            ("GET", "/api/users/me", nil), ("PUT", "/api/users/me", "{\"display_name\":\"x\"}"),
            ("POST", "/api/auth/logout", nil),
            ("POST", "/api/users/me/terms", "{\"version\":\"1\"}"),
        ]
        for (method, path, body) in calls {
            let reply = try await world.call(method, path, body, token: token)
            #expect(reply.status == 403 && reply.code == "GUEST_NOT_ALLOWED", "\(path): \(reply.text)")
        }
        let person = try await world.register("lu")
        #expect(try await world.call("POST", "/api/auth/guest/peek", token: person.accessToken).code == "NOT_A_GUEST")
        #expect(try await world.call("POST", "/api/auth/guest", "{\"device_id\":\"short\"}").code == "VALIDATION_ERROR")
    }
}
