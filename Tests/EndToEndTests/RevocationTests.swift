import Bus
import Foundation
import Kernel
import Processes
import TestSupport
import Testing
import Tokens

/// A session that has ended is refused by every gateway, whatever happens to `auth` (AU-3).
@Suite(.serialized) struct RevocationTests {
    /// One more gateway of an installation, with the settings of the one that it has.
    private struct Gateway {
        let http: HTTPClient
        let log: URL
        private let process: ChildProcess

        /// - Parameter readyTimeout: after which it listens without what it has not got.
        init(at home: Installation, _ name: String, readyTimeout: Int = 10) async throws {
            let port = try Installation.freePorts(1)[0]
            http = HTTPClient(port: port)
            log = home.log(name)
            process = try await home.replica(
                of: "gateway",
                name: name,
                settings: ["STREAKSNAP_HTTP_PORT": "\(port)", "STREAKSNAP_GATEWAY_READY_TIMEOUT": "\(readyTimeout)"]
            )
        }

        /// What it says to a user.
        func me(_ person: Person) async throws -> HTTPReply {
            try await http.send("GET", "/api/users/me", headers: [("Authorization", "Bearer \(person.token)")])
        }

        func isReady() async -> Bool { (try? await http.send("GET", "/readyz"))?.status == 200 }

        func stop() async {
            process.signal(SIGTERM)
            _ = await process.waitForExit()
        }
    }

    private static func auth(of home: Installation) async throws -> pid_t {
        var found: pid_t?
        try await eventually("auth runs") {
            found = home.process(of: "auth")
            return found != nil
        }
        return try #require(found)
    }

    private static func isReady(_ home: Installation) async -> Bool {
        (try? await home.call("GET", "/readyz"))?.status == 200
    }

    /// Which key signed a token.
    private static func key(of token: String) throws -> String {
        let header = try #require(token.split(separator: ".").first.flatMap { Base64URL.decode($0) })
        return String(try #require(String(decoding: header, as: UTF8.self).firstMatch(of: /"kid":"([^"]+)"/)).output.1)
    }

    @Test func `tokens of a replica of auth that has a folder of keys of its own are accepted like those of the other`()
        async throws
    {
        let home = try await Installation(["--separate"])
        var person = try await Person.register("kay", at: home)
        let folder = home.data.appending(path: "other-keys").path
        let second = try await home.replica(of: "auth", settings: ["STREAKSNAP_AUTH_KEY_FOLDER": folder])
        defer { second.signal(SIGKILL) }
        var signers: Set<String> = []
        // The gateway asks for keys every 30 s.
        try await eventually("those of both are accepted, one after the other", within: .seconds(120)) {
            signers = []
            for _ in 0..<12 {
                try await person.signIn()
                guard try await person.get("/api/users/me").status == 200 else { return false }
                signers.insert(try Self.key(of: person.token))
            }
            return signers.count == 2
        }
    }

    /// A gateway without keys refuses no one for good, says why it is not ready, and has the keys as soon as auth is there.
    @Test func `a gateway that starts while auth is away verifies tokens when auth is back`() async throws {
        let home = try await Installation(["--separate"])
        let person = try await Person.register("kim", at: home)
        let auth = try await Self.auth(of: home)
        kill(auth, SIGSTOP)
        defer { kill(auth, SIGCONT) }
        let late = try await Gateway(at: home, "gateway-2", readyTimeout: 1)
        try await eventually("it listens, and says what is missing") {
            guard let reply = try? await late.http.send("GET", "/readyz") else { return false }
            return reply.status == 503 && reply.text.contains("no signing keys yet\n")
                && reply.text.contains("auth does not answer\n")
        }
        let friends = ("GET", "/api/friends", [("Authorization", "Bearer \(person.token)")])
        try await eventually("it cannot judge the token, and does not refuse it") {
            let reply = try await late.http.send(friends.0, friends.1, headers: friends.2)
            #expect(reply.status != 401, "\(reply.text)")
            return reply.status == 503 && reply.code == "UNAVAILABLE"
        }
        kill(auth, SIGCONT)
        let start = ContinuousClock.now
        try await eventually("it is ready") { await late.isReady() }
        // Its rounds are a fraction of a second apart; a request to the frozen auth may hold one up for 5 s.
        #expect(ContinuousClock.now - start < .seconds(15))
        #expect(try await late.me(person).status == 200)
        await late.stop()
        await home.guardian.end()
    }

    @Test func `a logout holds at every gateway although auth is killed right after its reply`() async throws {
        let home = try await Installation(["--separate"])
        let second = try await Gateway(at: home, "gateway-2")
        for (round, path) in ["/api/auth/logout", "/api/auth/logout?all=true", "/api/auth/logout"].enumerated() {
            try await eventually("both gateways are ready") {
                let first = await Self.isReady(home)
                return await second.isReady() && first
            }
            // Auth was killed in the round before: it may not answer yet.
            let person = try await RestartTests().register("rev", at: home)
            try await eventually("the second gateway knows the person") { try await second.me(person).status == 200 }
            let auth = try await Self.auth(of: home)
            let ended = try await person.post(path)
            kill(auth, SIGKILL)
            #expect(ended.status == 200, "\(ended.text)")
            let refused = try await second.me(person)
            #expect(refused.status == 401 && refused.code == "SESSION_REVOKED", "round \(round): \(refused.text)")
            #expect(try await person.get("/api/users/me").code == "SESSION_REVOKED")
            try await eventually("auth is started again") {
                guard let next = home.process(of: "auth") else { return false }
                return next != auth
            }
        }
        await second.stop()
        await home.guardian.end()
    }

    @Test func `a gateway that starts while auth is away knows what was revoked, also after the stream was lost`() async throws {
        let home = try await Installation(["--separate"])
        let person = try await Person.register("rev", at: home)
        #expect(try await person.post("/api/auth/logout").status == 200)
        let bus = try await home.bus()
        let jetStream = JetStream(connection: bus)
        let deletion = "$JS.API.STREAM.DELETE.\(RevocationStream.name)"
        _ = try await bus.request(deletion, body: [], deadline: SystemClock.now() + .seconds(5))
        try await eventually("the operator's process makes the stream again, and auth fills it") {
            do { return try await jetStream.streamInfo(RevocationStream.name).messages > 0 } catch is JetStreamError {
                return false
            }
        }
        let auth = try await Self.auth(of: home)
        kill(auth, SIGSTOP)
        defer { kill(auth, SIGCONT) }
        let late = try await Gateway(at: home, "gateway-3")
        try await eventually("it has read the revocations without auth") {
            (Files.text(late.log) ?? "").contains("revocations are known")
        }
        // Only with the keys of auth can it judge a token.
        kill(auth, SIGCONT)
        var first: HTTPReply?
        try await eventually("it judges the token") {
            guard let reply = try? await late.me(person), reply.status < 500 else { return false }
            first = reply
            return true
        }
        #expect(first?.status == 401 && first?.code == "SESSION_REVOKED", "\(first?.text ?? "")")
        await late.stop()
        await bus.close()
        await home.guardian.end()
    }
}
