internal import Bus
internal import Kernel
internal import Logging
internal import Tokens
internal import Transcoding

/// Keeps the public keys of access tokens fresh (AU-3): soon after the start, then every 30 s, so that a rotated key is known everywhere
/// before it signs.
struct KeyRefresher: Sendable {
    let bus: BusConnection
    let catalog: ServiceCatalog
    let verifier: TokenVerifier
    let logger: Logger

    func run() async {
        while !Task.isCancelled {
            do {
                try await refresh()
                try? await Task.sleep(for: .seconds(30))
            } catch {
                if verifier.hasKeys { logger.warning("signing keys were not refreshed", metadata: ["error": "\(error)"]) }
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    private func refresh() async throws {
        // The JWK set is a public route like any other: its transcoder makes the standard JSON of it.
        guard case .found(let route, _) = catalog.routes.match(method: "GET", path: "/.well-known/jwks.json") else {
            throw ServiceError.unavailable()
        }
        let reply = try await bus.callRaw(
            subject: route.subject,
            body: [],
            context: CallContext(deadline: SystemClock.now() + .seconds(5)),
            idempotent: true
        )
        guard case .json(let jwks) = try route.reply.transcode(reply, requestID: "") else { throw ServiceError.internal }
        try await verifier.use(jwks: jwks)
    }
}
