internal import Crypto
internal import FoundationEssentials
internal import JWTKit
public import Kernel
private import Synchronization

/// Verifies access tokens with the published keys, without a call to another service (AU-3).
///
/// Verifying a signature costs tens of microseconds, so verified tokens are kept by their hash, while their keys are published.
public final class TokenVerifier: Sendable {
    /// How many tokens are kept at least, of those that came last; at most twice as many.
    private static let capacity = 50_000

    private struct State {
        var keys: JWTKeyCollection?
        /// By their ids.
        var published: [String: KeySet.Key] = [:]
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
        let key: String
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
        var published: [String: KeySet.Key] = [:]
        let all = try jwks.flatMap { try JSONDecoder().decode(KeySet.self, from: Data($0)).keys }
        // Only ES256 keys count: a token can never choose a weaker algorithm, because no other key exists here.
        for key in all where key.kty == "EC" && key.crv == "P-256" && published[key.kid] == nil {
            let publicKey = try ES256PublicKey(parameters: (x: key.x, y: key.y))
            await keys.add(ecdsa: publicKey, kid: JWKIdentifier(string: key.kid))
            published[key.kid] = key
        }
        state.withLock { [published] state in
            state.keys = keys
            let gone = state.published.filter { published[$0.key] != $0.value }
            state.published = published
            guard !gone.isEmpty else { return }
            state.newer = state.newer.filter { gone[$0.value.key] == nil }
            state.older = state.older.filter { gone[$0.value.key] == nil }
        }
    }

    private struct KeySet: Decodable {
        struct Key: Decodable, Equatable {
            let kty, crv, kid, x, y: String
        }
        let keys: [Key]
    }

    /// The content of a genuine token that has not expired.
    ///
    /// - Throws: `UNAUTHENTICATED` errors with reason `INVALID_TOKEN` or `TOKEN_EXPIRED`; `UNAVAILABLE` while no key is known.
    public func verify(_ text: String) async throws -> AccessToken {
        let hash = Self.hash(text)
        let (known, keys, published) = state.withLock { ($0.find(hash), $0.keys, $0.published) }
        if let known { return try checkTimes(known) }
        guard let keys else { throw ServiceError.unavailable("Sign-in keys are not available yet.") }
        // The header cannot choose: an unknown `kid` and any algorithm but ES256 are refused.
        guard text.utf8.count <= 4_096, let verified = try? await Self.verify(text, keys, published) else {
            throw ServiceError(.unauthenticated, "INVALID_TOKEN", "The access token is not valid: sign in again.")
        }
        state.withLock { state in
            // Its key may have been removed meanwhile.
            if state.published[verified.key] == published[verified.key] { state.keep(verified, hash) }
        }
        return try checkTimes(verified.token)
    }

    /// Whether a token would be accepted, or refused for its times alone, without verifying its signature again.
    func isKnown(_ text: String) -> Bool { state.withLock { $0.find(Self.hash(text)) != nil } }

    private static func hash(_ text: String) -> SHA256Digest { SHA256.hash(data: Array(text.utf8)) }

    private static func verify(_ text: String, _ keys: JWTKeyCollection, _ published: [String: KeySet.Key]) async throws
        -> Verified?
    {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decode(parts[0]),
            let fields = try? JSONDecoder().decode(Header.self, from: Data(header)), fields.alg == "ES256",
            published[fields.kid] != nil
        else { return nil }
        return try await keys.verify(text, as: AccessTokenClaims.self).token.map { Verified(token: $0, key: fields.kid) }
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
