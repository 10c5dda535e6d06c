internal import AuthAPI
internal import Bus

extension AuthService {
    func getSigningKeys(_: GetSigningKeysRequest, context _: CallContext) async throws -> SigningKeys {
        SigningKeys(
            keys: keys.publicKeys.map { key in
                SigningKey(kty: "EC", crv: "P-256", kid: key.kid, use: "sig", alg: "ES256", x: key.x, y: key.y)
            }
        )
    }
}
