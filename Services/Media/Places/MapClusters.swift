internal import Kernel
internal import MediaDomain

/// Finds what a map shows of a box (PL-4).
struct MapClusters: Sendable {
    /// Posts that are looked at for one map at most. Beyond it has the form of tiles.
    static let mostPosts = 100_000
    /// Clusters and pins of a map at most.
    static let mostShown = 5_000
    /// Posts of patches that are kept: some 30 MB.
    static let mostKept = 100_000
    /// A box that needs tiles of this level or a coarser one is asked how many posts it has before any is read.
    private static let coarse = 9

    /// What a map shows.
    enum Found: Sendable {
        case clusters([PlaceCluster])
        /// More than could be looked at or shown.
        case tiles([TileCircle])
    }

    let repository: ClusterRepository
    /// As `mostPosts`; tests want fewer.
    let limit: Int
    private let known = KnownMapPosts(capacity: mostKept)

    init(repository: ClusterRepository, limit: Int = mostPosts) { (self.repository, self.limit) = (repository, limit) }

    /// What a reader sees of a box at a zoom.
    ///
    /// - Parameter reader: nil for a guest.
    func find(in box: GeoBox, zoom: Double, for reader: UserID?) async throws -> Found {
        let level = ClusterTiles.level(zoom: zoom, box: box)
        if level <= Self.coarse {
            let query = ClusterTiles.query(level: level, box: box)
            let count = try await repository.tiles(query).reduce(0) { $0 + $1.sum.count }
            if count > limit { return .tiles(try await tiles(in: box, level: level, for: reader)) }
        }
        guard let clusters = try await clusters(touching: box, for: reader) else {
            return .tiles(try await tiles(in: box, level: level, for: reader))
        }
        let shown = clusters.shown(MapDetail(zoom: zoom), in: box)
        guard shown.count <= Self.mostShown else { return .tiles(try await tiles(in: box, level: level, for: reader)) }
        return .clusters(shown)
    }

    /// The clusters that touch a box, and others; nil when there are too many posts.
    ///
    /// First the patches whose circles may come into the box, then those whose circles may come into a circle that touches it, until there
    /// are no more: a chain of neighbours is read whole or not at all.
    private func clusters(touching box: GeoBox, for reader: UserID?) async throws -> PlaceClusters? {
        var clusters = PlaceClusters([])
        var (known, patches, unseen) = (MapPosts([]), [MapPatch](), Set<UserID>())
        var searched: [GeoBox] = []
        var boxes = [box]
        while !boxes.isEmpty {
            let found = try await repository.patches(reaching: boxes, for: searched.isEmpty ? reader : nil)
            unseen.formUnion(found.unseen)
            searched += boxes
            let more = found.patches.filter { patch in !patches.contains { $0.id == patch.id } }
            guard !more.isEmpty else { break }
            patches = (patches + more).sorted { $0.id < $1.id }
            let loaded = try await self.known.posts(of: patches) { [repository, limit, known] in
                let room = limit - known.posts.count
                let posts = try await repository.posts(ofPatches: more.map(\.id), limit: room + 1)
                return posts.count > room ? nil : MapPosts(known.posts + posts)
            }
            guard let loaded else { return nil }
            known = loaded
            clusters = known.clusters(without: unseen)
            // What reaches into a part of a box reaches into the box.
            boxes = clusters.circles(touching: box).filter { circle in !searched.contains { $0.contains(circle) } }
        }
        return clusters
    }

    private func tiles(in box: GeoBox, level: Int, for reader: UserID?) async throws -> [TileCircle] {
        let query = ClusterTiles.query(level: level, box: box)
        var sums = Dictionary(try await repository.tiles(query).map { ($0.tile, $0.sum) }, uniquingKeysWith: +)
        if let reader {
            // The tiles at the edges have posts outside the box.
            let area = sums.keys.reduce(box) { $0.union($1.box) }
            for position in try await repository.unseen(by: reader, in: area) {
                let tile = ClusterTile(position, level: query.level)
                if let sum = sums[tile] { sums[tile] = sum - TileSum(position) }
            }
        }
        return ClusterTiles.circles(sums.map { ($0.key, $0.value) }, level: level)
    }
}
