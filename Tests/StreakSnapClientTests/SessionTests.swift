import Foundation
import Synchronization
import Testing

@testable import StreakSnapClient

@Suite(.timeLimit(.minutes(5))) struct SessionTests {
    private static let pair = """
        {"access_token":"access-2","refresh_token":"refresh-2","token_type":"Bearer","expires_in":900,"user":{"id":"u-1","username":"ada"}}
        """

    /// Knows one access token at a time.
    private static func server(accepts token: String = "access-2", refresh: LocalServer.Answer = success(pair)) throws
        -> LocalServer
    {
        try LocalServer { request, _ in
            if request.target == "/api/auth/refresh" { return refresh }
            return request.headers["authorization"] == "Bearer \(token)"
                ? success(#"{"items":[]}"#) : refusal(401, "TOKEN_EXPIRED")
        }
    }

    @Test func `many calls whose token has ended share one refresh`() async throws {
        let server = try Self.server()
        let store = MemorySessionStore(.test())
        let client = try StreakSnap.test(server, store: store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await client.snaps.getFeed() } }
            try await group.waitForAll()
        }
        let refreshes = server.requests.filter { $0.target == "/api/auth/refresh" }
        #expect(refreshes.count == 1)
        #expect(refreshes[0].json == ["refresh_token": "refresh-1"])
        #expect(refreshes[0].headers["authorization"] == nil)
        #expect(await store.load()?.accessToken == "access-2")
    }

    @Test func `a registration that goes on by mail says so, and signs no user in`() async throws {
        let data = """
            {"access_token":"","refresh_token":"","token_type":"","expires_in":0,"user":null,"status":"check_mail"}
            """
        let server = try LocalServer { _, _ in
            .reply(202, "{\"success\":true,\"data\":\(data),\"meta\":{\"request_id\":\"r-1\"}}")
        }
        let store = MemorySessionStore()
        let client = try StreakSnap.test(server, store: store)
        let error = await #expect(throws: StreakSnapError.self) {
            try await client.accounts.register(email: "ada@example.com", password: "correct-horse-battery")
        }
        #expect(error?.code == .checkMail && error?.status == 202 && error?.isTransient == false)
        #expect(await store.load() == nil && server.requests.count == 1)
    }

    @Test func `a refresh whose reply was lost is repeated under its key, also after a restart`() async throws {
        let isAway = Mutex(true)
        let server = try LocalServer { request, _ in
            if request.target == "/api/auth/refresh" { return isAway.withLock { $0 } ? .drop : success(Self.pair) }
            return request.headers["authorization"] == "Bearer access-2"
                ? success(#"{"items":[]}"#) : refusal(401, "TOKEN_EXPIRED")
        }
        let folder = try Folder()
        let file = folder.url.appendingPathComponent("deep/session.json")
        try await FileSessionStore(file).save(.test())
        let first = try StreakSnap.test(server, store: FileSessionStore(file))
        let error = await #expect(throws: StreakSnapError.self) { try await first.snaps.getFeed() }
        #expect(error?.kind == .network)
        isAway.withLock { $0 = false }
        let second = try StreakSnap.test(server, store: FileSessionStore(file))
        try await second.snaps.getFeed()
        let keys = server.requests.filter { $0.target == "/api/auth/refresh" }.map { $0.headers["idempotency-key"] }
        #expect(keys.count > 2 && Set(keys) == ["key-of-access-1"])
        #expect(try await FileSessionStore(file).load()?.refreshToken == "refresh-2")
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func `a token that a published route refuses is renewed, and its error says why it was refused`() async throws {
        let server = try LocalServer { request, _ in
            if request.target == "/api/auth/refresh" { return success(Self.pair) }
            return refusal(401, "UNAUTHORIZED", reason: "TOKEN_EXPIRED", details: "{}")
        }
        let client = try StreakSnap.test(server)
        let today = try #require(CalendarDate(text: "2026-01-02"))
        let error = await #expect(throws: StreakSnapError.self) { try await client.checkIns.useFreeze(date: today) }
        #expect(error?.code == .tokenExpired)
        let route = "/api/mobile/streaks/freeze/use"
        #expect(server.requests.map(\.target) == [route, "/api/auth/refresh", route])
    }

    @Test func `a 401 that is not about the access token renews nothing`() async throws {
        let server = try LocalServer { _, _ in refusal(401, "INVALID_APPLE_TOKEN") }
        let store = MemorySessionStore(.test())
        let client = try StreakSnap.test(server, store: store)
        let error = await #expect(throws: StreakSnapError.self) { try await client.friends.sendFriendRequest(username: "ben") }
        #expect(error?.code == .invalidAppleToken && error?.kind == .refused)
        #expect(server.requests.count == 1)
        #expect(await store.load()?.accessToken == "access-1")
    }

    @Test func `a refused refresh ends the session`() async throws {
        let server = try Self.server(refresh: refusal(401, "REFRESH_TOKEN_REUSED"))
        let store = MemorySessionStore(.test())
        let changes = Mutex<[Session?]>([])
        let settings = StreakSnap.Settings { session in changes.withLock { $0.append(session) } }
        let client = try StreakSnap.test(server, store: store, settings: settings)
        let error = await #expect(throws: StreakSnapError.self) { try await client.snaps.getFeed() }
        #expect(error?.kind == .signedOut)
        #expect(error?.code == .refreshTokenReused)
        #expect(await store.load() == nil)
        #expect(changes.withLock { $0 } == [nil])
    }

    @Test func `a token that is about to end is renewed before an upload, not after it`() async throws {
        let server = try Self.server()
        let client = try StreakSnap.test(server, store: MemorySessionStore(.test(left: 5)))
        try await client.snaps.getFeed()
        #expect(server.requests.map(\.target) == ["/api/auth/refresh", "/api/photos/feed"])
    }

    @Test func `an extension's newer session is taken, and its pair is not used up again`() async throws {
        let server = try Self.server(accepts: "access-9")
        let store = MemorySessionStore(.test())
        let client = try StreakSnap.test(server, store: store)
        _ = try await client.session
        await store.save(.test("access-9"))
        try await client.snaps.getFeed()
        #expect(!server.requests.contains { $0.target == "/api/auth/refresh" })
    }

    @Test func `signing in stores the session, signing out removes it`() async throws {
        let server = try LocalServer { request, _ in
            request.target.hasSuffix("logout") ? success(#"{"sessions_ended":1}"#) : success(Self.pair)
        }
        let store = MemorySessionStore()
        let client = try StreakSnap.test(server, store: store)
        let reply = try await client.accounts.login(email: "ada@example.com", password: "secret-word")
        #expect(reply.user.username == "ada")
        #expect(await store.load()?.refreshToken == "refresh-2")
        for text in ["\(reply)", String(reflecting: reply), "\(try #require(await store.load()))"] {
            #expect(!text.contains("access-2") && !text.contains("refresh-2"), "tokens are not for logs")
        }
        var dumped = ""
        dump(reply, to: &dumped)
        #expect(!dumped.contains("refresh-2"))
        try await client.accounts.logout()
        #expect(await store.load() == nil)
    }

    @Test func `the user is read from the token`() {
        #expect(Session.of("0190-ada").userID == "0190-ada")
        #expect(Session.test().userID == nil)
    }
}
