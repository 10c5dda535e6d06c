internal import FoundationEssentials
internal import JWTKit
internal import Kernel

/// The public keys of an external issuer that signs tokens with RS256, such as Apple (AU-5).
public struct RSAKeySet: Sendable {
    /// The ids of the keys.
    public let keyIDs: Set<String>
    private let keys: JWTKeyCollection

    /// The keys of a JWK set (RFC 7517); keys of another kind, or too weak ones, are skipped.
    ///
    /// - Throws: `InvalidKeySet` when the bytes are not a key set or have no usable key.
    public init(jwks: [UInt8]) async throws {
        guard let set = try? JSONDecoder().decode(KeySet.self, from: Data(jwks)) else { throw InvalidKeySet() }
        let keys = JWTKeyCollection()
        var keyIDs: Set<String> = []
        for key in set.keys where key.kty == "RSA" && (key.alg ?? "RS256") == "RS256" && (key.use ?? "sig") == "sig" {
            guard let kid = key.kid, let modulus = key.n, let exponent = key.e,
                let publicKey = try? Insecure.RSA.PublicKey(modulus: modulus, exponent: exponent)
            else { continue }
            await keys.add(rsa: publicKey, digestAlgorithm: .sha256, kid: JWKIdentifier(string: kid))
            keyIDs.insert(kid)
        }
        guard !keyIDs.isEmpty else { throw InvalidKeySet() }
        self.keys = keys
        self.keyIDs = keyIDs
    }

    /// The key set is unusable.
    public struct InvalidKeySet: Error {}

    /// The claims of a token as JSON, if one of the keys has signed it with RS256; nil otherwise.
    ///
    /// Only the signature is checked: the caller must check issuer, audience and expiry.
    public func claims(of token: String) async -> [UInt8]? {
        guard let kid = Self.keyID(of: token), keyIDs.contains(kid),
            (try? await keys.verify(token, as: AnyClaims.self)) != nil,
            let payload = Self.part(1, of: token)
        else { return nil }
        return Array(payload)
    }

    /// The id of the key that a token names; nil for anything but a token signed with RS256.
    public static func keyID(of token: String) -> String? {
        guard let data = part(0, of: token), let header = try? JSONDecoder().decode(Header.self, from: data),
            header.alg == "RS256"
        else { return nil }
        return header.kid
    }

    private static func part(_ index: Int, of token: String) -> Data? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 ? Base64URL.decode(parts[index]).map { Data($0) } : nil
    }

    private struct KeySet: Decodable {
        struct Key: Decodable {
            let kty: String
            let kid, n, e, alg, use: String?
        }
        let keys: [Key]
    }

    private struct Header: Decodable {
        let alg: String
        let kid: String
    }

    /// Any claims: the caller reads them.
    private struct AnyClaims: JWTPayload {
        func verify(using _: some JWTAlgorithm) {}
    }
}
