import AuthAPI
import Bus
import Kernel
import TestSupport
import Testing
import Tokens

@testable import AuthAccounts

/// Ended sessions reach the gateways' stream with the reply (AU-3).
@Suite struct RevocationTests {
    private static func sessions(_ world: World, of reply: SignInReply) async throws -> [SessionID] {
        let user = try #require(reply.user?.id)
        return try await world.database.query("SELECT id FROM auth.session WHERE account_id = \(user) ORDER BY id")
            .map { try $0.decode(as: SessionID.self) }
    }

    private static func stored(_ world: World) async throws -> Set<SessionID> {
        let jetStream = JetStream(connection: world.bus)
        let info = try await jetStream.streamInfo(RevocationStream.name)
        guard info.messages > 0 else { return [] }
        let places = info.firstSequence...info.lastSequence
        let messages = try await jetStream.messages(in: RevocationStream.name, at: places, atMost: places.count)
        let revocations = try messages.map {
            try #require(RevocationStream.revocation(subject: $0.subject, body: $0.body), "\($0.subject)")
        }
        return Set(revocations.map(\.session))
    }

    private static func deleteStream(_ world: World) async throws {
        let subject = "$JS.API.STREAM.DELETE.\(RevocationStream.name)"
        let reply = try await world.bus.request(subject, body: [], deadline: SystemClock.now() + .seconds(5))
        #expect(String(decoding: reply.body, as: UTF8.self).contains(#""success":true"#))
    }

    private static func makeStream(_ world: World) async throws {
        try await JetStream(connection: world.bus).ensureStream(RevocationStream.configuration())
    }

    /// What ends sessions, and how many of two.
    enum Way: CaseIterable, Sendable {
        case logout, logoutEverywhere, deletion, theft
    }

    @Test(arguments: Way.allCases) func `with the reply to what ends a session the stream has it`(way: Way) async throws {
        let world = try await World.shared.value
        let person = try await world.register("rev")
        _ = try await world.login(try #require(person.user?.email))
        var ended = 2
        switch way {
        case .logout:
            #expect(try await world.call("POST", "/api/auth/logout", token: person.accessToken).status == 200)
            ended = 1
        case .logoutEverywhere:
            #expect(try await world.call("POST", "/api/auth/logout?all=true", token: person.accessToken).status == 200)
        case .deletion:
            let body = "{\"password\":\"\(World.password)\"}"
            #expect(try await world.call("DELETE", "/api/auth/account", body, token: person.accessToken).status == 200)
        case .theft:
            let first = RefreshRequest(refreshToken: person.refreshToken)
            let second = try await world.accounts.refresh(first, context: World.context()).refreshToken
            _ = try await world.accounts.refresh(RefreshRequest(refreshToken: second), context: World.context())
            #expect(await reason { try await world.accounts.refresh(first, context: World.context()) } == "REFRESH_TOKEN_REUSED")
            ended = 1
        }
        let stored = try await Self.stored(world)
        #expect(try await Self.sessions(world, of: person).filter(stored.contains).count == ended)
    }

    @Test func `without the stream a logout is UNAVAILABLE, and is reported as soon as the stream is there`() async throws {
        let world = try await World()
        let person = try await world.register("rev")
        try await Self.deleteStream(world)
        let started = ContinuousClock.now
        let refused = try await world.call("POST", "/api/auth/logout", token: person.accessToken, key: "logout-1")
        #expect(refused.status == 503 && refused.code == "UNAVAILABLE" && refused.retryAfter != nil, "\(refused.text)")
        #expect(ContinuousClock.now - started < .seconds(8))
        let refresh = RefreshRequest(refreshToken: person.refreshToken)
        let reason = await reason { try await world.accounts.refresh(refresh, context: World.context()) }
        #expect(reason == "INVALID_REFRESH_TOKEN", "it has ended all the same")
        // A plain subscription gets what no stream stores, so the gateway that is there refuses the token by now.
        #expect(try await world.call("GET", "/api/users/me", token: person.accessToken).code == "SESSION_REVOKED")
        let context = World.context(person.user?.id, key: "logout-2")
        let again = await AuthServiceTests.reason {
            try await world.accounts.logout(LogoutRequest(all: true), context: context)
        }
        #expect(again == "UNAVAILABLE", "an answer of success would not be true")
        try await Self.makeStream(world)
        let sessions = try await Self.sessions(world, of: person)
        try await eventually("the session is reported") { try await Self.stored(world).isSuperset(of: sessions) }
        #expect(try await world.accounts.logout(LogoutRequest(all: true), context: context).sessionsEnded == 0)
        await world.stopLastReplica()
    }

    @Test func `a stream that was lost, or has lost some, is filled from the table`() async throws {
        let world = try await World()
        var ended: Set<SessionID> = []
        for _ in 0..<5 {
            let person = try await world.register("rev")
            #expect(try await world.call("POST", "/api/auth/logout", token: person.accessToken).status == 200)
            ended.formUnion(try await Self.sessions(world, of: person))
        }
        #expect(try await Self.stored(world).isSuperset(of: ended))
        try await Self.deleteStream(world)
        try await Self.makeStream(world)
        try await eventually("a new stream is filled") { try await Self.stored(world).isSuperset(of: ended) }
        let purge = "$JS.API.STREAM.PURGE.\(RevocationStream.name)"
        _ = try await world.bus.request(purge, body: [], deadline: SystemClock.now() + .seconds(5))
        try await eventually("an emptied stream is filled") { try await Self.stored(world).isSuperset(of: ended) }
        // Nothing publishes while no replica runs; the next one does not know what the stream had.
        await world.stopLastReplica()
        try await Self.deleteStream(world)
        try await Self.makeStream(world)
        try await world.addReplica()
        try await eventually("a replica that starts fills it") { try await Self.stored(world).isSuperset(of: ended) }
        await world.stopLastReplica()
    }
}

@Suite("Losses of the stream of revocations")
struct RevocationLossTests {
    private let made = Instant(seconds: 1_700_000_000)

