import Kernel

/// A point as one number for a B-tree index (PL-2): the bits of longitude and latitude in turn, 32 of each, longitude first (a Z-order
/// curve).
///
/// Points that share leading bits lie in one cell, and the points of a cell are one range of numbers. A geohash is the leading bits of this
/// number, five for each character, so one index answers boxes, circles and geohashes. A Hilbert curve would need fewer ranges for a box,
/// but would not begin with the geohash.
public struct PlaceKey: Hashable, Comparable, Sendable {
    /// The number as PostgreSQL's `bigint` has it: its order is the order of the bits.
    public let value: Int64

    /// The key of a point.
    public init(_ point: Coordinate) {
        self.init(
            bits: PlaceKey.interleaved(x: Axis.longitude.index(of: point.longitude), y: Axis.latitude.index(of: point.latitude))
        )
    }

    init(bits: UInt64) { value = Int64(bitPattern: bits ^ 1 << 63) }

    /// The bits from the first of the longitude to the last of the latitude.
    var bits: UInt64 { UInt64(bitPattern: value) ^ 1 << 63 }

    public static func < (left: PlaceKey, right: PlaceKey) -> Bool { left.value < right.value }

    /// Ranges of keys that have every point of a box, in order, apart from each other.
    ///
    /// They have points outside the box too: the caller compares latitude and longitude as well. The more ranges, the fewer those are.
    ///
    /// - Parameter most: how many ranges at most, 1 or more.
    public static func ranges(covering box: GeoBox, most: Int) -> [ClosedRange<Int64>] {
        let limit = max(1, most)
        let targets = box.parts.map(Rectangle.init)
        var cells = [Cell.all]
        // Each step halves the cells that reach out of the box. It ends at single points, or with more pieces than are wanted: of those
        // the nearest are joined.
        for _ in 0..<64 {
            guard cells.contains(where: { !$0.isInside }), pieces(cells) <= limit else { break }
            cells = cells.flatMap { $0.isInside ? [$0] : $0.halves(within: targets) }
        }
        return joined(cells, most: limit)
    }

    /// How many ranges cells make, where those next to each other are one.
    private static func pieces(_ cells: [Cell]) -> Int {
        zip(cells, cells.dropFirst()).count { $0.last &+ 1 != $1.first } + 1
    }

    private static func joined(_ cells: [Cell], most: Int) -> [ClosedRange<Int64>] {
        // The widest gaps stay.
        let gaps = zip(cells, cells.dropFirst()).enumerated().map { (index: $0, size: $1.1.first - $1.0.last - 1) }
        let widest = gaps.filter { $0.size > 0 }.sorted { ($1.size, $0.index) < ($0.size, $1.index) }.prefix(most - 1)
        let kept = widest.map(\.index).sorted()
        var ranges: [ClosedRange<Int64>] = []
        var start = 0
        for end in kept + [cells.count - 1] where end >= start {
            ranges.append(PlaceKey(bits: cells[start].first).value...PlaceKey(bits: cells[end].last).value)
            start = end + 1
        }
        return ranges
    }

    /// The bits of two numbers in turn, those of `x` first.
    static func interleaved(x: UInt32, y: UInt32) -> UInt64 { spread(x) << 1 | spread(y) }

    /// The 32 bits of a number at the even places.
    private static func spread(_ number: UInt32) -> UInt64 {
        var bits = UInt64(number)
        bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
        bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        bits = (bits | bits << 2) & 0x3333_3333_3333_3333
        return (bits | bits << 1) & 0x5555_5555_5555_5555
    }

    /// The bits at the even places: what `spread` undoes.
    static func gathered(_ spread: UInt64) -> UInt32 {
        var bits = spread & 0x5555_5555_5555_5555
        bits = (bits | bits >> 1) & 0x3333_3333_3333_3333
        bits = (bits | bits >> 2) & 0x0F0F_0F0F_0F0F_0F0F
        bits = (bits | bits >> 4) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits >> 8) & 0x0000_FFFF_0000_FFFF
        return UInt32(truncatingIfNeeded: bits | bits >> 16)
    }
}

/// The range of a coordinate in 2³² equal steps, the first from the lowest value. Every step includes its lower edge and not its upper one;
/// the last has the highest value too.
enum Axis {
    case latitude, longitude

    private var lowest: Double { self == .latitude ? -90 : -180 }
    private var span: Double { self == .latitude ? 180 : 360 }
    private static let steps = 4_294_967_296.0

    /// The lower edge of a step. Exact: an edge needs 44 bits.
    func edge(_ index: UInt64) -> Double { lowest + span * (Double(index) / Self.steps) }

    /// The step that has a value. Exact at the edges too, so that every user of the steps agrees.
    func index(of value: Double) -> UInt32 {
        let share = min(max((value - lowest) / span, 0), 1)
        let index = min(UInt64(share * Self.steps), UInt64(UInt32.max))
        // A value just below an edge may be rounded up to it. None is rounded down: an edge's own share is exact.
        return UInt32(index > 0 && value < edge(index) ? index - 1 : index)
    }
}

/// Steps of the two axes from one to another, both included.
struct Rectangle {
    var left: UInt64
    var right: UInt64
    var bottom: UInt64
    var top: UInt64

    init(left: UInt64, right: UInt64, bottom: UInt64, top: UInt64) {
        (self.left, self.right, self.bottom, self.top) = (left, right, bottom, top)
    }

    /// The steps of a box whose west is not above its east.
    init(_ part: GeoBox) {
        left = UInt64(Axis.longitude.index(of: part.west))
        right = UInt64(Axis.longitude.index(of: part.east))
        bottom = UInt64(Axis.latitude.index(of: part.south))
        top = UInt64(Axis.latitude.index(of: part.north))
    }

    func intersects(_ other: Rectangle) -> Bool {
        left <= other.right && other.left <= right && bottom <= other.top && other.bottom <= top
    }

    func contains(_ other: Rectangle) -> Bool {
        left <= other.left && other.right <= right && bottom <= other.bottom && other.top <= top
    }
}

/// The points whose keys share their leading bits.
private struct Cell {
    /// The lowest key.
    let first: UInt64
    /// How many leading bits are shared.
    let depth: Int
    let area: Rectangle
    /// Whether all of it is in the box that is covered.
    let isInside: Bool

    static let all = Cell(
        first: 0,
        depth: 0,
        area: Rectangle(left: 0, right: UInt64(UInt32.max), bottom: 0, top: UInt64(UInt32.max)),
        isInside: false
    )

    /// The highest key.
    var last: UInt64 { depth == 0 ? .max : first | (1 << (64 - UInt64(depth)) - 1) }

    /// The two halves, without those that lie outside.
    func halves(within targets: [Rectangle]) -> [Cell] {
        guard depth < 64 else { return [self] }
        var (low, high) = (area, area)
        if depth.isMultiple(of: 2) {
            low.right = area.left + (area.right - area.left) / 2
            high.left = low.right + 1
        } else {
            low.top = area.bottom + (area.top - area.bottom) / 2
            high.bottom = low.top + 1
        }
        return [(low, first), (high, first | 1 << (63 - UInt64(depth)))].compactMap { half, start in
            guard targets.contains(where: half.intersects) else { return nil }
            return Cell(first: start, depth: depth + 1, area: half, isInside: targets.contains { $0.contains(half) })
        }
    }
}
