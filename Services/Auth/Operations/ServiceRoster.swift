internal import Bus
internal import FoundationEssentials
internal import Kernel

/// Which services there are: those of the product, and others that answer `$SRV.STATS` (ADR-32).
struct ServiceRoster: Sendable {
    /// Those that are shown also while none of their replicas answers.
    static let product = ["auth", "billing", "media", "notifications", "social", "streaks"]
    /// How long replicas have to answer.
    private static let timeout = Interval.milliseconds(500)
    /// Most replicas that are read.
    private static let most = 1_000

    let bus: BusConnection

    /// The replicas that answer, by service. A service of the product that is away has none.
    func replicas() async throws -> [String: [ServiceStatistics]] {
        let replies = try await bus.scatter("$SRV.STATS", for: Self.timeout, atMost: Self.most)
        let decoder = JSONDecoder()
        let found = replies.compactMap { try? decoder.decode(ServiceStatistics.self, from: Data($0.body)) }
        var services = Dictionary(uniqueKeysWithValues: Self.product.map { ($0, [ServiceStatistics]()) })
        for replica in found where ServiceName.isValid(replica.name) { services[replica.name, default: []].append(replica) }
        return services
    }

    /// Whether there is such a service.
    func knows(_ service: String) async throws -> Bool {
        guard ServiceName.isValid(service) else { return false }
        if Self.product.contains(service) { return true }
        return try await replicas()[service] != nil
    }
}

/// What one replica says of itself in answer to `$SRV.STATS`.
struct ServiceStatistics: Decodable, Sendable {
    struct Endpoint: Decodable, Sendable {
        var requests: Int64?
        var errors: Int64?
        /// In nanoseconds.
        var processingTime: Int64?

        enum CodingKeys: String, CodingKey {
            case requests = "num_requests"
            case errors = "num_errors"
            case processingTime = "processing_time"
        }
    }

    let name: String
    let id: String
    let version: String
    var started: String?
    var metadata: [String: String]?
    var endpoints: [Endpoint]?

    /// Whether requests can be sent to this replica alone: its id is the name that it has on `inst.…`.
    var takesOwnRequests: Bool {
        id.utf8.count == 16 && id.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    var startedAt: Instant? { started.flatMap { Instant(rfc3339: $0) } }

    /// The sum over all endpoints. Replicas of other teams may say anything: what is no count is none.
    func sum(_ number: (Endpoint) -> Int64?) -> Int64 {
        (endpoints ?? []).prefix(10_000).reduce(0) { sum, endpoint in sum + min(max(number(endpoint) ?? 0, 0), 1 << 48) }
    }
}
