/// Whether all processes have the same values of the settings that must be alike. Rounds of what they say in, what to report out; no I/O.
struct SettingAgreement: Sendable {
    /// Longer than a new value takes to reach all replicas of an installation that is restarted one by one.
    static let limit = Duration.seconds(120)
    /// What the metadata of a replica begins with that says such a value's fingerprint.
    static let prefix = "setting "

    /// A setting of which there are several values.
    struct Difference: Sendable, Equatable {
        let setting: String
        /// Who has which, by fingerprint: the gateway that asks, and services with the ids of their replicas.
        let holders: [String: [String]]
    }

    /// The fingerprints of the gateway that asks, by setting.
    private let own: [String: String]
    private var since: [String: ContinuousClock.Instant] = [:]
    private var reported: Set<String> = []

    init(own: [String: String]) { self.own = own }

    /// One round.
    ///
    /// - Returns: what has differed for so long that it is no change under way, once as long as it lasts.
    mutating func look(_ instances: [ServiceInstance], at now: ContinuousClock.Instant) -> [Difference] {
        var holders: [String: [String: [String]]] = own.mapValues { [$0: ["gateway"]] }
        for instance in instances {
            for (key, fingerprint) in instance.metadata where key.hasPrefix(Self.prefix) {
                let name = "\(instance.name) \(instance.id)"
                holders[String(key.dropFirst(Self.prefix.count)), default: [:]][fingerprint, default: []].append(name)
            }
        }
        let differing = holders.filter { $0.value.count > 1 }
        since = since.filter { differing[$0.key] != nil }
        reported.formIntersection(differing.keys)
        return differing.sorted { $0.key < $1.key }.compactMap { setting, holders in
            let began = since[setting] ?? now
            since[setting] = began
            guard now - began >= Self.limit, reported.insert(setting).inserted else { return nil }
            return Difference(setting: setting, holders: holders)
        }
    }
}
