internal import Database
internal import Kernel
internal import MediaDomain

/// Posts of a map as clusters need them (PL-4): whole patches of them, and the sums of tiles.
struct ClusterRepository: Sendable {
    let database: Database

    /// Patches, and authors whom the reader does not see.
    struct Found: Sendable {
        let patches: [MapPatch]
        let unseen: Set<UserID>
    }

    /// Patches whose circles may come into one of these boxes, each once.
    ///
    /// - Parameter reader: whose unseen authors are read with them; nil: none are.
    func patches(reaching boxes: [GeoBox], for reader: UserID?) async throws -> Found {
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
        // Changes are added up for patches of at most 8 × 8 areas, that is 300 × 160 km.
        let patches: Query = """
            SELECT p.id, CASE WHEN p.columns <= 512 AND p.north - p.south < 256 THEN (
                SELECT coalesce(sum(noted.changes), 0)::bigint FROM generate_series(p.south >> 5, p.north >> 5) AS row (y),
                    unnest(ARRAY[0, 1024]) AS turn (x) CROSS JOIN LATERAL (SELECT changes FROM place_area_change WHERE y = row.y
                    AND x BETWEEN (p.west >> 6) - turn.x AND ((p.west + p.columns - 1) >> 6) - turn.x) AS noted
            ) END, pg_postmaster_start_time() FROM (
                SELECT DISTINCT f.id, f.south, f.north, f.west, f.columns
                FROM unnest(\(low.map(\.x)), \(low.map(\.y)), \(high.map(\.x)), \(high.map(\.y))) AS a (x, y, x2, y2)
                CROSS JOIN LATERAL (SELECT * FROM place_patch WHERE area && box(point(a.x, a.y), point(a.x2, a.y2)) OFFSET 0) AS f
            ) AS p
            """
        let rows = try await database.query(
            together: [patches] + (reader.map { [PostListStatement.authors(unseenBy: $0)] } ?? [])
        )
        return Found(
            patches: try rows[0].map { MapPatch(id: try $0.get(at: 0), changes: try $0.get(at: 1), server: try $0.get(at: 2)) },
            unseen: Set(try rows.dropFirst().first?.map { try $0.decode(as: UserID.self) } ?? [])
        )
    }

    private struct PlacePoint {
        let x: Double
        let y: Double
    }

    /// The posts of patches as guests see them.
    ///
    /// Cell after cell by the index of keys: the inner limit keeps the planner from joining all posts to all cells, which it does while there are
    /// few of them or its statistics are old.
    ///
    /// - Parameter limit: posts at most.
    func posts(ofPatches patches: [Int64], limit: Int) async throws -> [MapPost] {
        let statement = PostListStatement(search: .everything, reader: nil, place: nil)
        return try await database.query(
            """
            SELECT p.id, p.latitude, p.longitude, p.user_id FROM place_cell c CROSS JOIN LATERAL (
                SELECT p.id, p.latitude, p.longitude, p.user_id FROM place_post p
                WHERE p.place_key BETWEEN c.cell << 33 AND (c.cell << 33) + 8589934591 AND p.state = 1 AND NOT p.is_hidden
                    AND \(statement.isListed) LIMIT \(limit)
            ) AS p WHERE c.patch = ANY(\(patches)) LIMIT \(limit)
            """
        ).map { row in
            let (id, latitude, longitude, author) = try row.decode(as: (PostID.self, Double.self, Double.self, UserID.self))
            let position = Coordinate(nearestLatitude: latitude, longitude: longitude)
            return MapPost(pin: PlacePin(id: id, position: position), author: author)
        }
    }

    /// Adds up what connections have noted that have ended since. - Returns: their rows.
    func addUpEndedConnections() async throws -> Int {
        try await database.execute(
            """
            WITH ended AS (DELETE FROM place_area_change c WHERE connection <> 0
                AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = c.connection) RETURNING y, x, changes)
            INSERT INTO place_area_change AS known (y, x, connection, changes)
            SELECT y, x, 0, sum(changes) FROM ended GROUP BY y, x ORDER BY y, x
            ON CONFLICT (y, x, connection) DO UPDATE SET changes = known.changes + EXCLUDED.changes
            """
        )
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
