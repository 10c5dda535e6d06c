import Cryptography
import Foundation
import HTTPServer
import Kernel
import Synchronization
import TestSupport
import Testing

/// What stands for Apple: keys of its own, published over HTTP, and tokens signed with them.
final class AppleServer: Sendable {
    private struct State {
        var published: [(kid: String, key: RSA.PrivateKey)] = []
        var requests = 0
        var isBroken = false
        var port = 0
    }

    private let state = Mutex(State())

    /// Serves until the test process ends.
    static func start() async throws -> AppleServer {
        let apple = AppleServer()
        try apple.publish("first")
        let server = try await HTTPServer.start(host: "127.0.0.1", port: 0) { request in
            request.path == "/keys" ? try apple.answer() : HTTPResponse(.notFound)
        }
        apple.state.withLock { $0.port = server.port }
        return apple
    }

    var url: String { "http://127.0.0.1:\(state.withLock { $0.port })/keys" }

    /// How often the keys were asked for.
    var requests: Int { state.withLock { $0.requests } }

    /// From now on keys are answered with an error, or no longer.
    func setBroken(_ isBroken: Bool) { state.withLock { $0.isBroken = isBroken } }

    /// A new key, beside those there are.
    func publish(_ kid: String) throws {
        let key = try RSA.PrivateKey()
        state.withLock { $0.published.append((kid, key)) }
    }

    private func answer() throws -> HTTPResponse {
        let (keys, isBroken) = state.withLock { state in
            state.requests += 1
            return (state.published, state.isBroken)
        }
        if isBroken { return HTTPResponse(.internalServerError) }
        let list = keys.map { kid, key in
            let (modulus, exponent) = (Base64URL.encode(key.publicKey.modulus), Base64URL.encode(key.publicKey.exponent))
            return
                "{\"kty\":\"RSA\",\"kid\":\"\(kid)\",\"use\":\"sig\",\"alg\":\"RS256\",\"n\":\"\(modulus)\",\"e\":\"\(exponent)\"}"
        }
        return HTTPResponse(.ok, [:], "{\"keys\":[\(list.joined(separator: ","))]}")
    }

    /// A signed token.
    ///
    /// - Parameters:
    ///   - kid: the id it names.
    ///   - signer: the id of the key that really signs; nil for the same.
    func token(_ claims: String, kid: String = "first", signer: String? = nil, algorithm: String = "RS256") throws -> String {
        let key = try #require(state.withLock { $0.published.first { $0.kid == signer ?? kid } }).key
        let header = "{\"alg\":\"\(algorithm)\",\"kid\":\"\(kid)\"}"
        let input = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(claims.utf8))
        return input + "." + Base64URL.encode(try key.signature(for: input.utf8))
    }
}

/// The claims of an identity token; each test changes what it is about.
struct Claims {
    var iss = "\"https://appleid.apple.com\""
    var aud = "\"com.example.app\""
    var sub: String
    var email: String?
    var verified = "true"
    var nonce: String?
    var expiresIn = 600
    /// How long ago Apple made it, in seconds.
    var age = 0
    var more = ""

    init(_ sub: String = "001.\(UUID().uuidString)", email: String? = nil) {
        (self.sub, self.email) = (sub, email)
    }

    func json(_ now: Instant) -> String {
        var text =
            "{\"iss\":\(iss),\"aud\":\(aud),\"sub\":\"\(sub)\",\"iat\":\(now.seconds - Int64(age)),\"exp\":\(now.seconds + Int64(expiresIn))"
        if let email { text += ",\"email\":\"\(email)\",\"email_verified\":\(verified)" }
        // Apple never makes the same token twice.
        text += ",\"c_hash\":\"\(UUID().uuidString)\""
        if let nonce { text += ",\"nonce\":\"\(nonce)\"" }
        return text + more + "}"
    }
}
