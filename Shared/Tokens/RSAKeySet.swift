internal import Cryptography
internal import FoundationEssentials
internal import Kernel

/// The public keys of an external issuer that signs tokens with RS256, such as Apple (AU-5).
public struct RSAKeySet: Sendable {
    /// The ids of the keys.
    public var keyIDs: Set<String> { Set(keys.keys) }
    private let keys: [String: RSA.PublicKey]

    /// The keys of a JWK set (RFC 7517); keys of another kind, or too weak ones, are skipped.
    ///
    /// - Throws: `InvalidKeySet` when the bytes are not a key set or have no usable key.
    public init(jwks: [UInt8]) throws {
        guard let set = try? JSONDecoder().decode(KeySet.self, from: Data(jwks)) else { throw InvalidKeySet() }
        var keys: [String: RSA.PublicKey] = [:]
        for key in set.keys where key.kty == "RSA" && (key.alg ?? "RS256") == "RS256" && (key.use ?? "sig") == "sig" {
            guard let kid = key.kid, let modulus = key.n.flatMap({ Base64URL.decode($0) }),
                let exponent = key.e.flatMap({ Base64URL.decode($0) }),
                let publicKey = try? RSA.PublicKey(modulus: modulus, exponent: exponent)
            else { continue }
            keys[kid] = publicKey
        }
        guard !keys.isEmpty else { throw InvalidKeySet() }
        self.keys = keys
    }

    /// The key set is unusable.
    public struct InvalidKeySet: Error {}

    /// The claims of a token as JSON, if one of the keys has signed it with RS256; nil otherwise.
    ///
    /// Only the signature is checked: the caller must check issuer, audience and expiry.
    public func claims(of token: String) -> [UInt8]? {
        guard let text = SignedText(token), text.algorithm == Self.algorithm, let key = keys[text.keyID],
            key.isValid(text.signature, for: text.input.utf8)
        else { return nil }
        return text.payload
    }

    /// The id of the key that a token names; nil for anything but a token signed with RS256.
    public static func keyID(of token: String) -> String? {
        guard let text = SignedText(token), text.algorithm == algorithm else { return nil }
        return text.keyID
    }

    private static let algorithm = "RS256"

    private struct KeySet: Decodable {
        struct Key: Decodable {
            let kty: String
            let kid, n, e, alg, use: String?
        }
        let keys: [Key]
    }
}
