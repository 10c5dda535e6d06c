internal import Cryptography
internal import FoundationEssentials
internal import Kernel

/// Signs access tokens with ES256 (AU-3). The newest key signs; older ones stay published until the tokens they signed have expired.
public struct TokenSigner: Sendable {
    /// A public key as a JWK (RFC 7517).
    public struct PublicKey: Sendable, Hashable {
        /// SHA-256 thumbprint of the key (RFC 7638): the same key always has the same id.
        public let kid: String
        /// base64url of the coordinates.
        public let x: String
        /// base64url of the coordinates.
        public let y: String
    }

    /// Every published key, in the order given.
    public let publicKeys: [PublicKey]
    private let key: P256.PrivateKey
    /// The header of every token, encoded.
    private let header: String

    /// A signer from P-256 private keys in PEM, oldest first.
    ///
    /// - Parameter signing: the index of the key that signs; nil for the last.
    /// - Throws: `InvalidKey` when there is no key or one cannot be read.
    public init(pemKeys: [String], signing: Int? = nil) throws {
        var keys: [P256.PrivateKey] = []
        for pem in pemKeys {
            do { keys.append(try P256.PrivateKey(pem: pem)) } catch { throw InvalidKey() }
        }
        let index = signing ?? keys.count - 1
        guard keys.indices.contains(index) else { throw InvalidKey() }
        publicKeys = keys.map { PublicKey($0.publicKey) }
        key = keys[index]
        header = SignedText.beginning(algorithm: TokenVerifier.algorithm, keyID: publicKeys[index].kid)
    }

    /// The key file is unusable.
    public struct InvalidKey: Error, CustomStringConvertible {
        public let description = "No usable P-256 private key in PEM."
    }

    /// A new private key in PEM.
    ///
    /// - Throws: `CryptographyError`: without memory or randomness.
    public static func makeKey() throws -> String { try P256.PrivateKey().pem() }

    /// The signed token.
    public func sign(_ token: AccessToken) throws -> String {
        let input = header + Base64URL.encode(try JSONEncoder().encode(AccessTokenClaims(token)))
        return input + "." + Base64URL.encode(try key.signature(for: input.utf8))
    }
}

extension TokenSigner.PublicKey {
    fileprivate init(_ key: P256.PublicKey) {
        let (x, y) = (Base64URL.encode(key.x), Base64URL.encode(key.y))
        let canonical = "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"\(x)\",\"y\":\"\(y)\"}"
        self.init(kid: Base64URL.encode(SHA256.hash(data: canonical.utf8)), x: x, y: y)
    }
}
