internal import Cryptography
internal import FoundationEssentials
public import Kernel
private import Synchronization

/// Verifies access tokens with the published keys, without a call to another service (AU-3).
///
/// Verifying a signature costs tens of microseconds, so verified tokens are kept by their hash, while their keys are published.
public final class TokenVerifier: Sendable {
    /// How many tokens are kept at least, of those that came last; at most twice as many.
    private static let capacity = 50_000
    /// The only one: a token can never choose a weaker one, because no other key exists here.
    static let algorithm = "ES256"

    private struct State {
        /// By their ids; nil before any is known.
        var keys: [String: P256.PublicKey]?
        var newer: [SHA256Digest: Verified] = [:]
        var older: [SHA256Digest: Verified] = [:]

        mutating func find(_ hash: SHA256Digest) -> AccessToken? {
            if let found = newer[hash] { return found.token }
            guard let found = older.removeValue(forKey: hash) else { return nil }
            keep(found, hash)
            return found.token
        }

        mutating func keep(_ verified: Verified, _ hash: SHA256Digest) {
            if newer.count >= TokenVerifier.capacity { (older, newer) = (newer, [:]) }
            newer[hash] = verified
        }
    }

    private struct Verified {
        let token: AccessToken
        /// The id of its key.
        let keyID: String
    }

    private let clock: any Clock
    private let state = Mutex(State())

    /// A verifier without keys, which refuses every token.
    public init(clock: any Clock) { self.clock = clock }

    /// Whether it has a key.
    public var hasKeys: Bool { state.withLock { $0.keys != nil } }

    /// Replaces the published keys. Tokens signed by a removed key are refused from now on.
    ///
    /// - Parameter jwks: JWK sets (RFC 7517) as JSON. Keys of another kind than P-256 are passed over.
    /// - Throws: an error of the decoder, or `InvalidKey` for a key that is none; the keys then stay as they were.
    public func use(jwks: [[UInt8]]) throws {
        var keys: [String: P256.PublicKey] = [:]
        let all = try jwks.flatMap { try JSONDecoder().decode(KeySet.self, from: Data($0)).keys }
        for key in all where key.kty == "EC" && key.crv == "P-256" && keys[key.kid] == nil {
            guard let x = Base64URL.decode(key.x), let y = Base64URL.decode(key.y), let point = try? P256.PublicKey(x: x, y: y)
            else {
                throw InvalidKey(keyID: key.kid)
            }
            keys[key.kid] = point
        }
        state.withLock { [keys] state in
            let gone = (state.keys ?? [:]).filter { keys[$0.key] != $0.value }
            state.keys = keys
            guard !gone.isEmpty else { return }
            state.newer = state.newer.filter { gone[$0.value.keyID] == nil }
            state.older = state.older.filter { gone[$0.value.keyID] == nil }
        }
    }

    private struct KeySet: Decodable {
        struct Key: Decodable {
            let kty, crv, kid, x, y: String
        }
        let keys: [Key]
    }

    /// A published key cannot be used.
    public struct InvalidKey: Error, CustomStringConvertible {
        let keyID: String
        public var description: String { "The published key “\(keyID)” is no point of P-256." }
    }

    /// The content of a genuine token that has not expired.
    ///
    /// - Throws: `UNAUTHENTICATED` errors with reason `INVALID_TOKEN` or `TOKEN_EXPIRED`; `UNAVAILABLE` while no key is known.
    public func verify(_ text: String) throws(ServiceError) -> AccessToken {
        let hash = SHA256.hash(data: text.utf8)
        let (known, keys) = state.withLock { ($0.find(hash), $0.keys) }
        if let known { return try checkTimes(known) }
        guard let keys else { throw ServiceError.unavailable("Sign-in keys are not available yet.") }
        guard text.utf8.count <= 4_096, let verified = Self.verify(text, keys) else {
            throw ServiceError(.unauthenticated, "INVALID_TOKEN", "The access token is not valid: sign in again.")
        }
        state.withLock { state in
            // Its key may have been removed meanwhile.
            if state.keys?[verified.keyID] == keys[verified.keyID] { state.keep(verified, hash) }
        }
        return try checkTimes(verified.token)
    }

    /// Whether a token would be accepted, or refused for its times alone, without verifying its signature again.
    func isKnown(_ text: String) -> Bool { state.withLock { $0.find(SHA256.hash(data: text.utf8)) != nil } }

    private static func verify(_ text: String, _ keys: [String: P256.PublicKey]) -> Verified? {
        guard let text = SignedText(text), text.algorithm == algorithm, let key = keys[text.keyID],
            key.isValid(text.signature, for: text.input.utf8),
            let claims = try? JSONDecoder().decode(AccessTokenClaims.self, from: Data(text.payload))
        else { return nil }
        return claims.token.map { Verified(token: $0, keyID: text.keyID) }
    }

    private func checkTimes(_ token: AccessToken) throws(ServiceError) -> AccessToken {
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
