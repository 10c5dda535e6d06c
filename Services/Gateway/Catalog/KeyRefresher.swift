internal import Bus
private import FoundationEssentials
internal import Kernel
internal import Logging
internal import Runtime
internal import Tokens
internal import Transcoding

/// Keeps the public keys of access tokens fresh (AU-3): soon after the start, then every 30 s, so that a rotated key is known everywhere
/// before it signs. Where services have keys (D23), a set counts only with the signature of the service that signs tokens.
struct KeyRefresher: Sendable {
    /// Where the service that signs tokens has its keys.
    static let path = "/.well-known/jwks.json"

    let bus: BusConnection
    let catalog: ServiceCatalog
    let verifier: TokenVerifier
    /// The name of the service that signs tokens.
    let service: String
    /// The keys of all services; none: what it publishes is believed.
    let keys: ServicePublicKeys
    let logger: Logger

    /// From how many answers in a row that differ on it is no rotation, which every replica knows within seconds.
    private static let lasting = 2
    /// Most replicas that are asked: how many there are is what the bus says.
    private static let most = 64

    func run() async {
        var differing = 0
        var reportedAt: ContinuousClock.Instant?
        while !Task.isCancelled {
            do {
                let found = try await refresh()
                if !found.areSigned { reportUnsigned(&reportedAt) }
                differing = found.sets.count == 1 ? 0 : differing + 1
                if differing == Self.lasting { reportDifference() }
                try? await Task.sleep(for: .seconds(30))
            } catch {
                if error is Unsigned {
                    reportUnsigned(&reportedAt)
                } else if verifier.hasKeys {
                    logger.warning("signing keys were not refreshed", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// What replicas publish.
    private struct Found: Sendable {
        /// JWK sets without anything beside their keys.
        var sets: Set<[UInt8]> = []
        /// Whether each had its signature, where one is asked for.
        var areSigned = true
    }

    /// - Returns: all sets that are in use now.
    private func refresh() async throws -> Found {
        // The JWK set is a public route like any other: its transcoder makes the standard JSON of it.
        guard case .found(let route, _) = catalog.routes.match(method: "GET", path: Self.path), route.service == service else {
            throw ServiceError.unavailable()
        }
        var found = await found(at: route)
        if found.sets.isEmpty {
            let context = CallContext(deadline: SystemClock.now() + .seconds(5))
            let reply = try await bus.callRaw(subject: route.subject, body: [], context: context, idempotent: true)
            found.sets = [try jwks(route, reply)]
        }
        try verifier.use(jwks: Array(found.sets))
        return found
    }

    /// The keys of each live replica: one that has another folder of keys than the others signs tokens that only its own verify.
    private func found(at route: Route) async -> Found {
        let replicas = catalog.instances.filter { $0.name == service }.prefix(Self.most)
        let subjects = replicas.map { "inst.\(service).\($0.id).\(route.subject)" }
        let deadline = SystemClock.now() + .seconds(2)
        return await withTaskGroup(of: Answer.self) { group in
            for subject in subjects {
                group.addTask {
                    guard let reply = try? await bus.request(subject, body: [], deadline: deadline),
                        reply.headers["Nats-Service-Error-Code"] == nil
                    else { return .nothing }
                    do { return .set(try jwks(route, reply.body)) } catch { return error is Unsigned ? .unsigned : .nothing }
                }
            }
            return await group.reduce(into: Found()) { found, answer in
                switch answer {
                case .set(let set): found.sets.insert(set)
                case .unsigned: found.areSigned = false
                case .nothing: break
                }
            }
        }
    }

    private enum Answer: Sendable {
        case set([UInt8]), unsigned, nothing
    }

    private func jwks(_ route: Route, _ reply: [UInt8]) throws -> [UInt8] {
        guard case .json(let jwks) = try route.reply.transcode(reply, requestID: "") else { throw ServiceError.internal }
        let published = try JSONDecoder().decode(PublishedKeys.self, from: Data(jwks))
        guard keys.isEmpty || published.isSigned(by: service, keys, now: SystemClock.now()) else { throw Unsigned() }
        return try published.jwks
    }

    /// A set that its service has not signed, or not lately.
    private struct Unsigned: Error, CustomStringConvertible {
        let description = "no key of the service (service.public-keys) has signed its signing keys within the last minutes"
    }

    /// At most once a minute.
    private func reportUnsigned(_ reportedAt: inout ContinuousClock.Instant?) {
        let now = ContinuousClock.now
        if let last = reportedAt, now - last < .seconds(60) { return }
        reportedAt = now
        logger.error("signing keys were refused", metadata: ["service": "\(service)", "error": "\(Unsigned())"])
    }

    private func reportDifference() {
        logger.error(
            "replicas of auth publish different signing keys",
            metadata: ["wayOut": "Give all of them one folder (auth.key-folder): each publishes only the keys of its own."]
        )
    }
}
