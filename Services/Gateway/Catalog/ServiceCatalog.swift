internal import Bus
private import Cryptography
internal import FoundationEssentials
internal import Kernel
internal import Logging
internal import Runtime
private import Synchronization
internal import Transcoding

/// Which services are on the bus and which routes they bring (D2).
///
/// Asks `$SRV.PING` again and again. A descriptor whose hash is new is requested from the replicas that have it; the routes are the union over
/// all live replicas, so that while two versions run both are served.
final class ServiceCatalog: Sendable {
    private struct State {
        var live: LiveInstances
        var agreement: SettingAgreement
        var check: ReplicaCheck
        var answeredAt: [String: ContinuousClock.Instant] = [:]
        /// Instances that said lately that their database is away or full, and when; by id.
        var withoutDatabase: [String: (service: String, at: ContinuousClock.Instant)] = [:]
        /// Services of which every live replica honours idempotency keys.
        var honouringKeys: Set<String> = []
        /// By hash: those that the routes come from.
        var descriptors: [String: DescriptorSet] = [:]
        var installed: [LiveInstances.Offer] = []
        /// How often that has changed.
        var generation = 0
        /// Routes that services asked for and do not get.
        var refused: [String: [RouteRefusal]] = [:]
        /// Those that were logged.
        var refusals: Set<RouteRefusal> = []
        var isReady = false
    }

    /// Most descriptors that are requested in one round.
    private static let mostAtOnce = 64

    let routes: RouteTable
    /// Services that every installation has, `gateway.services`.
    let expected: [String]
    private let bus: BusConnection
    private let logger: Logger
    private let cache: DescriptorCache?
    private let state: Mutex<State>
    private let checksDescriptors: Bool

    /// - Parameters:
    ///   - expected: services that are waited for, and whose routes stay while they are away; the first to declare a path has it.
    ///   - rules: what no descriptor decides.
    ///   - keys: of all services; without any, replicas are believed.
    ///   - cache: of this and other gateways of the process.
    ///   - fingerprints: of the settings that this process must have like all others.
    init(
        bus: BusConnection,
        expected: [String],
        logger: Logger,
        rules: RouteRules = RouteRules(),
        keys: ServicePublicKeys = .none,
        cache: DescriptorCache? = nil,
        fingerprints: [String: String] = [:]
    ) {
        self.cache = cache
        self.bus = bus
        self.expected = expected
        self.logger = logger
        routes = RouteTable(rules: rules)
        checksDescriptors = !keys.isEmpty
        let live = LiveInstances(expected: expected)
        let agreement = SettingAgreement(own: fingerprints)
        self.state = Mutex(State(live: live, agreement: agreement, check: ReplicaCheck(keys: keys)))
    }

    /// Whether a first round of discovery has been completed: the routes of every replica that answered are installed.
    var isReady: Bool { state.withLock { $0.isReady } }

    /// Services that have answered lately.
    var answering: Set<String> {
        let limit = ContinuousClock.now.advanced(by: .seconds(-5))
        return state.withLock { state in Set(state.answeredAt.filter { $0.value > limit }.keys) }
    }

    /// Services of which an instance said lately that its database is away or full.
    var withoutDatabase: Set<String> {
        let limit = ContinuousClock.now.advanced(by: .seconds(-5))
        return state.withLock { state in Set(state.withoutDatabase.values.filter { $0.at > limit }.map(\.service)) }
    }

    /// Whether every live replica of a service makes a change once for each idempotency key. Only then a change may be sent again.
    func honoursKeys(_ service: String) -> Bool { state.withLock { $0.honouringKeys.contains(service) } }

    /// The live replicas of all services, with their metadata.
    var instances: [ServiceInstance] { state.withLock { $0.live.instances } }

    /// Whether the routes of all these services are installed; an expected service that went away stays known.
    func knows(_ services: Set<String>) -> Bool {
        state.withLock { services.isSubset(of: $0.installed.map(\.service)) }
    }

    /// Replicas that answered the last question without their service's signature.
    var refusedReplicas: Int { state.withLock { $0.check.refused.count } }

    /// Routes that services declare and do not get.
    var refusedRoutes: Int { state.withLock { $0.refused.values.reduce(0) { $0 + $1.count } } }

    /// Shows what is refused on a page of metrics.
    func show(in metrics: Metrics) {
        metrics.measured(
            "streaksnap_gateway_refused_replicas",
            help: "Replicas that answered the last discovery without a signature of their service."
        ) { [weak self] in self.map { Double($0.refusedReplicas) } }
        metrics.measured(
            "streaksnap_gateway_refused_routes",
            help: "Routes that services declare and do not get."
        ) { [weak self] in self.map { Double($0.refusedRoutes) } }
        metrics.measured(
            "streaksnap_gateway_checks_descriptors",
            help: "1 where service.public-keys is set, else 0."
        ) { [weak self] in self.map { $0.checksDescriptors ? 1 : 0 } }
    }

    /// The services of both, by name; a few of them when there are many.
    var refused: [String] {
        state.withLock { state in
            Set(state.check.refused.names).union(state.refused.filter { !$0.value.isEmpty }.keys).sorted()
        }
    }

    /// How often the routes have changed.
    var generation: Int { state.withLock { $0.generation } }

    /// Makes the OpenAPI page of all routes, which takes long.
    ///
    /// - Parameters:
    ///   - developmentClock: whether this gateway has the routes of the development clock.
    ///   - today: the day around which dates in examples lie.
    func openAPI(developmentClock: Bool, today: CalendarDate) -> [UInt8] {
        OpenAPI.document(
            routes.routes,
            title: "StreakSnap",
            version: "v1",
            developmentClock: developmentClock,
            today: today
        )
    }

