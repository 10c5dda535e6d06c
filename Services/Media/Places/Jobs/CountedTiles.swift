internal import ServiceRuntime

/// Adds posts that came into view or went out of it to the tiles of world views (PL-4). A tile with many new posts is written once a second, not
/// once for each.
struct CountedTiles: Sendable {
    private static let batch = 5_000
    /// With fewer changes the next run can wait.
    private static let many = 200
    let clusters: ClusterRepository

    var job: Job {
        Job("counted_tiles", every: .seconds(1)) { [clusters] _ in
            let counted = try await clusters.countTiles(most: Self.batch)
            return counted < Self.many ? 0 : counted
        }
    }
}
