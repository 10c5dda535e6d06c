internal import Crypto
internal import FoundationEssentials
internal import JWTKit
public import Kernel
private import Synchronization

/// Verifies access tokens with the published keys, without a call to another service (AU-3).
///
/// Verifying a signature costs tens of microseconds, so verified tokens are cached by their hash until they expire.
public final class TokenVerifier: Sendable {
    private static let capacity = 100_000

    private struct State {
        var keys: JWTKeyCollection?
        var keyIDs: Set<String> = []
        var known: [SHA256Digest: AccessToken] = [:]
    }

    private let clock: any Clock
    private let state = Mutex(State())

    /// A verifier without keys, which refuses every token.
    public init(clock: any Clock) { self.clock = clock }

    /// Whether it has a key.
    public var hasKeys: Bool { state.withLock { $0.keys != nil } }

    /// Replaces the published keys. Tokens signed by a removed key are refused from now on.
    ///
    /// - Parameter jwks: JWK sets (RFC 7517) as JSON.
    public func use(jwks: [[UInt8]]) async throws {
        let keys = JWTKeyCollection()
        var keyIDs: Set<String> = []
        let all = try jwks.flatMap { try JSONDecoder().decode(KeySet.self, from: Data($0)).keys }
        // Only ES256 keys count: a token can never choose a weaker algorithm, because no other key exists here.
        for key in all where key.kty == "EC" && key.crv == "P-256" && !keyIDs.contains(key.kid) {
            let publicKey = try ES256PublicKey(parameters: (x: key.x, y: key.y))
            await keys.add(ecdsa: publicKey, kid: JWKIdentifier(string: key.kid))
            keyIDs.insert(key.kid)
        }
        state.withLock { [keyIDs] state in
            state.keys = keys
            state.keyIDs = keyIDs
            state.known.removeAll(keepingCapacity: true)
        }
    }

    private struct KeySet: Decodable {
        struct Key: Decodable {
            let kty, crv, kid, x, y: String
        }
        let keys: [Key]
    }

    /// The content of a genuine token that has not expired.
    ///
    /// - Throws: `UNAUTHENTICATED` errors with reason `INVALID_TOKEN` or `TOKEN_EXPIRED`; `UNAVAILABLE` while no key is known.
    public func verify(_ text: String) async throws -> AccessToken {
        let hash = SHA256.hash(data: Array(text.utf8))
        let (known, keys, keyIDs) = state.withLock { ($0.known[hash], $0.keys, $0.keyIDs) }
        if let known { return try checkTimes(known) }
        guard let keys else { throw ServiceError.unavailable("Sign-in keys are not available yet.") }
        // The header cannot choose: an unknown `kid` and any algorithm but ES256 are refused.
        guard text.utf8.count <= 4_096, let token = try? await Self.verify(text, keys, keyIDs) else {
            throw ServiceError(.unauthenticated, "INVALID_TOKEN", "The access token is not valid: sign in again.")
        }
        state.withLock { state in
            if state.known.count >= Self.capacity { state.known.removeAll(keepingCapacity: true) }
            state.known[hash] = token
        }
        return try checkTimes(token)
    }

    private static func verify(_ text: String, _ keys: JWTKeyCollection, _ keyIDs: Set<String>) async throws -> AccessToken? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]),
            let fields = try? JSONDecoder().decode(Header.self, from: Data(header)), fields.alg == "ES256",
            keyIDs.contains(fields.kid)
        else { return nil }
        return try await keys.verify(text, as: AccessTokenClaims.self).token
    }

    private struct Header: Decodable {
        let alg: String
        let kid: String
    }

    private func checkTimes(_ token: AccessToken) throws -> AccessToken {
        let now = clock.now()
        guard token.expiresAt > now else {
            throw ServiceError(.unauthenticated, "TOKEN_EXPIRED", "The access token has expired: refresh it.")
        }
        guard token.issuedAt <= now + .minutes(5) else {
            throw ServiceError(.unauthenticated, "INVALID_TOKEN", "The access token is not valid yet.")
        }
        return token
    }
}
