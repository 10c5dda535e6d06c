import AuthAPI
import AuthDomain
import Bus
import Foundation
import Kernel
import TestSupport
import Testing

/// Families of refresh tokens under concurrency and time (AU-4).
@Suite(.serialized, .timeLimit(.minutes(5))) struct RefreshTests {
    private func refresh(_ world: World, _ token: String, key: String? = nil) async throws -> SignInReply {
        try await world.accounts.refresh(RefreshRequest(refreshToken: token), context: World.context(key: key))
    }

    private func atOnce(_ count: Int, _ world: World, _ token: String) async -> [String] {
        await simultaneously(count) { _ in try await refresh(world, token).refreshToken }.map { result in
            switch result {
            case .success(let token): token
            case .failure(let error): (error as? ServiceError)?.reason ?? "\(error)"
            }
        }
    }

    @Test func `sixty-four refreshes of one token at once, on two replicas, give one successor and no alarm`() async throws {
        let world = try await World(travelling: true)
        try await world.addReplica()
        let clock = try #require(world.manualClock)
        for _ in 0..<3 {
            let person = try await world.register()
            let answers = await atOnce(64, world, person.refreshToken)
            #expect(Set(answers).count == 1, "\(Set(answers))")
            clock.advance(by: .seconds(9))
            let successor = try #require(answers.first)
            #expect(await atOnce(8, world, person.refreshToken) == Array(repeating: successor, count: 8))
            #expect(await reason { try await refresh(world, successor) } == nil, "the family is whole")
        }
    }

    @Test func `ten seconds later the same is theft, and the family is ended for all of them`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        let person = try await world.register()
        let successor = try await refresh(world, person.refreshToken).refreshToken
        clock.advance(by: .seconds(10) + Interval(microseconds: 1))
        let answers = await atOnce(64, world, person.refreshToken)
        #expect(answers.contains("REFRESH_TOKEN_REUSED"))
        #expect(Set(answers).isSubset(of: ["REFRESH_TOKEN_REUSED", "INVALID_REFRESH_TOKEN"]), "\(Set(answers))")
        #expect(await reason { try await refresh(world, successor) } == "INVALID_REFRESH_TOKEN")
        let user = try #require(person.user?.id.description)
        let open = try await world.database.query(
            "SELECT 1 FROM auth.session WHERE account_id::text = \(user) AND (revoked_at IS NULL OR NOT revocation_published)"
        )
        #expect(open.isEmpty, "ended, and reported to the gateways")
    }

    @Test func `a token lives seven days from its own birth`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        var token = try await world.register().refreshToken
        for _ in 0..<4 {
            clock.advance(by: .days(6))
            token = try await refresh(world, token).refreshToken
        }
        clock.advance(by: .days(7))
        #expect(await reason { try await refresh(world, token) } == "INVALID_REFRESH_TOKEN")
    }

    @Test func `with an idempotency key the answer stays the same long after the ten seconds`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        let person = try await world.register()
        let first = try await refresh(world, person.refreshToken, key: "refresh-1")
        clock.advance(by: .minutes(5))
        #expect(try await refresh(world, person.refreshToken, key: "refresh-1") == first)
        #expect(await reason { try await refresh(world, first.refreshToken, key: "refresh-1") } == "IDEMPOTENCY_KEY_REUSED")
        #expect(await reason { try await refresh(world, person.refreshToken, key: "refresh-2") } == "REFRESH_TOKEN_REUSED")
    }

    @Test func `a reply that was lost because its replica ended is given again by the next one, byte for byte`() async throws {
        let world = try await World(travelling: true)
        let name = World.unique("lost")
        let request = RegisterRequest(email: "\(name)@example.com", password: World.password, username: name)
        let context = World.context(key: "register-\(name)")
        // The first reply is lost: as if the replica had been killed between commit and reply.
        let first = try await world.accounts.register(request, context: context)
        try await world.replaceReplicas()
        try #require(world.manualClock).advance(by: .hours(1))
        let again = try await world.accounts.register(request, context: World.context(key: "register-\(name)"))
        #expect(again == first)
        let other = World.context(key: "another")
        #expect(await reason { try await world.accounts.register(request, context: other) } == "EMAIL_TAKEN")
        let guest = CreateGuestSessionRequest(deviceID: "device-\(name)")
        let token = try await world.accounts.createGuestSession(guest, context: World.context(key: "guest"))
        #expect(try await world.accounts.createGuestSession(guest, context: World.context(key: "guest")) == token)
        let login = LoginRequest(email: request.email, password: World.password)
        let session = try await world.accounts.login(login, context: World.context(key: "login"))
        #expect(try await world.accounts.login(login, context: World.context(key: "login")) == session)
    }
}
