internal import AuthAPI
internal import Bus

/// The public keys that access tokens are signed with (AU-3).
struct GetSigningKeys: QueryHandler {
    let keys: KeyRing

    func handle(_: GetSigningKeysRequest, _: CallContext) async throws -> SigningKeys {
        SigningKeys(
            keys: keys.publicKeys.map { key in
                SigningKey(kty: "EC", crv: "P-256", kid: key.kid, use: "sig", alg: "ES256", x: key.x, y: key.y)
            }
        )
    }
}
