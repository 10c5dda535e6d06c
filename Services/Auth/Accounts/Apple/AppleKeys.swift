internal import AuthDomain
internal import Kernel
internal import Logging
internal import OutgoingHTTP
internal import Tokens

/// Apple's public keys, kept by `kid` and asked for again when a token names one that is not known (AU-5).
actor AppleKeys {
    private let url: String
    private let http: OutgoingHTTP
    private let clock: any Clock
    private let logger: Logger
    private var freshness = KeySetFreshness()
    private var keys: RSAKeySet?
    private var fetching: Task<Void, Never>?

    init(url: String, http: OutgoingHTTP, clock: any Clock, logger: Logger) {
        self.url = url
        self.http = http
        self.clock = clock
        self.logger = logger
    }

    /// The claims of a token that Apple has signed; nil for any other.
    ///
    /// - Throws: `UNAVAILABLE` while there are no keys to decide with.
    func claims(of token: String) async throws -> [UInt8]? {
        guard let kid = RSAKeySet.keyID(of: token) else { return nil }
        switch freshness.decide(isKnown: keys?.keyIDs.contains(kid) ?? false, now: clock.now()) {
        case .use: break
        case .fetch: await fetch()
        case .wait(let interval): throw Self.unavailable(interval)
        }
        guard let keys else { throw Self.unavailable(KeySetFreshness.afterFailure) }
        return keys.claims(of: token)
    }

    /// Those who come while keys are being asked for wait for the same answer.
    private func fetch() async {
        if let fetching { return await fetching.value }
        let task = Task { await self.load() }
        fetching = task
        await task.value
        fetching = nil
    }

    private func load() async {
        do {
            let reply = try await http.send(.init("GET", url, timeout: .seconds(5), mostBytes: 256 << 10))
            guard reply.status == 200 else { throw OutgoingHTTP.Failure.unreachable("status \(reply.status)") }
            keys = try RSAKeySet(jwks: reply.body)
            freshness.succeeded(now: clock.now())
        } catch {
            freshness.failed(now: clock.now())
            logger.warning("Apple's keys were not fetched", metadata: ["error": "\(error)"])
        }
    }

    private static func unavailable(_ interval: Interval) -> ServiceError {
        ServiceError(
            .unavailable,
            "UNAVAILABLE",
            "Apple's keys cannot be had right now.",
            retryAfter: max(1, Int(interval.seconds) + 1)
        )
    }
}
