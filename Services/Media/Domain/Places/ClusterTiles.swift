import Kernel

/// A cell of the fixed grid that world views count posts in (PL-4): 2^level rows of equal latitude from −90, and twice as many columns of
/// equal longitude from −180, so that a tile is as wide as high in degrees. It is divided into four of the next level.
public struct ClusterTile: Hashable, Comparable, Sendable {
    /// 0 for a hemisphere, west or east.
    public let level: Int
    /// The column, 0 at the antimeridian, eastwards.
    public let x: Int
    /// The row, 0 at the south pole, northwards.
    public let y: Int

    /// The finest level: cells of 0.044°, about 5 km.
    public static let finest = 12

    /// Levels that a store holds sums for. Others are added up from the next finer one of these: four tiles for one.
    public static let storedLevels = [2, 4, 6, 8, 10, 12]

    /// The tile of a level that has a point.
    public init(_ point: Coordinate, level: Int) {
        let level = min(max(level, 0), Self.finest)
        self.level = level
        x = Int(Axis.longitude.index(of: point.longitude)) >> (31 - level)
        y = Int(Axis.latitude.index(of: point.latitude)) >> (32 - level)
    }

    /// A tile from its place in the grid; nil when there is none.
    public init?(level: Int, x: Int, y: Int) {
        guard (0...Self.finest).contains(level), (0..<2 << level).contains(x), (0..<1 << level).contains(y) else { return nil }
        (self.level, self.x, self.y) = (level, x, y)
    }

    private init(parent child: ClusterTile, level: Int) {
        self.level = level
        x = child.x >> (child.level - level)
        y = child.y >> (child.level - level)
    }

    /// The tile of a coarser level that this one is a part of; itself for a finer level.
    public func ancestor(level: Int) -> ClusterTile {
        level < self.level ? ClusterTile(parent: self, level: max(0, level)) : self
    }

    /// The tiles of every stored level that a post counts in.
    public static func stored(_ point: Coordinate) -> [ClusterTile] { storedLevels.map { ClusterTile(point, level: $0) } }

    /// The edges.
    public var box: GeoBox {
        let step: UInt64 = 1 << UInt64(32 - level)
        let (left, bottom) = (UInt64(x) * step / 2, UInt64(y) * step)
        let edges = (
            south: Axis.latitude.edge(bottom), west: Axis.longitude.edge(left),
            north: Axis.latitude.edge(bottom + step), east: Axis.longitude.edge(left + step / 2)
        )
        return (try? GeoBox(south: edges.south, west: edges.west, north: edges.north, east: edges.east)) ?? .world
    }

    public static func < (left: ClusterTile, right: ClusterTile) -> Bool {
        (left.level, left.y, left.x) < (right.level, right.y, right.x)
    }
}

/// How many posts a tile has, and the sum of their positions: all that a world view needs.
///
/// The sum is of points of the unit sphere, in whole 2⁻³²: adding and removing posts in any order gives the same sum, without rounding. It
/// holds two thousand million posts.
public struct TileSum: Hashable, Sendable {
    /// How many posts.
    public private(set) var count: Int64
    /// The sums of the coordinates in space, times 2³².
    public private(set) var x: Int64
    public private(set) var y: Int64
    public private(set) var z: Int64

    /// No posts.
    public static let none = TileSum(count: 0, x: 0, y: 0, z: 0)

    /// A sum that was stored.
    public init(count: Int64, x: Int64, y: Int64, z: Int64) {
        (self.count, self.x, self.y, self.z) = (count, x, y, z)
    }

    /// One post.
    public init(_ position: Coordinate) {
        let vector = UnitVector(position)
        func part(_ value: Double) -> Int64 { Int64((value * Self.unit).rounded()) }
        self.init(count: 1, x: part(vector.x), y: part(vector.y), z: part(vector.z))
    }

    /// All posts of both.
    public static func + (left: TileSum, right: TileSum) -> TileSum {
        TileSum(count: left.count &+ right.count, x: left.x &+ right.x, y: left.y &+ right.y, z: left.z &+ right.z)
    }

    /// The posts of the first without those of the second, which are among them.
    public static func - (left: TileSum, right: TileSum) -> TileSum {
        TileSum(count: left.count &- right.count, x: left.x &- right.x, y: left.y &- right.y, z: left.z &- right.z)
    }

    private static let unit = 4_294_967_296.0

    /// The mean position in space, inside the sphere; its length is 1 when all are at one spot.
    var mean: UnitVector {
        let scale = Self.unit * Double(max(1, count))
        return UnitVector(x: Double(x) / scale, y: Double(y) / scale, z: Double(z) / scale)
    }
}

