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

    /// From how many answers in a row that differ on it is no rotation, which every replica knows within seconds.
    private static let lasting = 2
    /// Most replicas that are asked: how many there are is what the bus says.
    private static let most = 64

    func run() async {
        var differing = 0
        while !Task.isCancelled {
            do {
                differing = try await refresh() ? 0 : differing + 1
                if differing == Self.lasting { reportDifference() }
                try? await Task.sleep(for: .seconds(30))
            } catch {
                if verifier.hasKeys { logger.warning("signing keys were not refreshed", metadata: ["error": "\(error)"]) }
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// - Returns: whether all replicas publish the same keys.
    private func refresh() async throws -> Bool {
        // The JWK set is a public route like any other: its transcoder makes the standard JSON of it.
        guard case .found(let route, _) = catalog.routes.match(method: "GET", path: "/.well-known/jwks.json") else {
            throw ServiceError.unavailable()
        }
        var sets = await sets(of: route)
        if sets.isEmpty {
            let context = CallContext(deadline: SystemClock.now() + .seconds(5))
            let reply = try await bus.callRaw(subject: route.subject, body: [], context: context, idempotent: true)
            sets = [try jwks(route, reply)]
        }
        try verifier.use(jwks: Array(sets))
        return sets.count == 1
    }

    /// The keys of each live replica: one that has another folder of keys than the others signs tokens that only its own verify.
    private func sets(of route: Route) async -> Set<[UInt8]> {
        let service = route.subject.split(separator: ".").dropFirst().first ?? ""
        let replicas = catalog.instances.filter { $0.name == service }.prefix(Self.most)
        let subjects = replicas.map { "inst.\(service).\($0.id).\(route.subject)" }
        let deadline = SystemClock.now() + .seconds(2)
        return await withTaskGroup(of: [UInt8]?.self) { group in
            for subject in subjects {
                group.addTask {
                    guard let reply = try? await bus.request(subject, body: [], deadline: deadline),
                        reply.headers["Nats-Service-Error-Code"] == nil
                    else { return nil }
                    return try? jwks(route, reply.body)
                }
            }
            return await group.reduce(into: []) { sets, set in if let set { sets.insert(set) } }
        }
    }

    private func jwks(_ route: Route, _ reply: [UInt8]) throws -> [UInt8] {
        guard case .json(let jwks) = try route.reply.transcode(reply, requestID: "") else { throw ServiceError.internal }
        return jwks
    }

    private func reportDifference() {
        logger.error(
            "replicas of auth publish different signing keys",
            metadata: ["wayOut": "Give all of them one folder (auth.key-folder): each publishes only the keys of its own."]
        )
    }
}
