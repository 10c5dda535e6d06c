import Cryptography
import Kernel

/// Stands for Apple: signs identity tokens with a key of its own, and publishes the key (AU-5).
actor AppleStandIn {
    /// The only app.
    static let app = "com.example.app"
    private static let keyID = "test-environment"
    private static let lifetime: Int64 = 600
    private var made: RSA.PrivateKey?
    private var tokens = 0

    /// Who signs in.
    struct Person: Sendable {
        var subject: String
        var email: String?
        var nonce: String?
    }

    /// The public key as a JWK set.
    ///
    /// - Throws: `CryptographyError`: without memory or randomness.
    func keys() throws -> JSON {
        let key = try key().publicKey
        let members = [
            "kty": "RSA", "kid": Self.keyID, "use": "sig", "alg": "RS256", "n": Base64URL.encode(key.modulus),
            "e": Base64URL.encode(key.exponent),
        ]
        return .object(["keys": .list([.texts(members)])])
    }

    /// What an iPhone would give the app.
    ///
    /// - Throws: `CryptographyError`: without memory or randomness.
    func token(for person: Person, now: Instant) throws -> String {
        tokens += 1
        var claims: [String: JSON] = [
            "iss": .text("https://appleid.apple.com"), "aud": .text(Self.app), "sub": .text(person.subject),
            "iat": .whole(now.seconds), "exp": .whole(now.seconds + Self.lifetime), "auth_time": .whole(now.seconds),
            "nonce_supported": .flag(true),
            // Apple never makes the same token twice, and each signs in once.
            "c_hash": .text("\(now.microseconds) \(tokens)"),
        ]
        if let nonce = person.nonce { claims["nonce"] = .text(nonce) }
        if let email = person.email {
            claims["email"] = .text(email)
            claims["email_verified"] = .flag(true)
        }
        let header = JSON.texts(["alg": "RS256", "kid": Self.keyID])
        let input = Base64URL.encode(header.bytes) + "." + Base64URL.encode(JSON.object(claims).bytes)
        return input + "." + Base64URL.encode(try key().signature(for: input.utf8))
    }

    /// Made when it is needed: that takes a tenth of a second.
    private func key() throws -> RSA.PrivateKey {
        if let made { return made }
        let key = try RSA.PrivateKey()
        made = key
        return key
    }
}
