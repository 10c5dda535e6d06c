internal import Database
internal import Kernel
internal import MediaDomain

/// Posts of a map as clusters need them (PL-4): whole patches of them, and the sums of tiles.
struct ClusterRepository: Sendable {
    let database: Database

    /// Patches whose circles may come into one of these boxes.
    func patches(reaching boxes: [GeoBox]) async throws -> Set<Int64> {
        var (low, high): ([PlacePoint], [PlacePoint]) = ([], [])
        for box in boxes {
            for reach in PlaceArea.reaches {
                for area in PlaceArea.areas(around: box, reach: reach) {
                    let floor = 100_000 * reach
                    low.append(PlacePoint(x: Double(area.x.lowerBound), y: Double(area.y.lowerBound + floor)))
                    high.append(PlacePoint(x: Double(area.x.upperBound), y: Double(area.y.upperBound + floor)))
                }
            }
        }
        let rows = try await database.query(
            """
            SELECT DISTINCT p.id FROM unnest(\(low.map(\.x)), \(low.map(\.y)), \(high.map(\.x)), \(high.map(\.y))) AS a (x, y, x2, y2)
            CROSS JOIN LATERAL (SELECT id FROM place_patch WHERE area && box(point(a.x, a.y), point(a.x2, a.y2))) AS p
            """
        )
        return Set(try rows.map { try $0.decode(as: Int64.self) })
    }

    private struct PlacePoint {
        let x: Double
        let y: Double
    }

    /// The posts of patches that a reader may see.
    ///
    /// Cell after cell by the index of keys: the inner limit keeps the planner from joining all posts to all cells, which it does while there are
    /// few of them or its statistics are old.
    ///
    /// - Parameter limit: posts at most.
    func pins(ofPatches patches: Set<Int64>, for reader: UserID?, limit: Int) async throws -> [PlacePin] {
        let statement = PostListStatement(search: .everything, reader: reader, place: nil)
        return try await database.query(
            """
            \(statement.unseenAuthors) SELECT p.id, p.latitude, p.longitude FROM place_cell c CROSS JOIN LATERAL (
                SELECT p.id, p.latitude, p.longitude FROM place_post p
                WHERE p.place_key BETWEEN c.cell << 33 AND (c.cell << 33) + 8589934591 AND p.state = 1 AND NOT p.is_hidden
                    AND \(statement.isListed) LIMIT \(limit)
            ) AS p WHERE c.patch = ANY(\(Array(patches))) LIMIT \(limit)
            """
        ).map { row in
            let (id, latitude, longitude) = try row.decode(as: (PostID.self, Double.self, Double.self))
            return PlacePin(id: id, position: Coordinate(nearestLatitude: latitude, longitude: longitude))
        }
    }

    /// The sums of tiles, as guests may see their posts.
    func tiles(_ query: ClusterTiles.Query) async throws -> [(tile: ClusterTile, sum: TileSum)] {
        try await database.query(
            """
            SELECT t.x, t.y, t.posts, t.sum_x, t.sum_y, t.sum_z
            FROM generate_series(\(Int64(query.y.lowerBound)), \(Int64(query.y.upperBound))) AS row (y),
                unnest(\(query.x.map { Int32($0.lowerBound) }), \(query.x.map { Int32($0.upperBound) })) AS columns (low, high)
                CROSS JOIN LATERAL (SELECT * FROM place_tile WHERE level = \(Int16(query.level)) AND y = row.y::integer
                    AND x BETWEEN columns.low AND columns.high) AS t
            """
        ).compactMap { row in
            let tile = ClusterTile(level: query.level, x: try row.get("x"), y: try row.get("y"))
            let posts: Int64 = try row.get("posts")
            let sum = TileSum(count: posts, x: try row.get("sum_x"), y: try row.get("sum_y"), z: try row.get("sum_z"))
            return tile.map { ($0, sum) }
        }
    }

    /// Where posts lie that guests may see and this reader may not: of authors whom the reader blocks or is blocked by.
    func unseen(by reader: UserID, in box: GeoBox) async throws -> [Coordinate] {
        var search = PostSearch.everything
        search.box = box
        // As a guest sees them.
        let guest = PostListStatement(search: search, reader: nil, place: nil)
        let unseen = PostListStatement(search: search, reader: reader, place: nil)
        return try await database.query(
            """
            \(unseen.unseenAuthors) SELECT p.latitude, p.longitude FROM place_post p
            WHERE p.user_id = ANY ((SELECT authors FROM unseen)::uuid[]) AND p.state = 1 AND NOT p.is_hidden AND \(guest.isListed)
            """
        ).map { row in
            let (latitude, longitude) = try row.decode(as: (Double.self, Double.self))
            return Coordinate(nearestLatitude: latitude, longitude: longitude)
        }
    }

    /// Adds changes to the sums of their tiles, oldest first. - Returns: how many.
    func countTiles(most: Int) async throws -> Int {
        try await database.transaction { sql in
            let changes = try await sql.query(
                """
                DELETE FROM place_tile_change WHERE id IN
                    (SELECT id FROM place_tile_change ORDER BY id LIMIT \(most) FOR UPDATE SKIP LOCKED)
                RETURNING latitude, longitude, change
                """
            ).map { try $0.decode(as: (Double.self, Double.self, Int16.self)) }
            guard !changes.isEmpty else { return 0 }
            var sums: [ClusterTile: TileSum] = [:]
            for (latitude, longitude, change) in changes {
                let position = Coordinate(nearestLatitude: latitude, longitude: longitude)
                let post = TileSum(position)
                for tile in ClusterTile.stored(position) {
                    let sum = sums[tile, default: .none]
                    sums[tile] = change > 0 ? sum + post : sum - post
                }
            }
            // In one order, so that two replicas do not wait for each other in a circle.
            let tiles = sums.sorted { $0.key < $1.key }
            _ = try await sql.execute(
                """
                INSERT INTO place_tile AS known (level, y, x, posts, sum_x, sum_y, sum_z)
                SELECT * FROM unnest(\(tiles.map { Int16($0.key.level) }), \(tiles.map { Int32($0.key.y) }),
                    \(tiles.map { Int32($0.key.x) }), \(tiles.map(\.value.count)), \(tiles.map(\.value.x)),
                    \(tiles.map(\.value.y)), \(tiles.map(\.value.z)))
                ON CONFLICT (level, y, x) DO UPDATE SET posts = known.posts + EXCLUDED.posts, sum_x = known.sum_x + EXCLUDED.sum_x,
                    sum_y = known.sum_y + EXCLUDED.sum_y, sum_z = known.sum_z + EXCLUDED.sum_z
                """
            )
            return changes.count
        }
    }
}
