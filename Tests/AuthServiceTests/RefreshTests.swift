import AuthAPI
import AuthDomain
import Bus
import Database
import Foundation
import Kernel
import Runtime
import TestSupport
import Testing

@testable import AuthService

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
            clock.advance(by: .days(9))
            let successor = try #require(answers.first)
            #expect(await atOnce(8, world, person.refreshToken) == Array(repeating: successor, count: 8))
            #expect(await reason { try await refresh(world, successor) } == nil, "the family is whole")
        }
    }

    @Test func `a refresh whose reply was lost gives the same token weeks later, and is a use of the session`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        let person = try await world.register()
        let lost = try await refresh(world, person.refreshToken)
        for _ in 0..<3 {
            clock.advance(by: .days(50))
            #expect(try await refresh(world, person.refreshToken).refreshToken == lost.refreshToken)
        }
        clock.advance(by: .days(50))
        #expect(try await refresh(world, lost.refreshToken).refreshToken != lost.refreshToken)
        let late = await reason { try await refresh(world, person.refreshToken) }
        #expect(late == "INVALID_REFRESH_TOKEN", "the child was used, and the parent's own days are over")
    }

    @Test func `a session that is refreshed without end keeps the tokens of its last 10,000 generations`() async throws {
        let world = try await World(travelling: true)
        let person = try await world.register()
        try await world.database.execute("UPDATE session SET generation = 20998")
        try await world.database.execute("UPDATE refresh_token SET generation = 20998")
        try await world.database.execute(
            """
            INSERT INTO refresh_token (token_hash, session_id, generation, expires_at, used_at)
            SELECT decode(md5(n::text), 'hex'), id, n, expires_at, created_at FROM session, generate_series(0, 20997) AS n
            """
        )
        func tokens() async throws -> (count: Int, oldest: Int) {
            try await world.database.query("SELECT count(*), min(generation) FROM refresh_token").first?
                .decode(as: (Int.self, Int.self)) ?? (0, 0)
        }
        let next = try await refresh(world, person.refreshToken).refreshToken
        #expect(try await tokens() == (21_000, 0))
        _ = try await refresh(world, next)
        #expect(try await tokens() == (10_001, 11_000))
        // The parent of a used token still ends the family.
        #expect(await reason { try await refresh(world, person.refreshToken) } == "REFRESH_TOKEN_REUSED")
    }

    @Test func `the use of the child makes its parent's reuse a theft, and the family is ended for all of them`() async throws {
        let world = try await World(travelling: true)
        let person = try await world.register()
        let child = try await refresh(world, person.refreshToken).refreshToken
        let successor = try await refresh(world, child).refreshToken
        let answers = await atOnce(64, world, person.refreshToken)
        #expect(answers.contains("REFRESH_TOKEN_REUSED"))
        #expect(Set(answers).isSubset(of: ["REFRESH_TOKEN_REUSED", "INVALID_REFRESH_TOKEN"]), "\(Set(answers))")
        for token in [child, successor] {
            #expect(await reason { try await refresh(world, token) } == "INVALID_REFRESH_TOKEN")
        }
        let user = try #require(person.user?.id.description)
        let open = try await world.database.query(
            "SELECT 1 FROM auth.session WHERE account_id::text = \(user) AND (revoked_at IS NULL OR NOT revocation_published)"
        )
        #expect(open.isEmpty, "ended, and reported to the gateways")
    }

    @Test func `a session lives sixty days from its last use, and so does the token that a lost reply had`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        var token = try await world.register().refreshToken
        for _ in 0..<4 {
            clock.advance(by: .days(60) - Interval(microseconds: 1))
            token = try await refresh(world, token).refreshToken
        }
        let parent = token
        token = try await refresh(world, parent).refreshToken
        clock.advance(by: .days(60))
        #expect(await reason { try await refresh(world, parent) } == "INVALID_REFRESH_TOKEN")
        #expect(await reason { try await refresh(world, token) } == "INVALID_REFRESH_TOKEN")
    }

    @Test func `another session lifetime holds from the next use on`() async throws {
        let world = try await World(travelling: true, sessionDays: 400)
        let clock = try #require(world.manualClock)
        let token = try await world.register().refreshToken
        clock.advance(by: .days(399))
        #expect(await reason { try await refresh(world, token) } == nil)
        for wrong in ["0", "401"] {
            let settings = Settings(values: ["auth.session-days": wrong], declared: AuthModule.settings)
            #expect(throws: Settings.Invalid.self) { try settings.checkAll() }
        }
    }

    @Test func `with another secret a parent is refused rather than given a token that is not stored`() async throws {
        let world = try await World(travelling: true)
        let person = try await world.register()
        let child = try await refresh(world, person.refreshToken).refreshToken
        await world.stopLastReplica()
        try await world.addReplica(refreshSecret: String(repeating: "other", count: 8))
        #expect(await reason { try await refresh(world, person.refreshToken) } == "INVALID_REFRESH_TOKEN")
        #expect(await reason { try await refresh(world, child) } == nil, "the session goes on for who has the child")
    }

    @Test func `with an idempotency key the answer stays the same, also after the next exchange`() async throws {
        let world = try await World(travelling: true)
        let clock = try #require(world.manualClock)
        let person = try await world.register()
        let first = try await refresh(world, person.refreshToken, key: "refresh-1")
        clock.advance(by: .minutes(5))
        #expect(try await refresh(world, person.refreshToken, key: "refresh-1") == first)
        #expect(await reason { try await refresh(world, first.refreshToken, key: "refresh-1") } == "IDEMPOTENCY_KEY_REUSED")
        #expect(await reason { try await refresh(world, first.refreshToken, key: "refresh-2") } == nil)
        #expect(try await refresh(world, person.refreshToken, key: "refresh-1") == first, "the stored reply, whatever came after")
        #expect(await reason { try await refresh(world, person.refreshToken, key: "refresh-3") } == "REFRESH_TOKEN_REUSED")
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
