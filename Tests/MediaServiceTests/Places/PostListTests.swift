import Database
import Kernel
import MediaAPI
import MediaDomain
import TestSupport
import Testing

@testable import MediaPlaces

/// Lists of posts (PL-2): which posts, in which order, and page after page.
@Suite(.timeLimit(.minutes(5))) struct PostListTests {
    /// What a test knows of a post.
    private struct Pin {
        let id: PostID
        let position: Coordinate
        let author: UInt64
        let postedAt: Instant
        let score: Double
    }

    /// Posts in clumps, over the antimeridian and at the poles too.
    private func pins(_ world: PlaceWorld, _ count: UInt64, _ random: inout Seeded) async throws -> [Pin] {
        let clumps = [(52.5, 13.4), (-17.0, 179.99), (-17.0, -179.99), (89.9, 30), (-89.9, 0), (0, 0)]
        var pins: [Pin] = []
        for number in 1...count {
            let (latitude, longitude) = clumps[Int.random(in: 0..<clumps.count, using: &random)]
            let spread = [0.001, 0.1, 20][Int.random(in: 0..<3, using: &random)]
            let position = Coordinate(
                nearestLatitude: latitude + .random(in: -spread...spread, using: &random),
                longitude: longitude + .random(in: -spread...spread, using: &random)
            )
            let votes = (up: Int64.random(in: 0...30, using: &random), down: Int64.random(in: 0...10, using: &random))
            // Some of the same second.
            if Bool.random(using: &random) { world.clock.advance(by: .minutes(.random(in: 1...300, using: &random))) }
            let author = UInt64.random(in: 1...4, using: &random)
            let id = try await world.pin(number, by: author, at: position.latitude, position.longitude, votes: votes)
            let now = world.clock.now()
            pins.append(
                Pin(
                    id: id,
                    position: position,
                    author: author,
                    postedAt: now,
                    score: PostScore.value(up: votes.up, down: votes.down, received: now)
                )
            )
        }
        return pins
    }

    private func ranked(_ pins: [Pin]) -> [PostID] {
        pins.sorted { ($0.score, $0.id) > ($1.score, $1.id) }.map(\.id)
    }

    private func newest(_ pins: [Pin]) -> [PostID] {
        pins.sorted { ($0.postedAt, $0.id) > ($1.postedAt, $1.id) }.map(\.id)
    }

    /// Areas of every kind, and which positions are in them.
    private func areas(_ random: inout Seeded) throws -> [(ListPostsRequest, @Sendable (Coordinate) -> Bool)] {
        var areas: [(ListPostsRequest, @Sendable (Coordinate) -> Bool)] = [(ListPostsRequest(), { _ in true })]
        for (south, west, north, east) in [
            (52.4, 13.3, 52.6, 13.5), (-18, 179.9, -16, -179.9), (-90, -180, 90, 180), (89, -180, 90, 180), (-20, 170, 0, 180),
            (52.4999, 13.399, 52.5001, 13.401), (-90, 10, 90, -10),
        ] {
            let box = try GeoBox(south: south, west: west, north: north, east: east)
            areas.append((ListPostsRequest(bbox: "\(west),\(south),\(east),\(north)"), { box.contains($0) }))
            // The same places of a map that was moved around the earth.
            guard west > east || west == -180 else { continue }
            let end = west > east ? east + 360 : east
            areas.append((ListPostsRequest(bbox: "\(west - 720),\(south),\(end - 720),\(north)"), { box.contains($0) }))
        }
        for radius in [50.0, 5_000, 900_000] {
            let center = try [
                Coordinate(latitude: -17, longitude: 180), Coordinate(latitude: 89.95, longitude: -60),
                Coordinate(latitude: 52.5, longitude: 13.4),
            ][Int.random(in: 0..<3, using: &random)]
            areas.append(
                (
                    ListPostsRequest(lat: center.latitude, lon: center.longitude, radius: radius),
                    { $0.distance(to: center) <= radius }
                )
            )
        }
        for text in ["u33db", "u3", "s", "00"] {
            let cell = try Geohash(parsing: text, field: "geohash")
            areas.append((ListPostsRequest(geohash: text), { cell.contains($0) }))
        }
        return areas
    }

    /// Read whole or by cells, an area has the same posts in the same order as a plain model finds.
    @Test(arguments: TestDepth.seeds(quick: 3, full: 40))
    func `an area has the posts in it, best first or newest first, whatever it looks like`(seed: UInt64) async throws {
        try await PlaceWorld.with { world in
            var random = Seeded(seed)
            let pins = try await pins(world, 120, &random)
            for (request, contains) in try areas(&random) {
                let inside = pins.filter { contains($0.position) }
                for few in [0, 500] {
                    var request = request
                    request.limit = Int32.random(in: 3...60, using: &random)
                    #expect(try await world.all(request, few: few) == ranked(inside), "\(request) \(few)")
                    request.sort = "newest"
                    #expect(try await world.all(request, few: few) == newest(inside), "\(request) \(few)")
                    let middle = try #require(pins.randomElement(using: &random)).postedAt
                    request.since = middle
                    #expect(try await world.all(request, few: few) == newest(inside.filter { $0.postedAt > middle }))
                    request.author = PlaceWorld.user(2)
                    let theirs = inside.filter { $0.postedAt > middle && $0.author == 2 }
                    #expect(try await world.all(request, few: few) == newest(theirs))
                }
            }
        }
    }

    @Test(arguments: [0, 500]) func `hidden, removed, blocked and withheld posts are left out, for guests and users`(few: Int)
        async throws
    {
        try await PlaceWorld.with { world in
            var posts: [UInt64: PostID] = [:]
            for author in UInt64(1)...6 { posts[author] = try await world.pin(author, by: author, at: 10, 10) }
            let area = ListPostsRequest(bbox: "9,9,11,11")
            func authors(_ reader: UInt64?, _ request: ListPostsRequest? = nil) async throws -> Set<UInt64> {
                Set(try await world.all(request ?? area, for: reader, few: few).map(\.low))
            }
            #expect(try await authors(nil) == [1, 2, 3, 4, 5, 6])
            try await world.database.execute("UPDATE place_post SET is_hidden = true WHERE id = \(posts[1])")
            try await world.withhold(2)
            try await world.remove(try #require(posts[3]), by: 3)
            try await world.block(4, 50)
            try await world.block(50, 5)
            #expect(try await authors(nil) == [4, 5, 6], "no user blocks a guest")
            #expect(try await authors(50) == [6])
            #expect(try await authors(51) == [4, 5, 6])
            #expect(try await authors(1) == [4, 5, 6], "hidden from its author's map too")
            // Its cells are large, so that the posts lie in one inside it.
            let pages = ListPostsRequest(limit: 1, bbox: "-10,-10,30,30")
            #expect(try await authors(51, pages) == [4, 5, 6])
            #expect(try await authors(1, ListPostsRequest(mine: true)) == [1], "and listed among their own")
            #expect(try await authors(51, ListPostsRequest(author: PlaceWorld.user(1))) == [])
            #expect(try await authors(50, ListPostsRequest(author: PlaceWorld.user(4))) == [])
            for (author, post) in posts {
                let isSeen = [4, 5, 6].contains(author)
                #expect(try await (world.find(post, for: nil) != nil) == isSeen, "\(author)")
                #expect(try await (world.find(post, for: 50) != nil) == (author == 6), "\(author)")
            }
            #expect(try await world.find(try #require(posts[1]), for: 1)?.hidden == true)
            // Of a crowded area pages are read with the withheld ones, and anew when there are any.
            try await world.withhold(6)
            #expect(try await world.list(pages, for: 51, few: few).posts.map(\.id) == [posts[5]])
            #expect(try await authors(51, pages) == [4, 5])
            #expect(try await authors(nil, pages) == [4, 5])
        }
    }

    /// Between the pages votes are cast and counted, posts come and posts go: the list goes on as it was at its first page.
    @Test(arguments: TestDepth.seeds(quick: 4, full: 40), [0, 500])
    func `a list goes on as it was ranked at its first page`(seed: UInt64, few: Int) async throws {
        try await PlaceWorld.with { world in
            var random = Seeded(seed)
            let pins = try await pins(world, 40, &random)
            for sort in ["score", "newest"] {
                var request = ListPostsRequest(limit: 5, bbox: "-180,-90,180,90", sort: sort)
                let first = try await world.all(request, few: few)
                var (found, step) = ([PostID](), UInt64(0))
                var (removed, gone) = (Set<PostID>(), Set<PostID>())
                while true {
                    let page = try await world.list(request, few: few)
                    found += page.posts.map(\.id)
                    guard let cursor = page.meta?.nextCursor else { break }
                    request.cursor = cursor
                    step += 1
                    for voter in UInt64(10)...16 {
                        for _ in 0..<3 {
                            guard let pin = pins.randomElement(using: &random), !removed.contains(pin.id) else { continue }
                            try await world.vote(Bool.random(using: &random) ? .up : .down, on: pin.id, by: voter)
                        }
                    }
                    try await world.countVotes()
                    // A change counts from two seconds on: as if they had passed.
                    try await world.database.execute(
                        "UPDATE place_past_score SET until = until - interval '2 seconds' WHERE until > clock_timestamp()"
                    )
                    try await world.database.execute(
                        "UPDATE place_post SET scored_at = scored_at - interval '2 seconds' WHERE scored_at > clock_timestamp()"
                    )
                    world.clock.advance(by: .minutes(5))
                    try await world.pin(1_000 + step + (sort == "score" ? 0 : 500), at: 1, 1, votes: (up: 900, down: 0))
                    if sort == "newest", let pin = pins.last(where: { !removed.contains($0.id) }) {
                        try await world.remove(pin.id, by: pin.author)
                        removed.insert(pin.id)
                        if !found.contains(pin.id) { gone.insert(pin.id) }
                    }
                }
                #expect(Set(found).count == found.count, "none comes twice")
                #expect(found == first.filter { !gone.contains($0) })
            }
        }
    }

    @Test func `votes move a post in a list that begins after them`() async throws {
        try await PlaceWorld.with { world in
            let (one, two) = (try await world.pin(1, at: 1, 1), try await world.pin(2, at: 1, 1))
            #expect(try await world.all(ListPostsRequest()) == [two, one])
            for voter in UInt64(10)...14 { try await world.vote(.up, on: one, by: voter) }
            try await world.countVotes()
            for few in [0, 500] {
                try await eventually("it is ranked by its votes") {
                    let all = try await world.all(ListPostsRequest(), few: few)
                    let box = try await world.all(ListPostsRequest(bbox: "0,0,2,2"), few: few)
                    return all == [one, two] && box == [one, two]
                }
            }
        }
    }

    @Test func `a cursor is of its list and reader only`() async throws {
        try await PlaceWorld.with { world in
            for number in UInt64(1)...3 { try await world.pin(number, at: 1, 1) }
            let cursor = try #require(try await world.list(ListPostsRequest(limit: 1)).meta?.nextCursor)
            for (request, reader) in [
                (ListPostsRequest(cursor: cursor, sort: "newest"), UInt64?.some(99)), (ListPostsRequest(cursor: cursor), nil),
                (ListPostsRequest(cursor: cursor), 98), (ListPostsRequest(cursor: cursor, bbox: "0,0,2,2"), 99),
            ] {
                let error = await #expect(throws: ServiceError.self) { try await world.list(request, for: reader) }
                #expect(error?.details.map(\.field) == ["cursor"])
            }
            let guests = try #require(try await world.list(ListPostsRequest(limit: 1), for: nil).meta?.nextCursor)
            #expect(try await world.list(ListPostsRequest(cursor: guests, limit: 9), for: nil).posts.count == 2)
        }
    }

    @Test func `what makes no list is named`() async throws {
        try await PlaceWorld.with { world in
            for (request, fields) in [
                (ListPostsRequest(bbox: "1,2,3"), ["bbox"]), (ListPostsRequest(bbox: "0,9,1,8"), ["bbox"]),
                (ListPostsRequest(bbox: "0,0,nan,1"), ["bbox"]), (ListPostsRequest(lat: 1, lon: 2), ["radius"]),
                (ListPostsRequest(lat: 91, lon: 2, radius: -1), ["lat", "radius"]),
                (ListPostsRequest(radius: 5), ["lat", "lon"]),
                (ListPostsRequest(geohash: "ua"), ["geohash"]), (ListPostsRequest(geohash: ""), ["geohash"]),
                (ListPostsRequest(bbox: "0,0,1,1", geohash: "u"), ["bbox", "geohash"]),
                (ListPostsRequest(author: PlaceWorld.user(1), mine: true), ["author"]),
                (ListPostsRequest(bbox: "1,2,3", q: "!"), ["q", "bbox"]),
                (ListPostsRequest(bbox: "1,2,3", geohash: "u", q: "!"), ["bbox", "geohash", "q"]),
                (ListPostsRequest(lat: 91, lon: 2, radius: 1, q: "-"), ["q", "lat"]),
            ] {
                let error = await #expect(throws: ServiceError.self, "\(request)") { try await world.list(request) }
                #expect(error?.reason == "VALIDATION_ERROR" && error?.details.map(\.field) == fields, "\(request)")
            }
            let guest = await #expect(throws: ServiceError.self) { try await world.list(ListPostsRequest(mine: true), for: nil) }
            #expect(guest?.code == .unauthenticated)
        }
    }

    /// Read by cells, a page of a crowded area costs some entries of each index and no sort of everything.
    @Test func `cells cover an area, the finest that are few enough`() throws {
        var random = Seeded(11)
        for _ in 0..<300 {
            let (latitude, longitude) = (
                Double.random(in: -89...89, using: &random), Double.random(in: -180..<180, using: &random)
            )
            let side = [0.01, 0.3, 4, 60][Int.random(in: 0..<4, using: &random)]
            let box = GeoBox(around: try Coordinate(latitude: latitude, longitude: longitude), radius: side * 111_000)
            let ranges = PlaceKey.ranges(covering: box, most: 24)
            let cells = PostCells.covering(box, ranges, most: 24, levels: PostCells.levels(of: .score))
            #expect(cells.numbers.count <= 24 && Set(cells.numbers).count == cells.numbers.count)
            guard cells.level != .world else { continue }
            for range in ranges {
                for key in [range.lowerBound, range.upperBound, .random(in: range, using: &random)] {
                    #expect(cells.numbers.contains(key >> (64 - Int64(cells.level.rawValue))))
                }
            }
        }
    }
}
