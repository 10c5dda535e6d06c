internal import ServiceRuntime

/// Adds up what connections that have ended noted of changes to areas, so that an area has few rows (PL-4).
struct EndedConnections: Sendable {
    let clusters: ClusterRepository

    var job: Job { Job("ended_connections", every: .seconds(60)) { [clusters] _ in try await clusters.addUpEndedConnections() } }
}
