import AuthAPI
import Bus
import Foundation
import Kernel
import NotificationsAPI
import TestSupport
import Testing

/// `auth.private-registration`: what registration answers says nothing about the address.
@Suite(.serialized, .timeLimit(.minutes(5))) struct PrivateRegistrationTests {
    private static let on = ["auth.private-registration": "true"]

    private func ask(_ world: World, _ email: String, username: String? = nil, key: String? = nil) async throws -> APIReply {
        let name = username.map { ",\"username\":\"\($0)\"" } ?? ""
        let json = "{\"email\":\"\(email)\",\"password\":\"\(World.password)\",\"locale\":\"de\"\(name)}"
        return try await world.call("POST", "/api/auth/register", json, key: key)
    }

    private func login(_ world: World, _ email: String, _ password: String = World.password) async throws -> APIReply {
        try await world.call("POST", "/api/auth/login", "{\"email\":\"\(email)\",\"password\":\"\(password)\"}")
    }

    private func verify(_ world: World, _ token: String) async throws -> APIReply {
        try await world.call("POST", "/api/auth/email/verify", "{\"token\":\"\(token)\"}")
    }

    private func count(_ table: String, in world: World) async throws -> Int? {
        try await world.database.query("SELECT count(*)::int FROM auth.\(identifier: table)").first?.decode(as: Int.self)
    }

    /// Everything of a reply but its request id.
    private func shape(_ reply: APIReply) throws -> NSDictionary {
        var object = try #require(try JSONSerialization.jsonObject(with: reply.body) as? [String: Any])
        object["meta"] = nil
        object["status"] = reply.status
        return NSDictionary(dictionary: object)
    }

    @Test func `a free and a taken address get the same answer, and a mail says the rest`() async throws {
        let world = try await World(settings: Self.on)
        let (name, other) = (World.unique("sam"), World.unique("sue"))
        let email = "\(name)@example.com"
        let free = try await ask(world, email, username: name)
        #expect(free.status == 202 && free.string("status") == "check_mail", "\(free.text)")
        #expect(free.string("access_token") == "" && free.string("refresh_token") == "" && free.isNull("user"))
        let mail = try await world.mailbox.newest(.registration, to: email)
        #expect(mail.locale == "de" && mail.values?.link.hasSuffix("?lang=de") == true)
        // Neither a sign-in nor the username shows that there was no account.
        #expect(try await login(world, email).code == "INVALID_CREDENTIALS")
        let check = try await world.call("GET", "/api/auth/check-username/\(name)")
        #expect(check.bool("available") == true, "\(check.text)")
        #expect(try await count("account", in: world) == 0)

        let token = try await world.mailbox.token(.registration, to: email)
        let made = try await verify(world, token)
        #expect(made.status == 200 && made.bool("account_created") == true && made.bool("email_changed") == false, "\(made.text)")
        let session = try await login(world, email)
        #expect(session.status == 200 && session.string("user", "username") == name, "\(session.text)")
        #expect(session.bool("user", "email_verified") == true && session.isNull("status"))
        #expect(try await verify(world, token).code == "EMAIL_TOKEN_USED")

        let taken = try await ask(world, email.uppercased(), username: other)
        #expect(try shape(taken) == shape(free))
        let reset = try await world.mailbox.token(.accountExists, to: email)
        #expect(world.mailbox.mails(to: email, .registration).count == 1)
        try await eventually("nothing is kept of it") { try await count("registration_request", in: world) == 0 }
        #expect(try await count("account", in: world) == 1)
        let password = "battery-horse-staple"
        let set = try await world.call(
            "POST",
            "/api/auth/password/reset",
            "{\"token\":\"\(reset)\",\"new_password\":\"\(password)\"}"
        )
        #expect(set.status == 200, "\(set.text)")
        #expect(try await login(world, email, password).status == 200)
    }

    @Test func `without the setting the answer signs in, as published`() async throws {
        let world = try await World.shared.value
        let email = "\(World.unique("pat"))@example.com"
        let made = try await ask(world, email)
        #expect(made.status == 201 && made.isNull("status") && made.string("access_token")?.isEmpty == false, "\(made.text)")
        #expect(try await ask(world, email).code == "EMAIL_TAKEN")
    }

    @Test func `a repeat gets the same answer and no second mail`() async throws {
        let world = try await World(settings: Self.on)
        let email = "\(World.unique("ann"))@example.com"
        let first = try await ask(world, email, key: "once")
        _ = try await world.mailbox.newest(.registration, to: email)
        let again = try await ask(world, email, key: "once")
        #expect(try shape(again) == shape(first))
        #expect(try await count("registration_request", in: world) == 1)
    }

    @Test func `a username that is taken is refused whatever the address is`() async throws {
        let world = try await World(settings: Self.on)
        let name = World.unique("kim")
        _ = try await ask(world, "\(name)@example.com", username: name)
        _ = try await verify(world, try await world.mailbox.token(.registration, to: "\(name)@example.com"))
        for email in ["\(name)@example.com", "\(World.unique("new"))@example.com"] {
            #expect(try await ask(world, email, username: name).code == "USERNAME_TAKEN")
        }
    }

    @Test func `of two who want one name the first to confirm gets it, and of two links of an address one makes an account`()
        async throws
    {
        let world = try await World(settings: Self.on)
        let name = World.unique("max")
        let (one, two) = ("one.\(name)@example.com", "two.\(name)@example.com")
        for email in [one, two, two] { #expect(try await ask(world, email, username: name).status == 202) }
        let first = try await world.mailbox.token(.registration, to: one)
        _ = try await world.mailbox.newest(.registration, to: two, count: 2)
        let links = world.mailbox.mails(to: two, .registration).compactMap { mail in
            mail.values?.link.split(separator: "?")[0].split(separator: "/").last.map { String($0) }
        }
        #expect(Set(links).count == 2)
        #expect(try await verify(world, first).bool("account_created") == true)
        #expect(try await verify(world, links[0]).bool("account_created") == true)
        #expect(try await verify(world, links[1]).code == "EMAIL_TOKEN_INVALID")
        #expect(try await login(world, one).string("user", "username") == name)
        // Whose of the two passwords is the owner's of the mailbox is not known: neither holds, and a mail leads to another.
        #expect(try await login(world, two).code == "INVALID_CREDENTIALS")
        let (reset, password) = (try await world.mailbox.token(.passwordReset, to: two), "battery-horse-staple")
        let set = try await world.call(
            "POST",
            "/api/auth/password/reset",
            "{\"token\":\"\(reset)\",\"new_password\":\"\(password)\"}"
        )
        #expect(set.status == 200, "\(set.text)")
        let other = try await login(world, two, password)
        #expect(other.status == 200 && other.string("user", "username") != name, "\(other.text)")
        #expect(try await count("account", in: world) == 2)
    }

    @Test func `the limits of registrations hold for each address alike, and a mailbox gets five mails an hour`() async throws {
        let world = try await World(travelling: true, settings: Self.on.merging(["auth.address-registrations": "7"]) { $1 })
        let email = "\(World.unique("lea"))@example.com"
        func ask() async -> String? {
            await reason {
                try await world.accounts.register(
                    RegisterRequest(email: email, password: World.password),
                    context: World.context(from: "192.0.2.1")
                )
            }
        }
        for _ in 0..<7 { #expect(await ask() == nil) }
        #expect(await ask() == "RATE_LIMITED")
        try await eventually("all are looked up") {
            let waiting = try await world.database.query(
                "SELECT count(*)::int FROM auth.registration_request WHERE mailed_at IS NULL"
            )
            return try waiting.first?.decode(as: Int.self) == 0
        }
        #expect(world.mailbox.mails(to: email, .registration).count == 5)
        #expect(try await count("registration_request", in: world) == 5)
    }

    @Test func `a link works for a day, and while notifications is away it waits`() async throws {
        let world = try await World(travelling: true, settings: Self.on)
        let clock = try #require(world.manualClock)
        world.mailbox.refusal = .unavailable()
        let email = "\(World.unique("eve"))@example.com"
        _ = try await world.accounts.register(
            RegisterRequest(email: email, password: World.password),
            context: World.context()
        )
        try await eventually("it was tried twice") { world.mailbox.calls >= 2 }
        world.mailbox.refusal = nil
        let token = try await world.mailbox.token(.registration, to: email)
        #expect(world.mailbox.mails(to: email).count == 1)
        clock.advance(by: .hours(24))
        let late = await reason {
            try await world.email.verifyEmail(VerifyEmailRequest(token: token), context: World.context())
        }
        // The job that deletes it may have been faster.
        #expect(["EMAIL_TOKEN_EXPIRED", "EMAIL_TOKEN_INVALID"].contains(late))
        #expect(try await count("account", in: world) == 0)
    }

    @Test func `an address that Apple has not verified is left out, taken or not`() async throws {
        let world = try await World(settings: Self.on)
        let taken = "\(World.unique("joe"))@example.com"
        _ = try await ask(world, taken)
        _ = try await verify(world, try await world.mailbox.token(.registration, to: taken))
        for email in [taken, "\(World.unique("new"))@example.com"] {
            var claims = Claims(email: email)
            claims.verified = "false"
            let token = try world.apple.token(claims.json(world.now()))
            let reply = try await world.call("POST", "/api/auth/apple", "{\"identity_token\":\"\(token)\"}")
            #expect(reply.status == 200 && reply.string("user", "email") == "", "\(reply.text)")
        }
    }
}
