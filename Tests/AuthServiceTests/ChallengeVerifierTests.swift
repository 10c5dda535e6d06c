import AuthAPI
import Bus
import Foundation
import HTTPServer
import Kernel
import Synchronization
import TestSupport
import Testing

/// What stands for a provider of challenges, as Turnstile and hCaptcha answer.
private final class Provider: Sendable {
    static let secret = "s=1&x"

    private struct State {
        var port = 0
        var isBroken = false
        /// The fields of each question.
        var asked: [[String: String]] = []
    }

    private let state = Mutex(State())

    /// Serves until the test process ends.
    static func start() async throws -> Provider {
        let provider = Provider()
        let server = try await HTTPServer.start(host: "127.0.0.1", port: 0) { request in
            let body = try await request.body.collect(upTo: 64 << 10)
            return provider.answer(String(decoding: Array(body.readableBytesView), as: UTF8.self))
        }
        provider.state.withLock { $0.port = server.port }
        return provider
    }

    var settings: [String: String] {
        [
            "auth.challenge": "verifier",
            "auth.challenge-verifier-url": "http://127.0.0.1:\(state.withLock { $0.port })/siteverify",
            "auth.challenge-verifier-secret": Self.secret,
        ]
    }

    var asked: [[String: String]] { state.withLock { $0.asked } }
    func setBroken(_ isBroken: Bool) { state.withLock { $0.isBroken = isBroken } }

    private func answer(_ form: String) -> HTTPResponse {
        // Decoded by Foundation, encoded by the service itself.
        let items = URLComponents(string: "/?\(form)")?.queryItems ?? []
        let fields = items.reduce(into: [String: String]()) { $0[$1.name] = $1.value }
        let isBroken = state.withLock { state in
            state.asked.append(fields)
            return state.isBroken
        }
        if isBroken { return HTTPResponse(.internalServerError) }
        guard fields["secret"] == Self.secret else {
            return HTTPResponse(.ok, [:], #"{"success":false,"error-codes":["invalid-input-secret"],"messages":[]}"#)
        }
        guard fields["response"]?.hasPrefix("right") == true else {
            return HTTPResponse(.ok, [:], #"{"success":false,"error-codes":["invalid-input-response"]}"#)
        }
        return HTTPResponse(
            .ok,
            [:],
            #"{"success":true,"challenge_ts":"2026-01-01T00:00:00Z","error-codes":[],"metadata":{"a":[1]}}"#
        )
    }
}

/// `auth.challenge=verifier`: a token of a provider's widget.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ChallengeVerifierTests {
    private func guest(_ world: World, _ token: String?, key: String? = nil, device: String = World.unique("device")) async
        -> String?
    {
        await reason {
            try await world.accounts.createGuestSession(
                CreateGuestSessionRequest(deviceID: device, solution: token),
                context: World.context(from: "192.0.2.1", key: key)
            )
        }
    }

    @Test func `the provider is asked about a token with the secret and the client's address`() async throws {
        let provider = try await Provider.start()
        let world = try await World(travelling: true, settings: provider.settings)
        let asked = try await world.accounts.getChallenge(GetChallengeRequest(), context: World.context(from: "192.0.2.1"))
        #expect(asked.kind == .verifier && asked.challenge == nil && asked.bits == nil && asked.expiresAt == nil)
        #expect(await guest(world, nil) == "CHALLENGE_REQUIRED")
        #expect(await guest(world, "wrong") == "CHALLENGE_FAILED")
        #expect(await guest(world, "right & =+ä%41") == nil)
        #expect(
            provider.asked
                == ["wrong", "right & =+ä%41"].map { ["secret": Provider.secret, "response": $0, "remoteip": "192.0.2.1"] }
        )
    }

    @Test func `a token is used once, also where the provider would take it again, and a repeat with its key is answered`()
        async throws
    {
        let provider = try await Provider.start()
        let world = try await World(travelling: true, settings: provider.settings)
        let device = World.unique("device")
        for _ in 0..<2 { #expect(await guest(world, "right 1", key: "k", device: device) == nil) }
        #expect(provider.asked.count == 1)
        try await world.replaceReplicas()
        #expect(await guest(world, "right 1", key: "k", device: device) == nil)
        #expect(await guest(world, "right 1") == "CHALLENGE_FAILED")
        #expect(await guest(world, "right 2") == nil)
        // Of a request that is refused for another reason nothing is stored, and a provider says only once that a token is right.
        let name = World.unique("eve")
        func register(_ token: String, key: String) async -> String? {
            let request = RegisterRequest(email: "\(name)@example.com", password: World.password, username: name, solution: token)
            return await reason {
                try await world.accounts.register(request, context: World.context(from: "192.0.2.1", key: key))
            }
        }
        #expect(await register("right 3", key: "a") == nil)
        let count = provider.asked.count
        for _ in 0..<2 { #expect(await register("right 4", key: "b") == "EMAIL_TAKEN") }
        #expect(provider.asked.count == count + 1)
    }

    @Test func `while the provider does not answer, or does not know the installation, nothing is let through`() async throws {
        let provider = try await Provider.start()
        let world = try await World(travelling: true, settings: provider.settings)
        provider.setBroken(true)
        #expect(await guest(world, "right 1") == "UNAVAILABLE")
        provider.setBroken(false)
        #expect(await guest(world, "right 1") == nil, "the token is as good as before")
        let unknown = try await World(
            travelling: true,
            settings: provider.settings.merging(["auth.challenge-verifier-secret": "another"]) { $1 }
        )
        #expect(await guest(unknown, "right 2") == "UNAVAILABLE")
        let away = try await World(
            travelling: true,
            settings: provider.settings.merging(["auth.challenge-verifier-url": "http://127.0.0.1:1/"]) { $1 }
        )
        #expect(await guest(away, "right 3") == "UNAVAILABLE")
    }
}
