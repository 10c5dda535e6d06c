internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaDomain

/// What a map shows of a box (PL-4), for guests too.
struct ListClusters: QueryHandler {
    /// Singles that carry their posts.
    private static let mostPosts = PostListStatement.most

    let maps: MapClusters
    let lists: PostListRepository
    let views: PostViews

    func handle(_ request: ListClustersRequest, _ context: CallContext) async throws -> ListClustersReply {
        let box = try GeoBox(parsing: request.bbox, field: "bbox")
        let zoom = request.zoom ?? 11
        guard (0...24).contains(zoom) else { throw ServiceError.validation(field: "zoom", "must be between 0 and 24") }
        let reader = context.reader
        switch try await maps.find(in: box, zoom: zoom, for: reader) {
        case .tiles(let circles): return ListClustersReply(clusters: circles.map(Cluster.init), form: "tiles")
        case .clusters(let shown):
            let best = try await posts(of: shown, in: box, zoom: zoom, for: reader)
            let posts = Dictionary(
                try await views.views(best, for: reader, context).map { ($0.id, $0) },
                uniquingKeysWith: { first, _ in first }
            )
            return ListClustersReply(
                clusters: shown.map { Cluster($0, post: $0.kind == .single ? posts[$0.members[0]] : nil) },
                form: "clusters"
            )
        }
    }
}

extension ListClusters {
    func problems(of request: ListClustersRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try GeoBox(parsing: request.bbox, field: "bbox") }
    }

    /// The singles' posts, those with the best scores.
    private func posts(of shown: [PlaceCluster], in box: GeoBox, zoom: Double, for reader: UserID?) async throws -> [ShownPost] {
        // Every post of the box is a single.
        if MapDetail(zoom: zoom) == .pins {
            let search = PostSearch(bestOf: box)
            return try await lists.posts(search, for: reader, after: nil, limit: Self.mostPosts).map(\.post)
        }
        let singles = shown.filter { $0.kind == .single }.flatMap(\.members)
        return singles.isEmpty ? [] : try await lists.best(of: singles, for: reader, limit: Self.mostPosts)
    }
}

extension Cluster {
    fileprivate init(_ cluster: PlaceCluster, post: Post?) {
        self.init(
            id: cluster.id,
            kind: cluster.kind.rawValue,
            center: GeoPoint(cluster.center),
            radius: cluster.radius,
            count: Int64(cluster.count),
            members: cluster.members,
            post: post
        )
    }

    fileprivate init(_ circle: TileCircle) {
        self.init(id: circle.id, kind: "tile", center: GeoPoint(circle.center), radius: circle.radius, count: circle.count)
    }
}

extension GeoPoint {
    fileprivate init(_ point: Coordinate) { self.init(latitude: point.latitude, longitude: point.longitude) }
}