    private func stream(_ first: Int, _ last: Int, made: Instant? = nil) -> StreamInfo {
        StreamInfo(created: made ?? self.made, messages: last + 1 - first, firstSequence: first, lastSequence: last)
    }

    /// One that has filled a stream with ten messages.
    private func filled() -> RevocationLoss {
        var loss = RevocationLoss()
        loss.observed(stream(1, 0), at: made)
        for sequence in 1...10 { loss.stored(sequence, at: made + .seconds(Int64(sequence))) }
        loss.filled()
        return loss
    }

    @Test func `a replica that starts fills the stream`() {
        #expect(RevocationLoss().mustFill)
        #expect(!filled().mustFill)
    }

    @Test func `a stream that grows and whose messages expire has lost nothing`() {
        var loss = filled()
        loss.observed(stream(1, 10), at: made + .seconds(11))
        loss.observed(stream(1, 25), at: made + .seconds(12))
        loss.observed(stream(8, 25), at: made + .minutes(20) + .seconds(8))
        loss.observed(stream(26, 25), at: made + .minutes(60))
        #expect(!loss.mustFill)
    }

    @Test func `one with a shorter end, without its beginning, or made anew has`() {
        for (state, what) in [
            (stream(1, 9), "shorter"), (stream(11, 10), "emptied"), (stream(3, 10), "without its beginning"),
            (stream(1, 10, made: made + .seconds(9)), "made anew"),
            (stream(1, 50, made: made + .seconds(9)), "made anew and longer"),
        ] {
            var loss = filled()
            loss.observed(stream(1, 10), at: made + .seconds(11))
            #expect(!loss.mustFill)
            loss.observed(state, at: made + .seconds(12))
            #expect(loss.mustFill, "\(what)")
            loss.filled()
            loss.observed(state, at: made + .seconds(13))
            #expect(!loss.mustFill, "\(what), and filled")
        }
    }
}
