/// Which points a chain of neighbours connects (PL-4): exact, and near-linear wherever the points lie.
///
/// Space is a grid of cubes whose diagonal is the chord of 2,000 m, so all points of a cube are neighbours of each other and nothing within
/// it is compared. Cubes know neither poles nor antimeridian. Of two cubes near each other it is asked whether any pair of their points are
/// neighbours, unless they are connected already; boxes within boxes answer it mostly without points.
struct Neighborhoods {
    /// How many distances between points or boxes were computed.
    private(set) var distances = 0

    private let positions: [Coordinate]
    /// The distinct points, those of each cell next to each other.
    private var points: [UnitVector] = []
    /// For each of `points`, a place in `positions`.
    private var items: [Int] = []
    /// For each of `positions`, its cell.
    private var cellOfPosition: [Int]
    private var cells: [Cell] = []
    private var sets = UnionFind(count: 0)

    /// The non-empty cubes, in the order of their keys.
    private struct Cell {
        let key: UInt64
        let range: Range<Int>
        let box: SpaceBox
        var tree: PointTree?
    }

    /// Squared chords up to the first are neighbours, from the second on not; for those between, the distance itself decides. Chords and
    /// distances agree far better than that.
    private static let certain = UnitVector.squaredChord(metres: PlaceClusters.reach) * (1 - 1e-9)
    private static let excluded = UnitVector.squaredChord(metres: PlaceClusters.reach) * (1 + 1e-9)
    /// Pairs of points that are compared without more ado.
    private static let few = 32
    /// The side of a cube.
    private static let side = (certain / 3).squareRoot() * (1 - 1e-9)

    init(_ positions: [Coordinate]) {
        self.positions = positions
        cellOfPosition = Array(repeating: 0, count: positions.count)
        let vectors = positions.map(UnitVector.init)
        let keys = vectors.map(Self.key)
        let order = positions.indices.sorted { left, right in
            if keys[left] != keys[right] { return keys[left] < keys[right] }
            let (a, b) = (positions[left], positions[right])
            return (a.latitude, a.longitude) < (b.latitude, b.longitude)
        }
        var start = 0
        while start < order.count {
            let key = keys[order[start]]
            let first = points.count
            var end = start
            while end < order.count, keys[order[end]] == key {
                // Posts at the same spot are one point.
                if end == start || positions[order[end]] != positions[order[end - 1]] {
                    points.append(vectors[order[end]])
                    items.append(order[end])
                }
                cellOfPosition[order[end]] = cells.count
                end += 1
            }
            cells.append(Cell(key: key, range: first..<points.count, box: SpaceBox(points[first...])))
            start = end
        }
        sets = UnionFind(count: cells.count)
    }

    /// The connected points: places in the list of positions, in order; the components in the order of their first places.
    mutating func components() -> [[Int]] {
        // Half of the directions are enough: the others are the same pairs.
        for (dx, dy) in Self.rows {
            var place = 0
            for cell in cells.indices {
                let middle = Int64(cells[cell].key) + dx << 28 + dy << 14
                // In the cell's own row only what comes after it.
                let span = UInt64(dx == 0 && dy == 0 ? middle + 1 : middle - 2)...UInt64(middle + 2)
                while place < cells.count, cells[place].key < span.lowerBound { place += 1 }
                var other = place
                while other < cells.count, cells[other].key <= span.upperBound {
                    connect(cell, other)
                    other += 1
                }
            }
        }
        return sets.groups(cellOfPosition)
    }

    /// Rows of cells that can have neighbours of a cell's points: two cubes on.
    private static let rows: [(dx: Int64, dy: Int64)] =
        [(0, 0), (0, 1), (0, 2)] + (1...2).flatMap { dx in (-2...2).map { (Int64(dx), Int64($0)) } }

    /// Three numbers of 14 bits, each far enough from 0 and 2¹⁴ that two more or less stay within.
    private static func key(_ point: UnitVector) -> UInt64 {
        func step(_ value: Double) -> UInt64 { UInt64((value + 1) / side) + 4 }
        return step(point.x) << 28 | step(point.y) << 14 | step(point.z)
    }

    /// Joins two cells if a point of one is a neighbour of a point of the other.
    private mutating func connect(_ left: Int, _ right: Int) {
        guard sets.root(of: left) != sets.root(of: right) else { return }
        distances += 1
        let (a, b) = (cells[left], cells[right])
        guard a.box.nearest(b.box) < Self.excluded else { return }
        if a.box.farthest(b.box) <= Self.certain || haveNeighbors(left, right) { sets.join(left, right) }
    }

    private mutating func haveNeighbors(_ left: Int, _ right: Int) -> Bool {
        let (a, b) = (cells[left].range, cells[right].range)
        guard a.count * b.count > Self.few else {
            return a.contains { one in b.contains { areNeighbors(points[one], items[one], points[$0], items[$0]) } }
        }
        return haveNeighbors(tree(left), 0, tree(right), 0)
    }

    private mutating func tree(_ cell: Int) -> PointTree {
        if let tree = cells[cell].tree { return tree }
        let range = cells[cell].range
        let tree = PointTree(points: Array(points[range]), items: Array(items[range]))
        cells[cell].tree = tree
        return tree
    }

    /// Whether a point of one box is a neighbour of a point of another.
    private mutating func haveNeighbors(_ left: PointTree, _ a: Int, _ right: PointTree, _ b: Int) -> Bool {
        let (one, other) = (left.nodes[a], right.nodes[b])
        distances += 1
        if one.box.nearest(other.box) >= Self.excluded { return false }
        if one.box.farthest(other.box) <= Self.certain { return true }
        if let halves = one.halves, other.halves == nil || one.box.side >= other.box.side {
            return haveNeighbors(left, halves.0, right, b) || haveNeighbors(left, halves.1, right, b)
        }
        if let halves = other.halves {
            return haveNeighbors(left, a, right, halves.0) || haveNeighbors(left, a, right, halves.1)
        }
        return one.range.contains { i in
            other.range.contains { areNeighbors(left.points[i], left.items[i], right.points[$0], right.items[$0]) }
        }
    }

    private mutating func areNeighbors(_ a: UnitVector, _ i: Int, _ b: UnitVector, _ j: Int) -> Bool {
        distances += 1
        let chord = a.squaredChord(to: b)
        if chord <= Self.certain { return true }
        return chord < Self.excluded && positions[i].distance(to: positions[j]) <= PlaceClusters.reach
    }
}