    /// Asks until cancelled: often while a service is missing, every two seconds after that.
    func run() async {
        while !Task.isCancelled {
            let isComplete = answering.isSuperset(of: expected)
            // A busy replica gets the time to answer, unless one that has not been found at all is waited for.
            await look(for: isComplete ? .seconds(1) : .milliseconds(250))
            let isWell = withoutDatabase.isEmpty
            try? await Task.sleep(for: !isComplete ? .milliseconds(100) : isWell ? .seconds(1) : .milliseconds(500))
        }
    }

    /// One round of discovery.
    ///
    /// - Parameter interval: how long answers are awaited.
    func look(for interval: Interval = .milliseconds(250)) async {
        // Replicas are not gone because the broker is.
        guard bus.isConnected, let replies = try? await bus.scatter("$SRV.PING", for: interval, atMost: 1_000), bus.isConnected
        else { return }
        let answers = replies.compactMap { try? JSONDecoder().decode(ServiceInstance.self, from: Data($0.body)) }
        let (offers, differences, strangers) = state.withLock { state in
            let now = ContinuousClock.now
            let instances = state.check.admit(answers)
            state.live.answered(instances, at: now)
            for instance in instances {
                state.answeredAt[instance.name] = now
                state.withoutDatabase[instance.id] = instance.metadata["database"] == "unavailable" ? (instance.name, now) : nil
            }
            state.honouringKeys = state.live.servicesHonouringKeys
            return (state.live.offers, state.agreement.look(state.live.instances, at: now), state.check.report(at: now))
        }
        if let strangers {
            logger.error(
                "replicas were refused: no key of their service (service.public-keys) has signed their version and descriptor",
                metadata: ["services": "\(strangers.joined(separator: ", "))"]
            )
        }
        for difference in differences {
            let holders = difference.holders.values.map { $0.sorted().joined(separator: ", ") }.sorted()
            logger.error(
                "a setting that must be the same everywhere differs",
                metadata: ["setting": "\(difference.setting)", "holders": "\(holders.joined(separator: " / "))"]
            )
        }
        await fetch(offers)
        install(offers)
        state.withLock { $0.isReady = true }
    }

    /// Requests the descriptors that are not known yet.
    private func fetch(_ offers: [LiveInstances.Offer]) async {
        let known = state.withLock { Set($0.descriptors.keys) }
        let missing = offers.flatMap { offer in
            offer.descriptors.filter { !known.contains($0) }.map { (service: offer.service, hash: $0) }
        }
        await withTaskGroup(of: Void.self) { group in
            for (service, hash) in missing.prefix(Self.mostAtOnce) {
                group.addTask { await self.fetch(hash, of: service) }
            }
        }
    }

    private func fetch(_ hash: String, of service: String) async {
        if let known = cache?[hash] { return state.withLock { $0.descriptors[hash] = known } }
        do {
            let reply = try await bus.callRaw(
                subject: Endpoint.descriptorSubject(service: service, sha256: hash),
                body: [],
                context: CallContext(deadline: SystemClock.now() + .seconds(2)),
                idempotent: true
            )
            let bytes = try DescriptorReply(reply).set
            guard SHA256.hash(data: bytes).elementsEqual(try Self.bytes(ofHash: hash)) else {
                return logger.error(
                    "a descriptor does not have its hash",
                    metadata: ["service": "\(service)", "hash": "\(hash)"]
                )
            }
            let set = try DescriptorSet(serialized: bytes)
            cache?.keep(set, hash: hash)
            state.withLock { $0.descriptors[hash] = set }
        } catch {
            logger.warning("a descriptor was not received", metadata: ["service": "\(service)", "error": "\(error)"])
        }
    }

    private static func bytes(ofHash hash: String) throws(ServiceError) -> [UInt8] {
        let digits = hash.utf8.map { $0 < 58 ? $0 - 48 : $0 - 87 }
        guard digits.count == 64, digits.allSatisfy({ $0 < 16 }) else { throw .internal }
        return stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Serves the routes of these descriptors, as far as they are known.
    private func install(_ offers: [LiveInstances.Offer]) {
        let wanted = Set(offers.flatMap(\.descriptors))
        let (before, descriptors) = state.withLock { state in
            state.descriptors = state.descriptors.filter { wanted.contains($0.key) }
            return (state.installed, state.descriptors)
        }
        let known = offers.compactMap { offer -> LiveInstances.Offer? in
            let known = offer.descriptors.filter { descriptors[$0] != nil }
            return known.isEmpty ? nil : .init(service: offer.service, descriptors: known)
        }
        guard known != before else { return }
        // While a gateway starts, the order decides, not who answered first.
        let refusals = routes.replace(
            with: known.map { offer in
                RouteTable.Service(name: offer.service, sets: offer.descriptors.compactMap { descriptors[$0] })
            },
            keepsPaths: Set(before.map(\.service)).isSuperset(of: expected)
        )
        state.withLock { state in
            state.refused = refusals
            state.installed = known
            state.generation += 1
        }
        report(refusals, before, known)
    }

    /// Logs what has changed.
    private func report(_ refusals: [String: [RouteRefusal]], _ before: [LiveInstances.Offer], _ now: [LiveInstances.Offer]) {
        for offer in now where !before.contains(offer) {
            logger.info("routes taken up", metadata: ["service": "\(offer.service)", "versions": "\(offer.descriptors.count)"])
        }
        for offer in before where !now.contains(where: { $0.service == offer.service }) {
            logger.info("routes removed", metadata: ["service": "\(offer.service)"])
        }
        for (service, refusals) in refusals {
            for refusal in refusals where state.withLock({ $0.refusals.insert(refusal).inserted }) {
                logger.error("a route was refused", metadata: ["service": "\(service)", "refusal": "\(refusal)"])
            }
        }
    }
}