/// A circle of a world view: the posts of one tile.
public struct TileCircle: Hashable, Sendable {
    /// The posts it stands for are those of this tile.
    public let tile: ClusterTile
    /// FNV-1a 64 of `tile/level/x/y` as 16 hexadecimal digits: the tile alone decides, so panning and new posts change no id.
    public let id: String
    /// The direction of the mean of the positions in space.
    public let center: Coordinate
    /// Metres: twice the root mean square distance of the posts from the centre, and 200 more. Most posts are inside, and a few far from
    /// the others do not enlarge the circle.
    public let radius: Double
    /// How many posts it stands for.
    public let count: Int64
}

/// Clusters for views of a continent or the world (PL-4): instead of single posts, sums of tiles are read, so the work is bounded by the
/// number of tiles.
public enum ClusterTiles {
    /// How many circles a reply has at most.
    public static let most = 1_000

    /// The level of the tiles whose circles a map shows: that of tiles 64 pixels wide at the zoom, or the finest coarser one of which a
    /// box of this size needs at most `most`. It depends on the zoom and the box's size, and not on its place or the posts, so panning
    /// changes no circle.
    public static func level(zoom: Double, box: GeoBox) -> Int {
        let wanted = zoom.isFinite ? Int(min(max(zoom, 0), 24)) + 1 : 1
        var level = min(wanted, ClusterTile.finest)
        while level > 0, tiles(of: box, level: level) > most { level -= 1 }
        return level
    }

    /// How many tiles a box of this size can touch. Sizes that differ by rounding count the same.
    private static func tiles(of box: GeoBox, level: Int) -> Int {
        func steps(_ share: Double, of all: Int) -> Int { min(all, Int((share * Double(all) + 1e-6).rounded(.up)) + 1) }
        return steps(box.width / 360, of: 2 << level) * steps(box.height / 180, of: 1 << level)
    }

    /// What to read for a map: the tiles of one stored level that have a point of the box, as rows and columns. All bounds are included.
    public struct Query: Hashable, Sendable {
        /// The stored level.
        public let level: Int
        /// The rows.
        public let y: ClosedRange<Int>
        /// The columns: one range, or two that are apart over the antimeridian.
        public let x: [ClosedRange<Int>]

        /// How many tiles these are.
        public var count: Int { y.count * x.reduce(0) { $0 + $1.count } }
    }

    /// What to read to show the circles of a level.
    ///
    /// It is whole tiles of that level, so that each circle stands for all posts of its tile, inside the box or not.
    public static func query(level: Int, box: GeoBox) -> Query {
        let level = min(max(level, 0), ClusterTile.finest)
        let stored = ClusterTile.storedLevels.first { $0 >= level } ?? ClusterTile.finest
        let parts = box.parts.map(Rectangle.init)
        func bounds(_ low: UInt64, _ high: UInt64, shift: Int) -> ClosedRange<Int> {
            let scale = stored - level
            return Int(low >> shift) << scale...(Int(high >> shift) + 1) << scale - 1
        }
        var columns: [ClosedRange<Int>] = []
        for range in parts.map({ bounds($0.left, $0.right, shift: 31 - level) }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = columns.last, range.lowerBound <= last.upperBound + 1 {
                columns[columns.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                columns.append(range)
            }
        }
        return Query(level: stored, y: bounds(parts[0].bottom, parts[0].top, shift: 32 - level), x: columns)
    }

    /// The circles of a level.
    ///
    /// - Parameter sums: tiles of this level or finer ones, each once; empty ones do no harm.
    /// - Returns: one circle for each tile that has posts, in the order of the tiles.
    public static func circles(_ sums: [(tile: ClusterTile, sum: TileSum)], level: Int) -> [TileCircle] {
        var totals: [ClusterTile: TileSum] = [:]
        for (tile, sum) in sums where sum.count > 0 {
            totals[tile.ancestor(level: level), default: .none] = totals[tile.ancestor(level: level), default: .none] + sum
        }
        return totals.sorted { $0.key < $1.key }.map { TileCircle(tile: $0.key, sum: $0.value) }
    }
}

extension TileCircle {
    init(tile: ClusterTile, sum: TileSum) {
        self.tile = tile
        id = PlaceCluster.hexadecimal(StableHash.fnv1a("tile/\(tile.level)/\(tile.x)/\(tile.y)".utf8))
        count = sum.count
        let mean = sum.mean
        // Posts all around the earth have no direction.
        center = mean.point ?? tile.box.center
        // The mean of the squared chords from the direction of the mean is 2 − 2·length.
        let chord = max(0, 2 - 2 * mean.length).squareRoot()
        let distance = Earth.radius * 2 * Functions.arcsine(min(1, chord / 2))
        radius = sum.count == 1 ? 0 : min(Earth.halfway, 2 * distance + PlaceClusters.padding)
    }
}
