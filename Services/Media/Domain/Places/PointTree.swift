/// A box of space around points of the unit sphere.
struct SpaceBox {
    private(set) var low: UnitVector
    private(set) var high: UnitVector

    init(_ points: ArraySlice<UnitVector>) {
        var low = UnitVector(x: .infinity, y: .infinity, z: .infinity)
        var high = UnitVector(x: -.infinity, y: -.infinity, z: -.infinity)
        for point in points {
            low = UnitVector(x: min(low.x, point.x), y: min(low.y, point.y), z: min(low.z, point.z))
            high = UnitVector(x: max(high.x, point.x), y: max(high.y, point.y), z: max(high.z, point.z))
        }
        (self.low, self.high) = (low, high)
    }

    /// The longest side.
    var side: Double { max(high.x - low.x, high.y - low.y, high.z - low.z) }

    /// The square of the least distance between points of the two.
    func nearest(_ other: SpaceBox) -> Double {
        let x = max(0, low.x - other.high.x, other.low.x - high.x)
        let y = max(0, low.y - other.high.y, other.low.y - high.y)
        let z = max(0, low.z - other.high.z, other.low.z - high.z)
        return x * x + y * y + z * z
    }

    /// The square of the least distance to a point.
    func nearest(_ point: UnitVector) -> Double {
        let x = max(0, low.x - point.x, point.x - high.x)
        let y = max(0, low.y - point.y, point.y - high.y)
        let z = max(0, low.z - point.z, point.z - high.z)
        return x * x + y * y + z * z
    }

    /// The square of the greatest distance between points of the two.
    func farthest(_ other: SpaceBox) -> Double {
        let x = max(high.x - other.low.x, other.high.x - low.x)
        let y = max(high.y - other.low.y, other.high.y - low.y)
        let z = max(high.z - other.low.z, other.high.z - low.z)
        return x * x + y * y + z * z
    }
}

/// Points in boxes within boxes (a k-d tree): each box is halved across its longest side until it has one point, or
/// several at the same spot.
struct PointTree {
    /// A box and what is in it.
    struct Node {
        let box: SpaceBox
        /// Places of its points in `points` and `items`.
        let range: Range<Int>
        /// Places of its halves in `nodes`; nil for a box that is not halved.
        var halves: (Int, Int)?
    }

    /// The points, those of each box next to each other.
    private(set) var points: [UnitVector]
    /// What the caller knows them by, in the same order.
    private(set) var items: [Int]
    /// The boxes; the first has all points.
    private(set) var nodes: [Node] = []

    /// - Parameter points: at least one.
    init(points: [UnitVector], items: [Int]) {
        (self.points, self.items) = (points, items)
        _ = build(points.indices)
    }

    private mutating func build(_ range: Range<Int>) -> Int {
        let place = nodes.count
        let box = SpaceBox(points[range])
        nodes.append(Node(box: box, range: range, halves: nil))
        guard range.count > 1, box.side > 0 else { return place }
        let middle = partition(range, box)
        let left = build(range.lowerBound..<middle)
        let right = build(middle..<range.upperBound)
        nodes[place].halves = (left, right)
        return place
    }

    /// Brings the points of the lower half of a box before the others.
    ///
    /// - Returns: where the others begin; neither half is empty.
    private mutating func partition(_ range: Range<Int>, _ box: SpaceBox) -> Int {
        let axis = (0..<3).first { box.high[$0] - box.low[$0] == box.side } ?? 0
        let (low, high) = (box.low[axis], box.high[axis])
        // Between neighbouring numbers the mean is one of the two.
        let middle = (low + high) / 2 < high ? (low + high) / 2 : low
        var end = range.lowerBound
        for place in range where points[place][axis] <= middle {
            points.swapAt(place, end)
            items.swapAt(place, end)
            end += 1
        }
        return end
    }
}
