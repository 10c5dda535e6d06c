import AuthAPI
import Bus
import Foundation
import Kernel
import TestSupport
import Testing

/// Floods of registrations: 585 accounts and 585 mails to strangers came from one address in 25 s.
@Suite(.serialized, .timeLimit(.minutes(5))) struct RegistrationLimitTests {
    private static func request(_ name: String = World.unique("sam")) -> RegisterRequest {
        RegisterRequest(email: "\(name)@example.com", password: World.password, username: name)
    }

    /// The reason of the refusal; nil when the account was made.
    private func register(_ world: World, from address: String, key: String? = nil, _ request: RegisterRequest = request()) async
        -> String?
    {
        await reason { try await world.accounts.register(request, context: World.context(from: address, key: key)) }
    }

    private func count(_ table: String, in world: World) async throws -> Int? {
        try await world.database.query("SELECT count(*)::int FROM auth.\(identifier: table)").first?.decode(as: Int.self)
    }

    @Test func `of 585 registrations from one address thirty are made in an hour, and as many mails`() async throws {
        let world = try await World(travelling: true)
        var made = 0
        for number in 0..<585 {
            // A home has a whole /64.
            let answer = await register(world, from: "2001:db8::\(number)")
            if answer == nil { made += 1 } else { #expect(answer == "RATE_LIMITED") }
        }
        #expect(made == 30)
        #expect(try await count("account", in: world) == 30)
        #expect(try await count("email_token", in: world) == 30)
        #expect(await register(world, from: "2001:db8:0:1::1") == nil, "a neighbour")
        try #require(world.manualClock).advance(by: .hours(1))
        #expect(await register(world, from: "2001:db8::1") == nil)
    }

    @Test func `a registration that was made is answered to its repeat, whatever the limit says`() async throws {
        let world = try await World(travelling: true, settings: ["auth.address-registrations": "1", "auth.registrations": "1"])
        let request = Self.request()
        #expect(await register(world, from: "192.0.2.1", key: "a", request) == nil)
        #expect(await register(world, from: "192.0.2.1", key: "b") == "RATE_LIMITED")
        #expect(await register(world, from: "192.0.2.1", key: "a", request) == nil)
        #expect(await register(world, from: "192.0.2.1", key: "a", request) == nil)
    }

    /// More than can be hashed at once and wait of one address (`PasswordHasher`): the rest is refused at once.
    @Test func `a registration that was refused because too many hashes wait does not count`() async throws {
        let world = try await World(travelling: true, bcryptCost: 13, settings: ["auth.address-registrations": "1000"])
        let all = ProcessInfo.processInfo.processorCount + 9
        let answers = await simultaneously(all) { _ in await register(world, from: "192.0.2.1") }.map { try? $0.get() }
        let made = answers.count(where: { $0 == nil })
        let refused = answers.count(where: { $0 == "RATE_LIMITED" || $0 == "UNAVAILABLE" })
        #expect(made > 0 && refused > 0 && made + refused == all, "\(answers)")
        #expect(try await count("account", in: world) == made)
        // Beside the address, each mailbox counts its one mail.
        let counts = try await world.database.query(
            "SELECT sum(asked)::int, (SELECT max(cardinality(sent_at))::int FROM auth.mail_limit) FROM auth.registration_minute"
        )
        let (inAll, ofAddress) = try #require(counts.first).decode(as: (Int.self, Int.self))
        #expect(inAll == made && ofAddress == made)
    }

    @Test func `registrations and mails for new passwords have one share of an address`() async throws {
        let world = try await World(travelling: true, settings: ["auth.address-registrations": "3"])
        let forgot = { (name: String) in
            await reason {
                try await world.email.requestPasswordReset(
                    RequestPasswordResetRequest(email: "\(name)@example.com"),
                    context: World.context(from: "192.0.2.1")
                )
            }
        }
        #expect(await register(world, from: "192.0.2.1") == nil)
        #expect(await forgot(World.unique("una")) == nil)
        #expect(await register(world, from: "192.0.2.1") == nil)
        #expect(await forgot(World.unique("tom")) == "RATE_LIMITED")
        #expect(await register(world, from: "192.0.2.1") == "RATE_LIMITED")
    }

    @Test func `accounts without a confirmed address do not multiply what a client may have sent`() async throws {
        let world = try await World(travelling: true, settings: ["auth.address-registrations": "4"])
        func changeEmail(of account: SignInReply) async -> String? {
            await reason {
                try await world.email.changeEmail(
                    ChangeEmailRequest(email: "\(World.unique("stranger"))@example.com", password: World.password),
                    context: World.context(account.user?.id, from: "192.0.2.1")
                )
            }
        }
        var accounts: [SignInReply] = []
        for _ in 0..<2 { accounts.append(try await world.register(context: World.context(from: "192.0.2.1"))) }
        #expect(await changeEmail(of: accounts[0]) == nil)
        #expect(await changeEmail(of: accounts[1]) == nil)
        #expect(await changeEmail(of: accounts[0]) == "RATE_LIMITED")
        #expect(await changeEmail(of: accounts[1]) == "RATE_LIMITED")
    }

    @Test func `registrations from many addresses are bounded in all, and whether an address is taken is asked no more often`()
        async throws
    {
        let world = try await World(travelling: true, settings: ["auth.registrations": "5"])
        try await world.addReplica()
        let clock = try #require(world.manualClock)
        let taken = Self.request()
        #expect(await register(world, from: "192.0.2.1", taken) == nil)
        for number in 2...5 { #expect(await register(world, from: "192.0.2.\(number)", taken) == "EMAIL_TAKEN") }
        let refused = await #expect(throws: ServiceError.self) {
            _ = try await world.accounts.register(taken, context: World.context(from: "192.0.2.6"))
        }
        #expect(refused?.reason == "RATE_LIMITED" && (3_540...3_601).contains(refused?.retryAfter ?? 0))
        clock.advance(by: .hours(1) + .minutes(1))
        #expect(await register(world, from: "192.0.2.6") == nil)
    }
}
