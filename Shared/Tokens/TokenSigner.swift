internal import Crypto
internal import FoundationEssentials
internal import JWTKit
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
    private let keys: JWTKeyCollection
    private let signingKeyID: JWKIdentifier

    /// A signer from P-256 private keys in PEM, oldest first.
    ///
    /// - Parameter signing: the index of the key that signs; nil for the last.
    /// - Throws: `InvalidKey` when there is no key or one cannot be read.
    public init(pemKeys: [String], signing: Int? = nil) async throws {
        var publicKeys: [PublicKey] = []
        let keys = JWTKeyCollection()
        for pem in pemKeys {
            guard let key = try? ES256PrivateKey(pem: pem), let parameters = key.parameters else { throw InvalidKey() }
            let publicKey = PublicKey(
                kid: try Self.thumbprint(x: parameters.x, y: parameters.y),
                x: try Self.urlSafe(parameters.x),
                y: try Self.urlSafe(parameters.y)
            )
            await keys.add(ecdsa: key, kid: JWKIdentifier(string: publicKey.kid))
            publicKeys.append(publicKey)
        }
        let index = signing ?? publicKeys.count - 1
        guard publicKeys.indices.contains(index) else { throw InvalidKey() }
        self.publicKeys = publicKeys
        self.keys = keys
        self.signingKeyID = JWKIdentifier(string: publicKeys[index].kid)
    }

    /// The key file is unusable.
    public struct InvalidKey: Error, CustomStringConvertible {
        public let description = "No usable P-256 private key in PEM."
    }

    /// A new private key in PEM.
    public static func makeKey() -> String { P256.Signing.PrivateKey().pemRepresentation }

    /// The signed token.
    public func sign(_ token: AccessToken) async throws -> String {
        try await keys.sign(AccessTokenClaims(token), kid: signingKeyID)
    }

    private static func thumbprint(x: String, y: String) throws -> String {
        let canonical = "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"\(try urlSafe(x))\",\"y\":\"\(try urlSafe(y))\"}"
        return Base64URL.encode(Array(SHA256.hash(data: Array(canonical.utf8))))
    }

    /// The library returns coordinates in plain base64.
    private static func urlSafe(_ base64: String) throws -> String {
        guard let bytes = Data(base64Encoded: base64) else { throw InvalidKey() }
        return Base64URL.encode(bytes)
    }
}
