internal import Kernel
internal import Runtime

/// Which replicas are what they say they are (D23): their service has signed their version and descriptor with its deployment key. Rounds of
/// answers in, those that count out; no I/O.
struct ReplicaCheck: Sendable {
    /// At most one report in this time: who is refused may answer under a new name each time.
    private static let pause = Duration.seconds(60)
    /// Most names in a report.
    private static let mostNames = 8

    private let keys: ServicePublicKeys
    /// What was found good in the last round.
    private var known: Set<ServiceInstance> = []
    private var reportedAt: ContinuousClock.Instant?
    /// Names under which replicas were refused in the last round, and how many replicas.
    private(set) var refused: (names: [String], count: Int) = ([], 0)

    /// - Parameter keys: those of all services; none: nothing is checked.
    init(keys: ServicePublicKeys) { self.keys = keys }

    /// One round.
    ///
    /// - Returns: the replicas that count.
    mutating func admit(_ instances: [ServiceInstance]) -> [ServiceInstance] {
        guard !keys.isEmpty else { return instances }
        var (good, names, count): ([ServiceInstance], Set<String>, Int) = ([], [], 0)
        for instance in instances {
            if isGenuine(instance) {
                good.append(instance)
            } else {
                names.insert(ServiceName.isValid(instance.name) ? instance.name : "unknown")
                count += 1
            }
        }
        known = Set(good.map(\.signed))
        refused = (Array(names.sorted().prefix(Self.mostNames)), count)
        return good
    }

    /// The names to report now; nil while nothing is refused, or when it was reported lately.
    mutating func report(at now: ContinuousClock.Instant) -> [String]? {
        guard refused.count > 0, reportedAt.map({ now - $0 >= Self.pause }) ?? true else { return nil }
        reportedAt = now
        return refused.names
    }

    private func isGenuine(_ instance: ServiceInstance) -> Bool {
        guard let signature = instance.metadata[ServiceStatement.descriptorField] else { return false }
        // A verification takes a tenth of a millisecond, and most replicas are those of the round before.
        if known.contains(instance.signed) { return true }
        let statement = ServiceStatement.descriptor(
            service: instance.name,
            version: instance.version,
            sha256: instance.descriptor ?? ""
        )
        return keys.verify(signature, of: statement, by: instance.name)
    }
}

extension ServiceInstance {
    /// What a signature is about, and the signature: the rest may change from round to round.
    fileprivate var signed: ServiceInstance {
        let metadata = metadata.filter { $0.key == "descriptor" || $0.key == ServiceStatement.descriptorField }
        return ServiceInstance(name: name, id: "", version: version, metadata: metadata)
    }
}
