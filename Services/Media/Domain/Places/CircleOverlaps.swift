/// Which circles a chain of overlaps connects (PL-4): the distance of the centres is less than the sum of the radii.
///
/// Centres are in boxes within boxes, each with the greatest radius in it, so that a circle is compared with those near it only. Boxes whose
/// circles are all connected are marked: a circle that is connected to them too skips them, so circles that cover thousands of others are
/// compared with each once.
struct CircleOverlaps {
    /// How many distances between centres or boxes were computed.
    private(set) var distances = 0

    private let circles: [Circle]
    private let centers: [UnitVector]
    private let tree: PointTree?
    /// For each box, the greatest radius in it.
    private var radii: [Double] = []
    /// For each box whose circles are all connected, one of them.
    private var connected: [Int?] = []
    private var sets: UnionFind

    init(_ circles: [Circle]) {
        self.circles = circles
        centers = circles.map { UnitVector($0.center) }
        sets = UnionFind(count: circles.count)
        let tree = circles.isEmpty ? nil : PointTree(points: centers, items: Array(circles.indices))
        self.tree = tree
        guard let tree else { return }
        radii = tree.nodes.map { node in tree.items[node.range].reduce(0) { max($0, circles[$1].radius) } }
        connected = tree.nodes.map { $0.range.count == 1 ? tree.items[$0.range.lowerBound] : nil }
    }

    /// The connected circles: places in the list, in order; the groups in the order of their first places.
    mutating func groups() -> [[Int]] {
        if let tree {
            // The largest first: they connect the most.
            for circle in circles.indices.sorted(by: { (circles[$1].radius, $0) < (circles[$0].radius, $1) }) {
                connect(circle, 0, tree)
            }
        }
        return sets.groups(circles.indices)
    }

    /// Joins a circle with those of a box that it overlaps.
    private mutating func connect(_ circle: Int, _ place: Int, _ tree: PointTree) {
        if let known = connected[place], sets.root(of: known) == sets.root(of: circle) { return }
        distances += 1
        let node = tree.nodes[place]
        // Rounding must lose none.
        let reach = UnitVector.squaredChord(metres: circles[circle].radius + radii[place]) * (1 + 1e-9) + 1e-15
        guard node.box.nearest(centers[circle]) <= reach else { return }
        if let (left, right) = node.halves {
            connect(circle, left, tree)
            connect(circle, right, tree)
            if let one = connected[left], let other = connected[right], sets.root(of: one) == sets.root(of: other) {
                connected[place] = one
            }
            return
        }
        let items = tree.items[node.range]
        for other in items where sets.root(of: other) != sets.root(of: circle) {
            distances += 1
            if circles[circle].center.distance(to: circles[other].center) < circles[circle].radius + circles[other].radius {
                sets.join(circle, other)
            }
        }
        guard let first = items.first else { return }
        let root = sets.root(of: first)
        if items.allSatisfy({ sets.root(of: $0) == root }) { connected[place] = first }
    }
}
