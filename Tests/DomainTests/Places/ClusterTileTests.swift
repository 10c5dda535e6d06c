import Kernel
import MediaDomain
import TestSupport
import Testing

struct ClusterTileTests {
    /// What a store of tiles would hold.
    private static func stored(_ points: [Coordinate]) -> [ClusterTile: TileSum] {
        var sums: [ClusterTile: TileSum] = [:]
        for point in points {
            for tile in ClusterTile.stored(point) { sums[tile, default: .none] = sums[tile, default: .none] + TileSum(point) }
        }
        return sums
    }

    private static func circles(_ sums: [ClusterTile: TileSum], box: GeoBox, level: Int) -> [TileCircle] {
        let query = ClusterTiles.query(level: level, box: box)
        let read = sums.filter { tile, _ in
            tile.level == query.level && query.y.contains(tile.y) && query.x.contains { $0.contains(tile.x) }
        }
        return ClusterTiles.circles(read.map { (tile: $0.key, sum: $0.value) }, level: level)
    }

    @Test func `tiles halve the earth in both directions, level by level`() {
        var random = Seeded(61)
        for _ in 0..<2_000 {
            let point = random.place()
            let finest = ClusterTile(point, level: ClusterTile.finest)
            for level in 0...ClusterTile.finest {
                let tile = ClusterTile(point, level: level)
                #expect(tile.box.contains(point))
                #expect(tile == finest.ancestor(level: level))
                #expect(abs(tile.box.width - 180 / Double(1 << level)) < 1e-9 && abs(tile.box.height - tile.box.width) < 1e-9)
                #expect(ClusterTile(level: level, x: tile.x, y: tile.y) == tile)
            }
            #expect(ClusterTile.stored(point).map(\.level) == ClusterTile.storedLevels)
        }
        #expect(ClusterTile(level: 2, x: 8, y: 0) == nil && ClusterTile(level: 13, x: 0, y: 0) == nil)
        #expect(ClusterTile(level: 2, x: 0, y: -1) == nil && ClusterTile(level: -1, x: 0, y: 0) == nil)
        #expect(ClusterTile(place(0, 0), level: -3).level == 0 && ClusterTile(place(0, 0), level: 40).level == 12)
    }

    @Test func `sums are exact: posts come and go in any order`() {
        var random = Seeded(62)
        let points = (0..<500).map { _ in random.place() }
        let sum = points.reduce(TileSum.none) { $0 + TileSum($1) }
        let added = points.shuffled(using: &random).reduce(TileSum.none) { $0 + TileSum($1) }
        #expect(sum == added && sum.count == 500)
        #expect(points.shuffled(using: &random).reduce(sum) { $0 - TileSum($1) } == .none)
    }

    @Test func `a box reads whole tiles, and their circles have every post once`() {
        var random = Seeded(63)
        let points = (0..<3_000).map { _ in random.chance(50) ? random.place() : random.place(near: place(0, 180), within: 90_000)
        }
        let sums = Self.stored(points)
        for _ in 0..<150 {
            let box = random.box()
            let level = ClusterTiles.level(zoom: random.number(0...9), box: box)
            let circles = Self.circles(sums, box: box, level: level)
            #expect(circles.allSatisfy { $0.tile.level == level })
            for circle in circles {
                #expect(circle.count == Int64(points.count { ClusterTile($0, level: level) == circle.tile }))
            }
            let shown = Set(circles.map(\.tile))
            for point in points where box.contains(point) { #expect(shown.contains(ClusterTile(point, level: level)), "\(box)") }
            #expect(shown.allSatisfy { $0.box.intersects(box) })
        }
    }

    @Test func `a reply is bounded by the box and zoom, and so is what is read`() {
        var random = Seeded(64)
        let boxes = (0..<3_000).map { _ in random.box() } + [.world]
        for box in boxes {
            let zoom = random.pick([-1, 0, 3.5, 7, 12, 22, .infinity, .nan])
            let level = ClusterTiles.level(zoom: zoom, box: box)
            let query = ClusterTiles.query(level: level, box: box)
            #expect((1...ClusterTile.finest).contains(level))
            #expect(query.level >= level && query.count <= 4 * ClusterTiles.most)
            // Neither are they much coarser than needed: a map on a desktop has tiles of 64 pixels.
            if zoom == 7, box.width < 28, box.height < 15 { #expect(level == 8) }
        }
    }

    @Test func `panning changes no circle, and new posts change no id`() {
        var random = Seeded(65)
        let points = (0..<4_000).map { _ in random.place(near: place(random.pick([-40, 0, 50]), 179), within: 1_500_000) }
        let sums = Self.stored(points)
        var overlapping = 0
        for _ in 0..<60 {
            let (width, height) = (random.number(1...60), random.number(1...30))
            let zoom = random.number(3...9)
            let center = place(random.number(-50...50), random.number(170...190))
            let (one, other) = (
                Seeded.box(center, width: width, height: height),
                Seeded.box(place(center.latitude, center.longitude + width * 0.37), width: width, height: height)
            )
            let level = ClusterTiles.level(zoom: zoom, box: one)
            #expect(ClusterTiles.level(zoom: zoom, box: other) == level)
            let (left, right) = (Self.circles(sums, box: one, level: level), Self.circles(sums, box: other, level: level))
            // What both show is the same, to the last bit.
            for circle in left {
                guard let same = right.first(where: { $0.id == circle.id }) else {
                    #expect(!circle.tile.box.intersects(other))
                    continue
                }
                #expect(same == circle)
                overlapping += 1
            }
            let more = Self.stored(points + points.map { $0.moved(1, bearing: 10) })
            let ids = Set(Self.circles(more, box: one, level: level).map(\.id))
            #expect(ids.isSuperset(of: left.map(\.id)))
        }
        #expect(overlapping > 200)
    }

    @Test func `centre and radius are those of the posts`() throws {
        var random = Seeded(66)
        let spot = place(12.345, 67.89)
        let one = ClusterTiles.circles([(ClusterTile(spot, level: 8), TileSum(spot))], level: 5)
        #expect(one.count == 1 && one[0].radius == 0 && one[0].center.distance(to: spot) < 0.1)
        #expect(one[0].tile == ClusterTile(spot, level: 5))
        for center in [spot, place(89.9, 0), place(-45, 180)] {
            let points = (0..<2_000).map { _ in random.place(near: center, within: 100_000) }
            let sum = points.reduce(TileSum.none) { $0 + TileSum($1) }
            let tile = ClusterTile(center, level: 0)
            let circle = ClusterTiles.circles([(tile, sum)], level: 0)[0]
            #expect(circle.center.distance(to: center) < 5_000)
            let inside = points.count { $0.distance(to: circle.center) <= circle.radius }
            // Spread evenly over a disc, the root mean square is the radius divided by √2.
            #expect(inside == points.count && abs(circle.radius - 200 - 141_421) < 4_000)
        }
        // Opposite posts have no centre; the tile's is as good.
        let poles = TileSum(place(90, 0)) + TileSum(place(-90, 0))
        let earth = try #require(ClusterTile(level: 0, x: 0, y: 0))
        #expect(ClusterTiles.circles([(earth, poles)], level: 0)[0].radius <= Earth.halfway)
        #expect(ClusterTiles.circles([(earth, .none)], level: 0).isEmpty)
    }
}
