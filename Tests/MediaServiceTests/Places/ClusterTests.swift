import Database
import Kernel
import MediaAPI
import MediaDomain
import PlaceModel
import Synchronization
import TestSupport
import Testing

@testable import MediaPlaces

/// What maps show (PL-4): clusters that panning does not change, and tiles.
@Suite(.timeLimit(.minutes(5))) struct ClusterTests {
    /// Where posts lie that clustering goes wrong with: long chains, clumps whose circles overlap, the antimeridian, a pole, single spots.
    private static func positions(_ random: inout Seeded) -> [Coordinate] {
        let starts = [(52.5, 13.4), (-17, 179.99), (89.99, 30), (0, 0), (-55, -180)]
        let (latitude, longitude) = starts[Int.random(in: 0..<starts.count, using: &random)]
        let start = Coordinate(nearestLatitude: latitude, longitude: longitude)
        func near(_ point: Coordinate, _ metres: Double) -> Coordinate {
            let north = Double.random(in: -metres...metres, using: &random) / 111_195
            let width = max(0.0002, Functions.cosine(point.latitude * .pi / 180))
            let east = Double.random(in: -metres...metres, using: &random) / 111_195 / width
            return Coordinate(nearestLatitude: point.latitude + north, longitude: point.longitude + east)
        }
        let clumps = (0..<9).map { _ in near(start, 16_000) }
        var all = clumps.flatMap { clump in (0..<8).map { _ in near(clump, 700) } }
        // A chain of 40 links of 1.9 km to the north or south, with a gap or two.
        let step = (start.latitude > 0 ? -1 : 1) * 1_900.0 / 111_195
        for link in 0..<40 where !random.chance(3) {
            all.append(Coordinate(nearestLatitude: start.latitude + step * Double(link), longitude: start.longitude + 0.3))
        }
        all += (0..<10).map { _ in near(start, 90_000) }
        return all + all.prefix(5)
    }

    private func pins(_ world: PlaceWorld, _ random: inout Seeded) async throws -> [(pin: PlacePin, author: UInt64)] {
        let posts = Self.positions(&random).enumerated().map { index, position in
            (number: UInt64(index + 1), position: position, author: UInt64.random(in: 1...5, using: &random))
        }
        // Eight at once: posts of new cells wait for each other, and connect the same patches.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<8 {
                group.addTask {
                    for post in posts where post.number % 8 == lane {
                        try await world.pin(post.number, by: post.author, at: post.position.latitude, post.position.longitude)
                    }
                }
            }
            try await group.waitForAll()
        }
        return posts.map { (PlacePin(id: PlaceWorld.post($0.number), position: $0.position), $0.author) }
    }

    private func expect(_ reply: ListClustersReply, _ expected: [String: SlowClusters.Group], _ note: String) {
        #expect(reply.form == "clusters")
        #expect(Set(reply.clusters.map(\.id)) == Set(expected.keys) && reply.clusters.count == expected.count, "\(note)")
        for cluster in reply.clusters {
            guard let group = expected[cluster.id], let center = cluster.center else { continue }
            #expect(cluster.kind == group.kind && cluster.members == group.members, "\(note)")
            #expect(cluster.count == Int64(group.members.count) && abs(cluster.radius - group.radius) < 1e-6, "\(note)")
            #expect(abs(center.latitude - group.center.latitude) < 1e-9, "\(note)")
            #expect((cluster.kind == "single") == (cluster.post != nil), "\(note)")
            if let post = cluster.post { #expect([post.id] == cluster.members) }
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 4, full: 60))
    func `panning and zooming show the clusters of all posts on earth that the reader may see`(seed: UInt64) async throws {
        try await PlaceWorld.with { world in
            var random = Seeded(seed &* 17 &+ 3)
            let posts = try await pins(world, &random)
            try await world.block(99, 2)
            try await world.block(3, 98)
            let hidden = Set(posts.filter { _ in random.chance(5) }.map(\.pin.id))
            try await world.database.execute("UPDATE place_post SET is_hidden = true WHERE id = ANY(\(Array(hidden)))")
            if seed % 2 == 1 { try await world.withhold(4) }
            for (reader, unseen) in [(UInt64?.none, UInt64(0)), (99, 2), (98, 3)] {
                let visible = posts.filter { post in
                    post.author != unseen && !hidden.contains(post.pin.id) && !(seed % 2 == 1 && post.author == 4)
                }
                .map(\.pin)
                for _ in 0..<12 {
                    let middle = random.pick(posts).pin.position
                    let side = random.pick([100.0, 3_000, 20_000, 200_000])
                    let far = Coordinate(
                        nearestLatitude: middle.latitude + Double.random(in: -0.2...0.2, using: &random),
                        longitude: middle.longitude
                    )
                    let box = GeoBox(around: random.chance(50) ? middle : far, radius: side)
                    for zoom in [5, 9.5, 12] {
                        let expected = SlowClusters.shown(visible, in: box, zoom: zoom)
                        expect(try await world.map(box, zoom: zoom, for: reader), expected, "\(seed) \(box) \(zoom)")
                    }
                }
            }
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 4, full: 60))
    func `a map shows what is there at that moment, whatever was seen before`(seed: UInt64) async throws {
        try await PlaceWorld.with { world in
            var random = Seeded(seed &* 31 &+ 5)
            var posts = try await pins(world, &random)
            var (hidden, withheld, unseen) = (Set<PostID>(), Set<UInt64>(), Set<UInt64>())
            for step in 0..<40 {
                let post = random.pick(posts)
                switch Int.random(in: 0..<7, using: &random) {
                case 0:
                    let number = UInt64(1_000 + step)
                    let place = post.pin.position
                    let position = Coordinate(nearestLatitude: place.latitude + 0.004, longitude: place.longitude + 0.004)
                    try await world.pin(number, by: post.author, at: position.latitude, position.longitude)
                    posts.append((PlacePin(id: PlaceWorld.post(number), position: position), post.author))
                case 1, 2:
                    let isHidden = hidden.remove(post.pin.id) == nil
                    if isHidden { hidden.insert(post.pin.id) }
                    try await world.database.execute(
                        "UPDATE place_post SET is_hidden = \(isHidden) WHERE id = \(post.pin.id)"
                    )
                case 3:
                    try await world.database.execute("UPDATE place_post SET state = 3 WHERE id = \(post.pin.id)")
                    posts.removeAll { $0.pin == post.pin }
                case 4:
                    try await world.database.execute("DELETE FROM place_post WHERE id = \(post.pin.id)")
                    posts.removeAll { $0.pin == post.pin }
                case 5:
                    if withheld.remove(post.author) == nil {
                        withheld.insert(post.author)
                        try await world.withhold(post.author)
                    } else {
                        let author = PlaceWorld.user(post.author)
                        try await world.database.execute("UPDATE photo_owner SET is_withheld = false WHERE user_id = \(author)")
                    }
                default:
                    if unseen.insert(post.author).inserted { try await world.block(99, post.author) }
                    // The next map is read by connections that have not noted anything.
                    _ = try await world.clusters.addUpEndedConnections()
                }
                let shown = posts.filter { !hidden.contains($0.pin.id) && !withheld.contains($0.author) }
                let box = GeoBox(around: post.pin.position, radius: random.pick([3_000.0, 20_000, 200_000]))
                let zoom = random.pick([5, 9.5, 12])
                for (reader, pins) in [
                    (UInt64?.none, shown.map(\.pin)), (99, shown.filter { !unseen.contains($0.author) }.map(\.pin)),
                ] {
                    let expected = SlowClusters.shown(pins, in: box, zoom: zoom)
                    expect(try await world.map(box, zoom: zoom, for: reader), expected, "\(seed), step \(step)")
                }
            }
        }
    }

    @Test func `what connections noted that have ended is added up, and nothing of it is lost`() async throws {
        try await PlaceWorld.with { world in
            var random = Seeded(3)
            let posts = try await pins(world, &random)
            let box = GeoBox(around: posts[0].pin.position, radius: 20_000)
            func changes() async throws -> [MapPatch] {
                try await world.clusters.patches(reaching: [box], for: nil).patches.sorted { $0.id < $1.id }
            }
            let noted = try await changes()
            #expect(noted.contains { ($0.changes ?? 0) > 0 })
            // No process has these numbers.
            try await world.database.execute("UPDATE place_area_change SET connection = -connection")
            #expect(try await world.clusters.addUpEndedConnections() > 0)
            #expect(try await world.count("place_area_change WHERE connection <> 0") == 0)
            #expect(try await changes() == noted)
            try await world.pin(1_000, by: 1, at: posts[0].pin.position.latitude, posts[0].pin.position.longitude)
            #expect(try await changes() != noted)
            let rows = try await world.count("place_area_change")
            _ = try await world.clusters.addUpEndedConnections()
            #expect(try await world.count("place_area_change") == rows, "those of living connections stay")
        }
    }

    @Test func `patches are kept up to a number of posts, those that were used last`() async throws {
        let loads = Mutex(0)
        let known = KnownMapPosts(capacity: 40)
        func ask(_ id: Int64, changes: Int64? = 1, count: Int? = 5, server: Instant = .epoch) async throws -> Int? {
            try await known.posts(of: [MapPatch(id: id, changes: changes, server: server)]) {
                loads.withLock { $0 += 1 }
                return count.map { count in
                    MapPosts(
                        (0..<count).map { number in
                            let pin = PlacePin(
                                id: PlaceWorld.post(UInt64(number)),
                                position: Coordinate(nearestLatitude: 0, longitude: 0)
                            )
                            return MapPost(pin: pin, author: PlaceWorld.user(1))
                        }
                    )
                }
            }?.posts.count
        }
        for _ in 0..<3 { #expect(try await ask(1) == 5) }
        #expect(loads.withLock { $0 } == 1)
        #expect(try await ask(1, changes: 2, count: 6) == 6, "it has changed")
        #expect(try await ask(2, count: nil) == nil)
        #expect(try await ask(2, count: nil) == nil)
        #expect(loads.withLock { $0 } == 3, "that there are too many is kept too")
        #expect(try await ask(3, changes: nil) == 5)
        #expect(try await ask(3, changes: nil) == 5)
        #expect(loads.withLock { $0 } == 5, "what is not watched is read each time")
        // 1 has a size of 16 and 2 of 10: with 4 there is no room for both.
        _ = try await ask(1, changes: 2)
        _ = try await ask(4)
        #expect(loads.withLock { $0 } == 6)
        _ = try await ask(1, changes: 2)
        #expect(loads.withLock { $0 } == 6)
        _ = try await ask(2, count: nil)
        #expect(loads.withLock { $0 } == 7)
        #expect(try await ask(5, count: 100) == 100)
        #expect(try await ask(5, count: 100) == 100)
        #expect(loads.withLock { $0 } == 9, "larger than all that is kept")
        _ = try await ask(1, changes: 2)
        #expect(loads.withLock { $0 } == 9)
        _ = try await ask(1, changes: 2, server: .epoch + .days(1))
        #expect(loads.withLock { $0 } == 10, "another server counts anew")
    }

    @Test func `others see a coarse post where its cell is, and a map has no exact position`() async throws {
        try await PlaceWorld.with { world in
            let request = CreatePostRequest(
                photo: .init(key: "incoming/x", sha256: "1"),
                latitude: 52.51631,
                longitude: 13.37771,
                precision: "1km"
            )
            let draft = try PostDraft(request, id: PlaceWorld.post(1), user: PlaceWorld.user(1), receivedAt: world.clock.now())
            try #require(try await world.posts.claim(draft, until: .epoch + .days(40_000)))
            try await world.database.transaction { sql in
                try #require(try await PostRepository.show(draft.id, RenderedPost(), sql))
            }
            let reply = try await world.map(try GeoBox(south: 52, west: 13, north: 53, east: 14), zoom: 12, for: 1)
            let center = try #require(reply.clusters.first?.center)
            #expect(center.latitude == draft.position.latitude && center.longitude == draft.position.longitude)
            #expect(center.latitude != 52.51631 && reply.clusters.first?.post?.city == "Berlin")
        }
    }

    @Test func `more posts than are looked at make tiles, with what the reader may see`() async throws {
        try await PlaceWorld.with { world in
            var random = Seeded(7)
            let posts = try await pins(world, &random)
            try await world.countTiles()
            try await world.block(99, 2)
            func expectTiles(_ unseen: (UInt64) -> Bool, for reader: UInt64?, without gone: Set<PostID> = []) async throws {
                let visible = posts.filter { !unseen($0.author) && !gone.contains($0.pin.id) }.map(\.pin)
                for zoom in [0, 3.0, 7, 12] {
                    let box = zoom < 5 ? GeoBox.world : GeoBox(around: posts[0].pin.position, radius: 30_000)
                    let reply = try await world.map(box, zoom: zoom, for: reader, limit: 20)
                    #expect(reply.form == "tiles")
                    let level = ClusterTiles.level(zoom: zoom, box: box)
                    let query = ClusterTiles.query(level: level, box: box)
                    let sums = visible.map { (tile: ClusterTile($0.position, level: level), sum: TileSum($0.position)) }
                    let finer = query.level - level
                    let expected = ClusterTiles.circles(sums, level: level).filter { circle in
                        query.y.contains(circle.tile.y << finer) && query.x.contains { $0.contains(circle.tile.x << finer) }
                    }
                    #expect(Set(reply.clusters.map(\.id)) == Set(expected.map(\.id)), "\(zoom)")
                    let counts = Dictionary(reply.clusters.map { ($0.id, $0.count) }, uniquingKeysWith: +)
                    for circle in expected { #expect(counts[circle.id] == circle.count) }
                    #expect(reply.clusters.allSatisfy { $0.kind == "tile" && $0.members.isEmpty })
                }
            }
            try await expectTiles({ _ in false }, for: nil)
            try await expectTiles({ $0 == 2 }, for: 99)
            // Hidden, removed, of a suspended author: taken out, and back again.
            let gone = Set(posts.prefix(9).map(\.pin.id))
            try await world.database.execute(
                """
                UPDATE place_post SET is_hidden = id <> \(posts[0].pin.id), state = CASE id WHEN \(posts[0].pin.id) THEN 3 ELSE 1 END
                WHERE id = ANY(\(Array(gone)))
                """
            )
            try await world.withhold(3)
            try await world.countTiles()
            try await expectTiles({ $0 == 3 }, for: nil, without: gone)
            try await world.database.execute("UPDATE photo_owner SET is_withheld = false")
            try await world.database.execute("UPDATE place_post SET is_hidden = false WHERE is_hidden")
            try await world.countTiles()
            try await expectTiles({ _ in false }, for: nil, without: [posts[0].pin.id])
            try await world.database.execute("DELETE FROM place_post")
            try await world.countTiles()
            #expect(try await world.map(.world, zoom: 2, limit: 20).clusters.isEmpty)
            #expect(try await world.count("place_tile WHERE (posts, sum_x, sum_y, sum_z) <> (0, 0, 0, 0)") == 0)
        }
    }

    @Test func `a map that was moved around the earth shows the same clusters, and a wide one the world`() async throws {
        try await PlaceWorld.with { world in
            let places = [
                (52.5, 13.4), (52.501, 13.401), (52.502, 13.4), (52.5, 13.402), (52.9, 13.9), (-17.0, 179.99), (-17.0, -179.99),
            ]
            for (number, place) in places.enumerated() { try await world.pin(UInt64(number + 1), by: 1, at: place.0, place.1) }
            let handler = ListClusters(maps: world.maps, lists: world.lists, views: world.views)
            func ids(_ box: String, _ zoom: Double) async throws -> Set<String> {
                let request = ListClustersRequest(bbox: box, zoom: zoom)
                return Set(try await handler.handle(request, PlaceWorld.context(nil)).clusters.map(\.id))
            }
            let berlin = try await ids("13,52,14,53", 12)
            #expect(!berlin.isEmpty)
            for moved in ["373,52,374,53", "-347,52,-346,53"] { #expect(try await ids(moved, 12) == berlin, "\(moved)") }
            let fiji = try await ids("179,-18,-179,-16", 12)
            #expect(!fiji.isEmpty)
            for moved in ["179,-18,181,-16", "-181,-18,-179,-16"] { #expect(try await ids(moved, 12) == fiji, "\(moved)") }
            let everywhere = try await ids("-180,-85,180,85", 9)
            #expect(everywhere.count > 1)
            for wide in ["-300,-85,300,85", "0,-85,360,85"] { #expect(try await ids(wide, 9) == everywhere, "\(wide)") }
        }
    }

    @Test func `a map needs a box and a zoom that exist`() async throws {
        try await PlaceWorld.with { world in
            let handler = ListClusters(maps: world.maps, lists: world.lists, views: world.views)
            for (request, field) in [
                (ListClustersRequest(bbox: "1,2,3"), "bbox"), (ListClustersRequest(bbox: "0,0,1,1", zoom: -1), "zoom"),
                (ListClustersRequest(bbox: "0,0,1,1", zoom: .nan), "zoom"),
                (ListClustersRequest(bbox: "0,0,1,1", zoom: 25), "zoom"),
            ] {
                let error = await #expect(throws: ServiceError.self) {
                    try await handler.handle(request, PlaceWorld.context(nil))
                }
                #expect(error?.details.map(\.field) == [field])
            }
        }
    }
}
