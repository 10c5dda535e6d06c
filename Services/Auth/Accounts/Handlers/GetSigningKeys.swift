internal import AuthAPI
internal import Bus
internal import Kernel
internal import Runtime

/// The public keys that access tokens are signed with (AU-3), signed themselves by the key of the deployment, so that gateways take no others
/// (D23).
struct GetSigningKeys: QueryHandler {
    let keys: KeyRing
    /// nil: gateways that check signatures refuse the keys.
    let signer: ServiceKey?

    func handle(_: GetSigningKeysRequest, _: CallContext) async throws -> SigningKeys {
        let published = keys.publicKeys.map { key in
            SigningKey(kty: "EC", crv: "P-256", kid: key.kid, use: "sig", alg: "ES256", x: key.x, y: key.y)
        }
        guard let signer else { return SigningKeys(keys: published) }
        // The machine's clock: gateways compare it with theirs, whatever the development clock shows.
        let now = SystemClock.now().seconds
        let statement = ServiceStatement.tokenKeys(
            service: "auth",
            signedAt: now,
            keys: published.map { (kty: $0.kty, crv: $0.crv, kid: $0.kid, x: $0.x, y: $0.y) }
        )
        return SigningKeys(keys: published, signedAt: now, signature: try signer.sign(statement))
    }
}
