import AuthAPI
import Bus
import Foundation
import Kernel
import Testing

/// Brute force (AU-2, AU-12).
@Suite(.serialized, .timeLimit(.minutes(5))) struct LoginLimitTests {
    @Test func `after ten failures even the right password must wait, on every replica`() async throws {
        let world = try await World(travelling: true)
        try await world.addReplica()
        let clock = try #require(world.manualClock)
        let email = try #require(try await world.register().user?.email)
        for _ in 0..<10 {
            #expect(await attempt(world, email) == "INVALID_CREDENTIALS")
            clock.advance(by: .seconds(30))
        }
        for _ in 0..<4 { #expect(await attempt(world, email.uppercased()) == "RATE_LIMITED") }
        let refused = await #expect(throws: ServiceError.self) { _ = try await world.login(email) }
        #expect(refused?.reason == "RATE_LIMITED" && refused?.retryAfter == 601, "\(String(describing: refused))")
        clock.advance(by: .seconds(600))
        #expect(await attempt(world, email, World.password) == "in", "the first failure has left the window")
        for _ in 0..<10 { #expect(await attempt(world, email) == "INVALID_CREDENTIALS", "a right password starts anew") }
        #expect(await attempt(world, email) == "RATE_LIMITED")
    }

    @Test func `spaces around an address mean nothing, and a guess with them counts for the same account`() async throws {
        let world = try await World(travelling: true)
        let unique = World.unique("pat")
        let made = try await world.accounts.register(
            RegisterRequest(email: "\u{A0}\(unique)@example.com ", password: World.password, username: unique),
            context: World.context()
        )
        let email = try #require(made.user?.email)
        #expect(email == "\(unique)@example.com")
        for typed in ["\(email) ", " \(email)\u{A0}", "\u{200B}\(email)"] {
            #expect(await attempt(world, typed, World.password) == "in", "\(typed)")
        }
        for _ in 0..<10 { #expect(await attempt(world, "\(email) ") == "INVALID_CREDENTIALS") }
        #expect(await attempt(world, email) == "RATE_LIMITED")
    }

    @Test func `guesses from elsewhere lock the owner out nowhere where they were signed in`() async throws {
        let world = try await World(travelling: true)
        let made = try await world.register(context: World.context(from: "192.0.2.1"))
        let email = try #require(made.user?.email)
        #expect(await attempt(world, email, World.password, from: "2001:db8::1") == "in")
        _ = try await world.accounts.refresh(
            RefreshRequest(refreshToken: made.refreshToken),
            context: World.context(from: "192.0.2.2")
        )
        // A right password elsewhere, below the limit, is as good as any.
        for number in 0..<10 { #expect(await attempt(world, email, from: "198.51.100.\(number)") == "INVALID_CREDENTIALS") }
        #expect(await attempt(world, email, World.password, from: "198.51.100.1") == "RATE_LIMITED")
        #expect(await attempt(world, email, World.password) == "RATE_LIMITED", "no address is none of theirs")
        for known in ["192.0.2.1", "192.0.2.2", "2001:db8::ffff"] {
            for _ in 0..<9 { #expect(await attempt(world, email, from: known) == "INVALID_CREDENTIALS") }
            #expect(await attempt(world, email, World.password, from: known) == "in", "\(known)")
            for _ in 0..<10 { #expect(await attempt(world, email, from: known) == "INVALID_CREDENTIALS") }
            #expect(await attempt(world, email, World.password, from: known) == "RATE_LIMITED", "a share is bounded too")
        }
        #expect(await attempt(world, email, World.password, from: "198.51.100.1") == "RATE_LIMITED", "the others gain nothing")
    }

    @Test func `an address is not known for ever, nor are more than ten`() async throws {
        let world = try await World(travelling: true)
        let email = try #require(try await world.register(context: World.context(from: "192.0.2.1")).user?.email)
        func isKnown(_ address: String) async -> Bool {
            for _ in 0..<10 { _ = await attempt(world, email, from: "198.51.100.9") }
            return await attempt(world, email, from: address) == "INVALID_CREDENTIALS"
        }
        #expect(await isKnown("192.0.2.1"))
        let clock = try #require(world.manualClock)
        clock.advance(by: .days(30) + .seconds(1))
        #expect(await !isKnown("192.0.2.1"))
        clock.advance(by: .minutes(16))
        for number in 10..<21 {
            #expect(await attempt(world, email, World.password, from: "192.0.2.\(number)") == "in")
            clock.advance(by: .seconds(1))
        }
        #expect(await isKnown("192.0.2.20"))
        #expect(await isKnown("192.0.2.11"))
        #expect(await !isKnown("192.0.2.10"))
    }

    @Test func `unknown e-mails are limited like known ones`() async throws {
        let world = try await World(travelling: true)
        let email = "\(World.unique("unknown"))@example.com"
        for _ in 0..<10 { #expect(await attempt(world, email) == "INVALID_CREDENTIALS") }
        #expect(await attempt(world, email) == "RATE_LIMITED")
    }

    @Test func `fifty failures from one address, whatever it tries, and no right password resets that`() async throws {
        let world = try await World(travelling: true)
        let email = try #require(try await world.register().user?.email)
        for count in 0..<50 {
            #expect(
                await attempt(world, "\(World.unique("x\(count)"))@example.com", from: "2001:db8::\(count)")
                    == "INVALID_CREDENTIALS"
            )
            if count == 40 { #expect(await attempt(world, email, World.password, from: "2001:db8::1") == "in") }
        }
        #expect(await attempt(world, email, World.password, from: "2001:db8::ffff") == "RATE_LIMITED", "the same /64")
        #expect(await attempt(world, email, World.password, from: "2001:db8:0:1::1") == "in", "a neighbour")
        try #require(world.manualClock).advance(by: .minutes(15))
        #expect(await attempt(world, email, World.password, from: "2001:db8::1") == "in")
    }

    @Test func `a hundred guesses at once are answered ten times`() async throws {
        let world = try await World(travelling: true)
        try await world.addReplica()
        let email = try #require(try await world.register().user?.email)
        let answers = await withTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { await attempt(world, email) } }
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers.filter { $0 == "INVALID_CREDENTIALS" }.count <= 10, "\(answers)")
        #expect(Set(answers).isSubset(of: ["INVALID_CREDENTIALS", "RATE_LIMITED", "UNAVAILABLE"]))
        for _ in 0..<10 { _ = await attempt(world, email) }
        #expect(await attempt(world, email, World.password) == "RATE_LIMITED")
    }

    @Test func `thirty right logins of one account at once all get in`() async throws {
        let world = try await World(travelling: true)
        let email = try #require(try await world.register().user?.email)
        let answers = await withTaskGroup(of: String.self) { group in
            for number in 0..<30 {
                group.addTask { await attempt(world, email, World.password, from: "192.0.2.\(number)") }
            }
            return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers == Array(repeating: "in", count: 30))
        let rows = try await world.database.query("SELECT 1 FROM auth.login_failure")
        #expect(rows.isEmpty, "those who get in leave nothing behind, and so wait for no other")
    }

    @Test func `over HTTP the refusal says when to come again`() async throws {
        let world = try await World.shared.value
        let address = World.address()
        let body = "{\"email\":\"\(World.unique("unknown"))@example.com\",\"password\":\"wrong\"}"
        for _ in 0..<10 {
            #expect(try await world.call("POST", "/api/auth/login", body, from: address).code == "INVALID_CREDENTIALS")
        }
        let reply = try await world.call("POST", "/api/auth/login", body, from: address)
        #expect(reply.status == 429 && reply.code == "RATE_LIMITED", "\(reply.text)")
        #expect((1...901).contains(reply.retryAfter ?? 0))
    }

    @Test func `over HTTP the limit of an address is that of the client behind the proxy`() async throws {
        let world = try await World.shared.value
        let address = World.address()
        for _ in 0..<50 {
            let body = "{\"email\":\"\(World.unique("unknown"))@example.com\",\"password\":\"wrong\"}"
            // What is left of the proxy's own entry any client can make up.
            let claimed = "203.0.113.\(Int.random(in: 0..<250)), \(address)"
            #expect(try await world.call("POST", "/api/auth/login", body, from: claimed).code == "INVALID_CREDENTIALS")
        }
        let body = "{\"email\":\"\(World.unique("unknown"))@example.com\",\"password\":\"wrong\"}"
        #expect(try await world.call("POST", "/api/auth/login", body, from: address).code == "RATE_LIMITED")
        #expect(try await world.call("POST", "/api/auth/login", body).code == "INVALID_CREDENTIALS", "from elsewhere")
    }
}

/// What a sign-in comes to: the reason of its refusal, or `in`.
func attempt(_ world: World, _ email: String, _ password: String = "wrong", from address: String? = nil) async -> String {
    do {
        _ = try await world.login(email, password, from: address)
        return "in"
    } catch { return (error as? ServiceError)?.reason ?? "\(error)" }
}
