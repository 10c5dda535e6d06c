import AuthAPI
import AuthDomain
import Bus
import Cryptography
import Kernel
import Logging
import Runtime
import TestSupport
import Testing

@testable import AuthAccounts
@testable import AuthService

/// What a client does to solve a challenge: it knows only what `GET /api/auth/challenge` says.
enum Solver {
    /// A number that gives a hash with so many zero bits in front.
    static func solution(of challenge: String, bits: Int) -> String {
        var number = 0
        while true {
            let hash = SHA256.hash(data: "\(challenge):\(number)".utf8)
            if hash.prefix(8).reduce(UInt64(0), { $0 << 8 | UInt64($1) }).leadingZeroBitCount >= bits { return "\(number)" }
            number += 1
        }
    }

    /// A number that gives none.
    static func mistake(of challenge: String, bits: Int) -> String {
        var number = 0
        while WorkChallenge.zeroBits(SHA256.hash(data: "\(challenge):\(number)".utf8)) >= bits { number += 1 }
        return "\(number)"
    }
}

/// The code that a challenge is under.
@Suite struct ProofOfWorkTests {
    private let now = Instant(seconds: 1_800_000_000)
    private let work = ProofOfWork(secret: String(repeating: "secret", count: 6), bits: 9)
    private let home = IPAddress("2001:db8:0:1::1")

    @Test func `a solution is taken from the network that asked, until the challenge is over`() {
        let (challenge, text) = work.challenge(for: home, now: now)
        let solution = Solver.solution(of: text, bits: 9)
        #expect(work.solved(text, with: solution, by: home, now: now) == challenge)
        let neighbour = IPAddress("2001:db8:0:1:ffff::9")
        #expect(work.solved(text, with: solution, by: neighbour, now: now + .seconds(299)) == challenge)
        for other in [IPAddress("2001:db8:0:2::1"), IPAddress("192.0.2.1"), nil] {
            #expect(work.solved(text, with: solution, by: other, now: now) == nil, "\(other.map { "\($0)" } ?? "none")")
        }
        #expect(work.solved(text, with: solution, by: home, now: now + .minutes(5)) == nil)
        #expect(work.solved(text, with: Solver.mistake(of: text, bits: 9), by: home, now: now) == nil)
    }

    @Test func `another replica takes it, and one with another secret does not`() {
        let (challenge, text) = work.challenge(for: home, now: now)
        let solution = Solver.solution(of: text, bits: 9)
        let harder = ProofOfWork(secret: String(repeating: "secret", count: 6), bits: 20)
        #expect(harder.solved(text, with: solution, by: home, now: now) == challenge, "each challenge has its own bits")
        let stranger = ProofOfWork(secret: String(repeating: "another", count: 6), bits: 9)
        #expect(stranger.solved(text, with: solution, by: home, now: now) == nil)
    }

    @Test func `a challenge that was changed is none, however well it is solved`() throws {
        let text = work.challenge(for: home, now: now).text
        let parts = text.split(separator: ".").map(String.init)
        try #require(parts.count == 4)
        var changed = ["", ".", "9", text + ".", text + "A", "." + text, String(text.dropLast())]
        for (index, value) in [(0, "8"), (0, "09"), (1, "1900000000"), (2, "AAECAwQFBgcICQoLDA0ODw"), (3, "AAAA"), (3, "")] {
            var other = parts
            other[index] = value
            changed.append(other.joined(separator: "."))
        }
        for wrong in changed {
            let solution = Solver.solution(of: wrong, bits: 9)
            #expect(work.solved(wrong, with: solution, by: home, now: now) == nil, "\(wrong)")
        }
    }

    @Test func `no two challenges are the same`() {
        #expect(Set((0..<100).map { _ in work.challenge(for: home, now: now).text }).count == 100)
    }
}

