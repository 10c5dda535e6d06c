/// Which replicas are live, and from which descriptors the routes of each service come (D2). Rounds of answers in, offers out; no I/O.
///
/// Gateways that find the same replicas have the same offers, whatever the order in which they found them.
struct LiveInstances: Sendable {
    /// A replica is gone after this many rounds without an answer …
    static let silentRounds = 3
    /// … that took at least this long: while a service is missing, rounds follow each other quickly.
    static let leastSilence = Duration.seconds(5)

    /// The descriptors from which a service's routes come.
    struct Offer: Sendable, Equatable {
        /// The service's name.
        let service: String
        /// Hashes of descriptors: of the highest version first, then by hash.
        let descriptors: [String]
    }

    private struct Key: Hashable {
        let name: String
        let id: String
    }

    private struct Entry {
        var instance: ServiceInstance
        var answeredAt: ContinuousClock.Instant
        var silentRounds = 0
    }

    private let expected: [String]
    private var entries: [Key: Entry] = [:]
    private var offered: [String: [String]] = [:]

    /// - Parameter expected: services that every installation has, in the order of their precedence. Their routes stay while no replica is
    ///   live, and answer `UNAVAILABLE`; those of others go with their last replica.
    init(expected: [String]) { self.expected = expected }

    /// All answers to one round of discovery.
    mutating func answered(_ instances: [ServiceInstance], at now: ContinuousClock.Instant) {
        for key in entries.keys { entries[key]?.silentRounds += 1 }
        for instance in instances {
            entries[Key(name: instance.name, id: instance.id)] = Entry(instance: instance, answeredAt: now)
        }
        entries = entries.filter { _, entry in
            entry.silentRounds < Self.silentRounds || now - entry.answeredAt < Self.leastSilence
        }
        offered = offered.filter { expected.contains($0.key) }
        for (name, instances) in Dictionary(grouping: entries.values.map(\.instance), by: \.name) {
            let descriptors = Self.ordered(instances)
            if !descriptors.isEmpty { offered[name] = descriptors }
        }
    }

    private static func ordered(_ instances: [ServiceInstance]) -> [String] {
        var versions: [String: SemanticVersion] = [:]
        for instance in instances {
            guard let hash = instance.descriptor else { continue }
            let version = SemanticVersion(instance.version)
            versions[hash] = max(version, versions[hash] ?? version)
        }
        return versions.sorted { ($1.value, $1.key) < ($0.value, $0.key) }.map(\.key)
    }

    /// The live replicas, by service and id.
    var instances: [ServiceInstance] {
        entries.values.map(\.instance).sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    }

    /// The services of which every live replica makes a change once for each idempotency key.
    var servicesHonouringKeys: Set<String> {
        let services = Dictionary(grouping: entries.values.map(\.instance), by: \.name)
        return Set(services.filter { $0.value.allSatisfy(\.honoursKeys) }.keys)
    }

    /// What services offer: the expected ones in their order, then others by name.
    var offers: [Offer] {
        let others = offered.keys.filter { !expected.contains($0) }.sorted()
        return (expected + others).compactMap { name in
            offered[name].map { Offer(service: name, descriptors: $0) }
        }
    }
}
