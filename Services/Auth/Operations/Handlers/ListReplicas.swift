internal import AuthAPI
internal import Bus
internal import Kernel

/// Every service with the replicas that answer.
struct ListReplicas: QueryHandler {
    let roster: ServiceRoster

    func handle(_: ListReplicasRequest, _ context: CallContext) async throws -> ListReplicasReply {
        _ = try context.requireAdmin()
        let services = try await roster.replicas()
        return ListReplicasReply(
            services: services.sorted { $0.key < $1.key }.map { service, found in
                let replicas = found.map(Self.replica).sorted {
                    ($0.startedAt ?? .epoch, $0.instance) > ($1.startedAt ?? .epoch, $1.instance)
                }
                return ServiceReplicas(service: service, replicas: replicas)
            }
        )
    }

    private static func replica(_ said: ServiceStatistics) -> Replica {
        let requests = said.sum(\.requests)
        let features = said.metadata?["features"]?.split(separator: ",").map(String.init) ?? []
        return Replica(
            instance: said.id,
            version: said.version,
            startedAt: said.startedAt,
            requests: requests,
            errors: said.sum(\.errors),
            meanMicroseconds: requests == 0 ? 0 : said.sum(\.processingTime) / requests / 1_000,
            features: features,
            isWithoutDatabase: said.metadata?["database"] == "unavailable"
        )
    }
}
