import CryptoExtras
import FoundationEssentials
import Kernel

/// Stands for Apple: signs identity tokens with a key of its own, and publishes the key (AU-5).
actor AppleStandIn {
    /// The only app.
    static let app = "com.example.app"
    private static let keyID = "test-environment"
    private static let lifetime: Int64 = 600
    private var made: _RSA.Signing.PrivateKey?

    /// Who signs in.
    struct Person: Sendable {
        var subject: String
        var email: String?
        var nonce: String?
    }

    /// The public key as a JWK set.
    ///
    /// - Throws: an error of the library of cryptography.
    func keys() throws -> JSON {
        let parts = try key().publicKey.getKeyPrimitives()
        let members = [
            "kty": "RSA", "kid": Self.keyID, "use": "sig", "alg": "RS256", "n": Base64URL.encode(parts.modulus),
            "e": Base64URL.encode(parts.publicExponent),
        ]
        return .object(["keys": .list([.texts(members)])])
    }

    /// What an iPhone would give the app.
    ///
    /// - Throws: an error of the library of cryptography.
    func token(for person: Person, now: Instant) throws -> String {
        var claims: [String: JSON] = [
            "iss": .text("https://appleid.apple.com"), "aud": .text(Self.app), "sub": .text(person.subject),
            "iat": .whole(now.seconds), "exp": .whole(now.seconds + Self.lifetime), "auth_time": .whole(now.seconds),
            "nonce_supported": .flag(true),
        ]
        if let nonce = person.nonce { claims["nonce"] = .text(nonce) }
        if let email = person.email {
            claims["email"] = .text(email)
            claims["email_verified"] = .flag(true)
        }
        let header = JSON.texts(["alg": "RS256", "kid": Self.keyID])
        let input = Base64URL.encode(header.bytes) + "." + Base64URL.encode(JSON.object(claims).bytes)
        let signature = try key().signature(for: Data(input.utf8), padding: .insecurePKCS1v1_5)
        return input + "." + Base64URL.encode(signature.rawRepresentation)
    }

    /// Made when it is needed: that takes a tenth of a second.
    private func key() throws -> _RSA.Signing.PrivateKey {
        if let made { return made }
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        made = key
        return key
    }
}
