internal import AuthDomain
internal import Cryptography
internal import FoundationEssentials
internal import Kernel

/// Verifies what comes from Apple: identity tokens of users, and notifications of its servers (AU-5).
struct AppleVerifier: Sendable {
    /// Our apps' ids; none: Sign in with Apple is off.
    let clients: Set<String>
    let keys: AppleKeys
    let clock: any Clock

    /// A verified identity token.
    struct Identity: Sendable {
        let token: AppleToken
        let hidesEmail: Bool
        /// SHA-256 of the text: what a second use is known by.
        let hash: [UInt8]
    }

    /// Who signs in.
    ///
    /// - Throws: `INVALID_APPLE_TOKEN` naming what is wrong, `APPLE_SIGN_IN_OFF`, `UNAVAILABLE`.
    func identity(_ text: String, nonce: String?) async throws -> Identity {
        let claims = try await verified(text, as: AppleClaims.self)
        let sent = nonce.map { AppleToken.SentNonce(sha256: Self.sha256($0)) }
        if let problem = claims.token.problem(clients: clients, nonce: sent, now: clock.now()) {
            throw Self.invalid(problem.rawValue)
        }
        return Identity(token: claims.token, hidesEmail: claims.hidesEmail, hash: Array(SHA256.hash(data: text.utf8)))
    }

    /// A notification of Apple's servers. It has no expiry: a repeat is recognised by its id.
    ///
    /// - Throws: as `identity`.
    func notification(_ text: String) async throws -> AppleServerClaims {
        let claims = try await verified(text, as: AppleServerClaims.self)
        guard claims.iss == AppleToken.issuer else { throw Self.invalid("issuer") }
        guard !clients.isDisjoint(with: claims.aud.values) else { throw Self.invalid("audience") }
        if let exp = claims.exp, Instant(appleSeconds: exp) <= clock.now() - AppleToken.clockTolerance {
            throw Self.invalid("expired")
        }
        return claims
    }

    private func verified<Claims: Decodable>(_ text: String, as _: Claims.Type) async throws -> Claims {
        guard !clients.isEmpty else {
            throw ServiceError(.unimplemented, "APPLE_SIGN_IN_OFF", "Sign in with Apple is not set up on this server.")
        }
        guard let json = try await keys.claims(of: text) else { throw Self.invalid("signature") }
        // NUL is in no text that Apple writes, and in none that the database stores. JSON has it in this form only.
        guard json.firstRange(of: Array("\\u0000".utf8)) == nil else { throw Self.invalid("claims") }
        guard let claims = try? JSONDecoder().decode(Claims.self, from: Data(json)) else { throw Self.invalid("claims") }
        return claims
    }

    static func invalid(_ what: String) -> ServiceError {
        ServiceError(
            .unauthenticated,
            "INVALID_APPLE_TOKEN",
            "The token is not one that Apple has made for this app, or has expired.",
            details: [.init(field: "identity_token", message: what)]
        )
    }

    private static func sha256(_ text: String) -> String {
        SHA256.hash(data: text.utf8).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }
}