/// `auth.challenge`: what is asked of who has no session.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ChallengeTests {
    private static let work = ["auth.challenge": "proof-of-work", "auth.challenge-bits": "8"]
    private static let address = "192.0.2.1"

    /// What needs a solution.
    enum Request: CaseIterable, Sendable {
        case registration, guest, passwordReset
    }

    private struct Solution: Sendable {
        var challenge: String?
        var solution: String?
    }

    private func solve(_ world: World, from address: String = address) async throws -> Solution {
        let asked = try await world.accounts.getChallenge(GetChallengeRequest(), context: World.context(from: address))
        let challenge = try #require(asked.challenge)
        let bits = Int(try #require(asked.bits))
        return Solution(challenge: challenge, solution: Solver.solution(of: challenge, bits: bits))
    }

    /// The reason of the refusal; nil when it was answered.
    private func send(
        _ request: Request,
        to world: World,
        as name: String = World.unique("sam"),
        _ solved: Solution = Solution(),
        from address: String = address,
        key: String? = nil
    ) async -> String? {
        let (challenge, solution) = (solved.challenge, solved.solution)
        let context = World.context(from: address, key: key)
        return await reason {
            switch request {
            case .registration:
                _ = try await world.accounts.register(
                    RegisterRequest(
                        email: "\(name)@example.com",
                        password: World.password,
                        username: name,
                        challenge: challenge,
                        solution: solution
                    ),
                    context: context
                )
            case .guest:
                _ = try await world.accounts.createGuestSession(
                    CreateGuestSessionRequest(deviceID: name, challenge: challenge, solution: solution),
                    context: context
                )
            case .passwordReset:
                _ = try await world.email.requestPasswordReset(
                    RequestPasswordResetRequest(email: "\(name)@example.com", challenge: challenge, solution: solution),
                    context: context
                )
            }
        }
    }

    @Test func `without the setting nothing is asked for, and a solution means nothing`() async throws {
        let world = try await World.shared.value
        let asked = try await world.call("GET", "/api/auth/challenge")
        #expect(asked.status == 200 && asked.string("kind") == "none", "\(asked.text)")
        #expect(asked.isNull("challenge") && asked.isNull("bits") && asked.isNull("expires_at"))
        for request in Request.allCases {
            #expect(await send(request, to: world, from: World.address()) == nil)
            #expect(await send(request, to: world, Solution(challenge: "x", solution: "y"), from: World.address()) == nil)
        }
    }

    @Test func `through the API a refusal says what to do, and a solution signs in`() async throws {
        let world = try await World(settings: Self.work)
        let name = World.unique("ann")
        let body = "\"email\":\"\(name)@example.com\",\"password\":\"\(World.password)\",\"username\":\"\(name)\""
        let refused = try await world.call("POST", "/api/auth/register", "{\(body)}", from: Self.address)
        #expect(
            refused.status == 403 && refused.code == "CHALLENGE_REQUIRED" && refused.fields == ["solution"],
            "\(refused.text)"
        )
        #expect(refused.text.contains("/api/auth/challenge"))
        let asked = try await world.call("GET", "/api/auth/challenge", from: Self.address)
        #expect(asked.string("kind") == "proof_of_work" && asked.int("bits") == 8 && !asked.isNull("expires_at"), "\(asked.text)")
        let challenge = try #require(asked.string("challenge"))
        let solution = Solver.solution(of: challenge, bits: 8)
        let sent = "{\(body),\"challenge\":\"\(challenge)\",\"solution\":\"\(solution)\"}"
        let made = try await world.call("POST", "/api/auth/register", sent, from: Self.address)
        #expect(made.status == 201 && made.string("user", "username") == name, "\(made.text)")
        let again = try await world.call("POST", "/api/auth/register", sent, from: Self.address)
        #expect(again.status == 403 && again.code == "CHALLENGE_FAILED", "\(again.text)")
        // Who has a session is asked for nothing.
        let token = try #require(made.string("access_token"))
        #expect(try await world.call("POST", "/api/auth/email/resend", token: token, from: Self.address).status == 202)
    }

    @Test func `a solution is used once, whatever for and at whichever replica`() async throws {
        let world = try await World(travelling: true, settings: Self.work)
        var used: [Solution] = []
        for request in Request.allCases {
            #expect(await send(request, to: world) == "CHALLENGE_REQUIRED", "\(request)")
            #expect(await send(request, to: world, Solution(challenge: "x", solution: "1")) == "CHALLENGE_FAILED", "\(request)")
            let solved = try await solve(world)
            #expect(await send(request, to: world, solved) == nil, "\(request)")
            #expect(await send(request, to: world, solved) == "CHALLENGE_FAILED", "\(request)")
            used.append(solved)
        }
        let unused = try await solve(world)
        try await world.replaceReplicas()
        for solved in used {
            for request in Request.allCases {
                #expect(await send(request, to: world, solved) == "CHALLENGE_FAILED", "\(request)")
            }
        }
        #expect(await send(.registration, to: world, unused) == nil, "a challenge of one replica is solved at another")
    }

    @Test func `of many who send one solution at the same time one gets an account`() async throws {
        let world = try await World(travelling: true, features: ["", ""], settings: Self.work)
        for _ in 0..<5 {
            let solved = try await solve(world)
            let reasons = await simultaneously(8) { _ in await send(.registration, to: world, solved) ?? "made" }
            let counts = try reasons.reduce(into: [String: Int]()) { $0[try $1.get(), default: 0] += 1 }
            #expect(counts == ["made": 1, "CHALLENGE_FAILED": 7])
        }
    }

    @Test func `a repeat with the same key gets the first answer, although its solution is used up`() async throws {
        let world = try await World(travelling: true, settings: Self.work)
        var sent: [(request: Request, name: String, solved: Solution)] = []
        for request in Request.allCases {
            let name = World.unique("tom")
            // Nothing is kept of a refusal: the key is still good for the request with a solution.
            #expect(await send(request, to: world, as: name, key: "k") == "CHALLENGE_REQUIRED", "\(request)")
            let solved = try await solve(world)
            for _ in 0..<3 { #expect(await send(request, to: world, as: name, solved, key: "k") == nil, "\(request)") }
            sent.append((request, name, solved))
        }
        try await world.replaceReplicas()
        for (request, name, solved) in sent {
            #expect(await send(request, to: world, as: name, solved, key: "k") == nil, "\(request)")
            #expect(await send(request, to: world, as: name, solved, key: "another") == "CHALLENGE_FAILED", "\(request)")
        }
    }

    @Test func `a repeat of a request that was refused may bring its solution again, and no other request may`() async throws {
        let world = try await World(travelling: true, settings: Self.work)
        let (name, other) = (World.unique("mia"), World.unique("kim"))
        #expect(await send(.registration, to: world, as: name, try await solve(world)) == nil)
        let solved = try await solve(world)
        for use in 1...5 {
            #expect(await send(.registration, to: world, as: name, solved, key: "k") == "EMAIL_TAKEN", "\(use)")
            if use == 2 { try await world.replaceReplicas() }
        }
        // Each sending counts in what all may register, and may cost a hash.
        #expect(await send(.registration, to: world, as: name, solved, key: "k") == "CHALLENGE_FAILED")
        #expect(await send(.registration, to: world, as: other, solved, key: "k") == "CHALLENGE_FAILED")
        #expect(await send(.registration, to: world, as: name, solved, key: "another") == "CHALLENGE_FAILED")
        #expect(await send(.registration, to: world, as: name, solved) == "CHALLENGE_FAILED")
    }

    @Test func `a solution counts for five minutes and for the network that asked`() async throws {
        let world = try await World(travelling: true, settings: Self.work)
        let (first, second) = (try await solve(world), try await solve(world))
        #expect(await send(.guest, to: world, first, from: "198.51.100.7") == "CHALLENGE_FAILED")
        #expect(await send(.guest, to: world, first) == nil, "a wrong network uses nothing up")
        try #require(world.manualClock).advance(by: .minutes(5))
        #expect(await send(.guest, to: world, second) == "CHALLENGE_FAILED")
    }

    @Test func `one solution asks about one address, and without one no limit is used up`() async throws {
        let world = try await World(travelling: true, settings: Self.work.merging(["auth.registrations": "2"]) { $1 })
        let name = World.unique("sue")
        for _ in 0..<5 { #expect(await send(.registration, to: world) == "CHALLENGE_REQUIRED") }
        #expect(await send(.registration, to: world, as: name, try await solve(world)) == nil)
        let solved = try await solve(world)
        #expect(await send(.registration, to: world, as: name, solved) == "EMAIL_TAKEN")
        #expect(await send(.registration, to: world, solved) == "CHALLENGE_FAILED")
        #expect(await send(.registration, to: world, try await solve(world)) == "RATE_LIMITED", "the two were counted")
    }

    @Test func `what is noted of used solutions goes when they would not be taken any more`() async throws {
        let world = try await World(travelling: true, settings: Self.work)
        func noted() async throws -> Int? {
            try await world.database.query("SELECT count(*)::int FROM auth.challenge_use").first?.decode(as: Int.self)
        }
        for _ in 0..<4 { #expect(await send(.guest, to: world, try await solve(world)) == nil) }
        #expect(try await noted() == 4)
        try #require(world.manualClock).advance(by: .minutes(6))
        #expect(await send(.guest, to: world, try await solve(world)) == nil)
        #expect(try await noted() == 1)
    }

    @Test func `settings that cannot be used end the start`() throws {
        func check(_ values: [String: String]) throws -> Challenges.Check? {
            let settings = Settings(values: values, declared: AuthModule.settings)
            return try Challenges.check(settings, secret: "secret", logger: PostgresServer.silence)
        }
        let verifier = ["auth.challenge": "verifier", "auth.challenge-verifier-url": "https://example.com/siteverify"]
        for wrong in [
            ["auth.challenge": "maybe"], ["auth.challenge": "verifier"], verifier,
            ["auth.challenge": "verifier", "auth.challenge-verifier-secret": "s"],
            ["auth.challenge": "proof-of-work", "auth.challenge-bits": "7"],
            ["auth.challenge": "proof-of-work", "auth.challenge-bits": "25"],
            verifier.merging(["auth.challenge-verifier-secret": "s", "auth.challenge-verifier-url": "http://example.com"]) { $1 },
        ] { #expect(throws: Settings.Invalid.self, "\(wrong)") { try check(wrong) } }
        #expect(try check([:]) == nil && check(["auth.challenge": "none"]) == nil)
        #expect(try check(verifier.merging(["auth.challenge-verifier-secret": "s"]) { $1 }) != nil)
    }
}
