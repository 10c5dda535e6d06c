import Database
import Kernel
import MediaAPI
import MediaDomain
import TestSupport
import Testing

@testable import MediaPlaces

extension PlaceWorld {
    var clusters: ClusterRepository { ClusterRepository(database: database) }

    /// What a map shows.
    func map(_ box: GeoBox, zoom: Double, for reader: UInt64? = 99, limit: Int = MapClusters.mostPosts) async throws
        -> ListClustersReply
    {
        let maps = limit == MapClusters.mostPosts ? maps : MapClusters(repository: clusters, limit: limit)
        let handler = ListClusters(maps: maps, lists: lists, views: views)
        let text = "\(box.west),\(box.south),\(box.east),\(box.north)"
        return try await handler.handle(
            ListClustersRequest(bbox: text, zoom: zoom),
            Self.context(reader.map(Self.user))
        )
    }

    /// Adds every post to its tiles.
    func countTiles() async throws { while try await clusters.countTiles(most: 50) > 0 {} }
}
