import AuthAPI
import Bus
import Cryptography
import Foundation
import Kernel
import Testing

/// Sign in with Apple over HTTP, against keys that the tests publish themselves (AU-5).
@Suite(.serialized, .timeLimit(.minutes(5))) struct AppleTests {
    private func signIn(
        _ world: World,
        _ claims: Claims,
        kid: String = "first",
        signer: String? = nil,
        more: String = "",
        path: String = "/api/auth/apple"
    ) async throws -> APIReply {
        let token = try world.apple.token(claims.json(world.now()), kid: kid, signer: signer)
        return try await world.call("POST", path, "{\"identity_token\":\"\(token)\"\(more)}")
    }

    @Test func `the first sign-in makes the account with the name that Apple sends once, later ones find it`() async throws {
        let world = try await World.shared.value
        let email = "\(World.unique("Ann"))@example.com"
        var claims = Claims(email: email)
        let first = try await signIn(
            world,
            claims,
            more: ",\"given_name\":\"Ann\",\"family_name\":\"Lee\",\"time_zone\":\"Europe/Berlin\""
        )
        #expect(first.status == 200, "\(first.text)")
        #expect(first.string("user", "display_name") == "Ann Lee")
        #expect(first.string("user", "email") == email)
        #expect(first.bool("user", "email_verified") == true)
        #expect(first.string("user", "time_zone") == "Europe/Berlin")
        let me = try await world.call("GET", "/api/users/me", token: first.string("access_token"))
        #expect(me.status == 200, "\(me.text)")
        claims.email = nil
        let second = try await signIn(world, claims, more: ",\"full_name\":\"Another Name\"", path: "/auth/apple")
        #expect(second.string("user", "id") == first.string("user", "id"))
        #expect(second.string("user", "display_name") == "Ann Lee")
        let refreshed = try await world.call(
            "POST",
            "/api/auth/refresh",
            "{\"refresh_token\":\"\(try #require(second.string("refresh_token")))\"}"
        )
        #expect(refreshed.status == 200)
    }

    @Test(arguments: ["true", "\"true\"", "false", "\"false\""]) func `email_verified may be a switch or a text`(flag: String)
        async throws
    {
        let world = try await World.shared.value
        var claims = Claims(email: "\(World.unique("bo"))@example.com")
        claims.verified = flag
        let reply = try await signIn(world, claims)
        #expect(reply.bool("user", "email_verified") == flag.contains("true"), "\(reply.text)")
    }

    @Test func `a relay address is kept, but no name is made from it`() async throws {
        let world = try await World.shared.value
        let relay = "x7k9q\(UUID().uuidString.prefix(6).lowercased())@privaterelay.appleid.com"
        var claims = Claims(email: relay)
        claims.more = ",\"is_private_email\":\"true\""
        let reply = try await signIn(world, claims)
        #expect(reply.string("user", "email") == relay, "\(reply.text)")
        #expect(reply.string("user", "username")?.contains("x7k9q") == false)
        #expect(reply.string("user", "display_name")?.contains("x7k9q") == false)
    }

    @Test func `two users who keep their e-mail to themselves have two accounts`() async throws {
        let world = try await World.shared.value
        let one = try await signIn(world, Claims())
        let two = try await signIn(world, Claims())
        #expect(one.status == 200 && two.status == 200, "\(two.text)")
        #expect(one.string("user", "id") != two.string("user", "id"))
    }

    @Test func `what is not a token for us, made by Apple, and fresh, is refused`() async throws {
        let world = try await World.shared.value
        let good = Claims(email: "\(World.unique("eve"))@example.com")
        try world.apple.publish("other")
        var cases: [(String, Claims)] = []
        func wrong(_ what: String, _ change: (inout Claims) -> Void) {
            var claims = good
            change(&claims)
            cases.append((what, claims))
        }
        wrong("audience") { $0.aud = "\"com.example.another\"" }
        wrong("audience") { $0.aud = "[]" }
        wrong("issuer") { $0.iss = "\"https://appleid.apple.com.evil.example\"" }
        wrong("expired") { $0.expiresIn = -120 }
        wrong("claims") { $0.aud = "7" }
        wrong("subject") { $0.sub = "" }
        // Signed by Apple's key, and stored by no database.
        wrong("claims") { $0.sub = "001.\\u0000" }
        wrong("claims") { $0.email = "a\\u0000b@example.com" }
        wrong("nonce") { $0.nonce = "some nonce that the request does not send" }
        for (what, claims) in cases {
            let reply = try await signIn(world, claims)
            #expect(reply.status == 401 && reply.code == "INVALID_APPLE_TOKEN", "\(what): \(reply.text)")
            #expect(reply.text.contains("\"\(what)\""), "\(what): \(reply.text)")
        }
        let json = good.json(world.now())
        let token = try world.apple.token(json)
        let parts = token.split(separator: ".")
        let forged = [
            try world.apple.token(json, kid: "first", signer: "other"), "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])",
            try world.apple.token(json, algorithm: "none"), try world.apple.token(json, algorithm: "HS256"),
            token.dropLast(4) + "AAAA", "a.b.c", "..", "x",
        ]
        for text in forged {
            let reply = try await world.call("POST", "/api/auth/apple", "{\"identity_token\":\"\(text)\"}")
            #expect(reply.status == 401 && reply.code == "INVALID_APPLE_TOKEN", "\(text): \(reply.text)")
        }
        #expect(try await signIn(world, good).status == 200, "the same claims, unharmed, are good")
        var several = good
        several.aud = "[\"com.example.another\",\"com.example.web\"]"
        #expect(try await signIn(world, several).status == 200, "one of the audiences is ours")
    }

    @Test func `a nonce stands in the token as its SHA-256 only, and only the right one counts`() async throws {
        let world = try await World.shared.value
        let hash = SHA256.hash(data: Data("my nonce".utf8)).map { String(format: "%02x", $0) }.joined()
        for held in ["my nonce", hash, hash.uppercased()] {
            var claims = Claims()
            claims.nonce = held
            // In its plain form a thief of the token would know it.
            let status = held == "my nonce" ? 401 : 200
            #expect(try await signIn(world, claims, more: ",\"nonce\":\"my nonce\"").status == status, "\(held)")
            #expect(try await signIn(world, claims, more: ",\"nonce\":\"another\"").code == "INVALID_APPLE_TOKEN")
        }
        #expect(try await signIn(world, Claims(), more: ",\"nonce\":\"my nonce\"").code == "INVALID_APPLE_TOKEN")
        var old = Claims()
        old.more = ",\"nonce_supported\":false"
        #expect(try await signIn(world, old, more: ",\"nonce\":\"my nonce\"").status == 200)
    }

    @Test func `a token signs in once; a repeat of that very request gets its answer, and a refusal uses nothing up`()
        async throws
    {
        let world = try await World.shared.value
        let token = try world.apple.token(Claims(email: "\(World.unique("uma"))@example.com").json(world.now()))
        let taken = try await world.register("vic")
        func send(_ key: String, username: String? = nil) async throws -> APIReply {
            let name = username.map { ",\"username\":\"\($0)\"" } ?? ""
            let body = "{\"identity_token\":\"\(token)\"\(name)}"
            return try await world.call("POST", "/api/auth/apple", body, key: key)
        }
        let refused = try await send("one", username: try #require(taken.user?.username))
        #expect(refused.code == "USERNAME_TAKEN", "\(refused.text)")
        let first = try await send("two")
        #expect(first.status == 200, "\(first.text)")
        #expect(try await send("two").string("refresh_token") == first.string("refresh_token"))
        let again = try await send("three")
        #expect(again.status == 401 && again.code == "INVALID_APPLE_TOKEN" && again.text.contains("\"used\""), "\(again.text)")
        // Many at once: one.
        let other = try world.apple.token(Claims(email: "\(World.unique("wes"))@example.com").json(world.now()))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { tasks in
            for _ in 0..<8 {
                tasks.addTask { try await world.call("POST", "/api/auth/apple", "{\"identity_token\":\"\(other)\"}").status }
            }
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.count { $0 == 200 } == 1 && statuses.count { $0 == 401 } == 7, "\(statuses)")
    }

    @Test func `an account is linked only when both sides have proved to own the e-mail`() async throws {
        let world = try await World.shared.value
        let person = try await world.register("cam")
        let email = try #require(person.user?.email)
        let refused = try await signIn(world, Claims(email: email.uppercased()))
        #expect(refused.status == 409 && refused.code == "EMAIL_TAKEN", "\(refused.text)")
        try await world.database.execute("UPDATE account SET email_verified_at = now() WHERE email = \(email)")
        var unproved = Claims(email: email)
        unproved.verified = "\"false\""
        #expect(try await signIn(world, unproved).code == "EMAIL_TAKEN")
        let claims = Claims(email: email.uppercased())
        let linked = try await signIn(world, claims, more: ",\"display_name\":\"Not Taken\"")
        #expect(linked.status == 200, "\(linked.text)")
        #expect(linked.string("user", "id") == person.user?.id.description)
        #expect(linked.string("user", "display_name") == person.user?.displayName)
        #expect(try await signIn(world, Claims(email: email)).code == "EMAIL_TAKEN", "a second Apple user is another user")
    }

    @Test func `sixteen first sign-ins at once make one account`() async throws {
        let world = try await World.shared.value
        let claims = Claims(email: "\(World.unique("dot"))@example.com")
        let replies = try await withThrowingTaskGroup(of: APIReply.self) { group in
            for _ in 0..<16 { group.addTask { try await signIn(world, claims) } }
            return try await group.reduce(into: [APIReply]()) { $0.append($1) }
        }
        #expect(replies.allSatisfy { $0.status == 200 }, "\(replies.map(\.text))")
        #expect(Set(replies.map { $0.string("user", "id") }).count == 1)
    }

    @Test func `an account is deleted with a token that Apple made within five minutes, and with no older one`() async throws {
        let world = try await World.shared.value
        var claims = Claims()
        let token = try await signIn(world, claims).string("access_token")
        func delete(_ change: (inout Claims) -> Void) async throws -> APIReply {
            var changed = claims
            change(&changed)
            let proof = try world.apple.token(changed.json(world.now()), kid: "first", signer: nil)
            return try await world.call("DELETE", "/api/auth/account", "{\"apple_identity_token\":\"\(proof)\"}", token: token)
        }
        let refused: [(inout Claims) -> Void] = [
            { $0.age = 301 }, { $0.age = 86_000 }, { $0.age = -120 },
            // Apple says that the user was there long before the token was made.
            { $0.more = ",\"auth_time\":\(world.now().seconds - 301)" },
        ]
        for change in refused {
            let reply = try await delete(change)
            #expect(reply.status == 400 && reply.code == "APPLE_TOKEN_REQUIRED", "\(reply.text)")
        }
        #expect(try await world.call("GET", "/api/users/me", token: token).status == 200)
        claims.age = 240
        #expect(try await delete { _ in }.status == 200)
    }

    @Test func `the same key gives the first answer again`() async throws {
        let world = try await World.shared.value
        let token = try world.apple.token(Claims().json(world.now()))
        let body = "{\"identity_token\":\"\(token)\"}"
        let first = try await world.call("POST", "/api/auth/apple", body, key: "apple-\(token.suffix(20))")
        let again = try await world.call("POST", "/api/auth/apple", body, key: "apple-\(token.suffix(20))")
        #expect(first.string("refresh_token") != nil && first.string("refresh_token") == again.string("refresh_token"))
    }

    @Test func `a new key of Apple's is fetched when a token names it, at most once a minute`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        func tryOut(_ kid: String) async throws -> String? {
            let token = try world.apple.token(Claims().json(world.now()), kid: kid, signer: kid == "unheard-of" ? "first" : kid)
            return await reason {
                try await world.accounts.signInWithApple(SignInWithAppleRequest(identityToken: token), context: World.context())
            }
        }
        for _ in 0..<5 { #expect(try await tryOut("first") == nil) }
        #expect(world.apple.requests == 1, "known keys are kept")
        try world.apple.publish("second")
        #expect(try await tryOut("second") == "INVALID_APPLE_TOKEN", "within the first minute")
        clock.advance(by: .seconds(61))
        #expect(try await tryOut("second") == nil)
        #expect(try await tryOut("first") == nil)
        #expect(world.apple.requests == 2)
        for _ in 0..<20 { #expect(try await tryOut("unheard-of") == "INVALID_APPLE_TOKEN") }
        #expect(world.apple.requests == 2, "unknown keys do not make us ask more often")
        world.apple.setBroken(true)
        clock.advance(by: .hours(25))
        #expect(try await tryOut("second") == nil, "old keys count while new ones cannot be had")
        #expect(world.apple.requests == 3)
    }

    @Test func `while Apple's keys cannot be fetched every sign-in is refused, and they are asked for again soon`() async throws {
        let world = try await World(travelling: true)
        world.apple.setBroken(true)
        let token = try world.apple.token(Claims().json(world.now()))
        func tryOut() async -> String? {
            await reason {
                try await world.accounts.signInWithApple(SignInWithAppleRequest(identityToken: token), context: World.context())
            }
        }
        for _ in 0..<5 { #expect(await tryOut() == "UNAVAILABLE") }
        #expect(world.apple.requests == 1)
        world.apple.setBroken(false)
        try #require(world.manualClock).advance(by: .seconds(6))
        #expect(await tryOut() == nil)
    }
}
