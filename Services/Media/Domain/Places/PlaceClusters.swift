public import Kernel

/// A post on a map: what clusters are made of.
public struct PlacePin: Hashable, Sendable {
    /// The post.
    public let id: PostID
    /// Where others see it: the coarse position of a post whose author chose one.
    public let position: Coordinate

    /// A post on a map.
    public init(id: PostID, position: Coordinate) { (self.id, self.position) = (id, position) }
}

/// Posts that a map draws as one thing (PL-4).
public struct PlaceCluster: Hashable, Sendable {
    /// How a cluster is drawn.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// Four posts or more: a circle.
        case large
        /// Two or three posts: a marker with their number.
        case small
        /// One post: a pin.
        case single
    }

    /// FNV-1a 64 of the members' ids, sorted bytewise and joined by `,`, as 16 hexadecimal digits. The same members give the same id.
    public let id: String
    /// How it is drawn.
    public let kind: Kind
    /// The mean of the members' latitudes and of their longitudes, those counted from the first member's, the short way round.
    public let center: Coordinate
    /// Metres from the centre to the farthest member, and 200 more; 0 for a single.
    public let radius: Double
    /// The posts, sorted by id.
    public let members: [PostID]

    /// How many posts it has.
    public var count: Int { members.count }
}

/// What a map shows at a zoom (PL-4): 256 × 2^zoom pixels for the whole equator.
public enum MapDetail: Hashable, Sendable, CaseIterable {
    /// Below 8: large clusters only.
    case circles
    /// From 8: all clusters.
    case clusters
    /// From 11: large clusters, and every post as a single, those of large clusters too.
    case pins

    /// The detail of a zoom, whole or not.
    public init(zoom: Double) {
        self = zoom < 8 ? .circles : zoom < 11 ? .clusters : .pins
    }
}

/// The clusters of posts (PL-4).
///
/// 1. Two posts at most 2,000 m apart are neighbours. Posts that a chain of neighbours connects are a cluster.
/// 2. A cluster of four or more is large and has a circle.
/// 3. Large clusters whose circles overlap (the distance of the centres is less than the sum of the radii) are joined, and so are those that
///    a chain of overlapping circles connects. Centre and radius of what is joined are computed anew from all members. Circles that overlap
///    only then stay apart: joining happens once.
///
/// The result depends on the set of pins only, not on their order. The work is near-linear in their number, wherever they lie.
public struct PlaceClusters: Sendable {
    /// Metres up to which two posts are neighbours.
    public static let reach = 2_000.0
    /// Metres by which a circle is larger than the distance to its farthest member.
    public static let padding = 200.0
    /// The fewest members of a large cluster.
    public static let fewestInCircle = 4

    /// Clusters of four posts or more, joined where circles overlapped; in the order of their first members, as all lists here.
    public let large: [PlaceCluster]
    /// Clusters of two or three.
    public let small: [PlaceCluster]
    /// Posts without neighbours.
    public let single: [PlaceCluster]
    /// How many distances between two points or boxes were computed: tests watch that it grows as the posts do, not as their square.
    public let distances: Int

    private let pins: [PlacePin]
    /// For each large cluster the circles that it was joined from.
    private let parts: [[Circle]]

    /// Makes the clusters of posts.
    ///
    /// - Parameter pins: each id once, in any order.
    public init(_ pins: [PlacePin]) {
        let pins = pins.sorted { $0.id < $1.id }
        var neighborhoods = Neighborhoods(pins.map(\.position))
        var circles: [Circle] = []
        var others: [Circle] = []
        for members in neighborhoods.components() {
            let circle = Circle(members, of: pins)
            if members.count >= Self.fewestInCircle { circles.append(circle) } else { others.append(circle) }
        }
        var overlaps = CircleOverlaps(circles)
        let groups = overlaps.groups()
        parts = groups.map { $0.map { circles[$0] } }
        let merged = groups.map { group in
            group.count == 1 ? circles[group[0]] : Circle(group.flatMap { circles[$0].members }.sorted(), of: pins)
        }
        large = merged.map { $0.cluster(.large, of: pins) }
        small = others.filter { $0.members.count > 1 }.map { $0.cluster(.small, of: pins) }
        single = others.filter { $0.members.count == 1 }.map { $0.cluster(.single, of: pins) }
        distances = neighborhoods.distances + overlaps.distances + pins.count
        self.pins = pins
    }

    /// Where else posts must be known for the clusters that touch a box to be whole (PL-4): the boxes of the circles that these were joined
    /// from. Whose circle may reach into one of them may be joined too.
    ///
    /// Begin with the posts whose circles may reach into the box, and add those whose circles may reach into these boxes until there are
    /// no more. The clusters that touch the box are then those of all posts on earth.
    public func circles(touching box: GeoBox) -> [GeoBox] {
        parts.filter { $0.contains { $0.touches(box) } }.flatMap { $0.map { GeoBox(around: $0.center, radius: $0.radius) } }
    }

    /// What a map shows of them.
    ///
    /// - Parameter box: the part of the map; clusters that do not touch it are left out, and posts that lie outside. Nil for all. A cluster
    ///   touches it when its circle reaches into it, or, if it was joined, one of the circles that it was joined from: the circle around
    ///   all of them may be far larger than any, and only these can be found without knowing all posts on earth.
    public func shown(_ detail: MapDetail, in box: GeoBox? = nil) -> [PlaceCluster] {
        guard let box else {
            return detail == .clusters ? large + small + single : large + (detail == .pins ? pins.map(PlaceCluster.init) : [])
        }
        let circles = zip(large, parts).filter { $1.contains { $0.touches(box) } }.map(\.0)
        return switch detail {
        case .circles: circles
        case .clusters: circles + (small + single).filter { box.padded(by: $0.radius).contains($0.center) }
        case .pins: circles + pins.filter { box.contains($0.position) }.map(PlaceCluster.init)
        }
    }
}

extension PlaceCluster {
    /// A post by itself.
    public init(_ pin: PlacePin) {
        self.init(id: Self.id(of: [pin.id]), kind: .single, center: pin.position, radius: 0, members: [pin.id])
    }

    /// The id of a cluster.
    ///
    /// - Parameter members: sorted. The order of ids is the bytewise order of their texts.
    static func id(of members: [PostID]) -> String {
        let step = UUIDText.length + 1
        let text = [UInt8](unsafeUninitializedCapacity: step * members.count) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            for (index, member) in members.enumerated() {
                let place = UnsafeMutableRawBufferPointer(rebasing: bytes[index * step..<(index + 1) * step])
                UUIDText.write(high: member.high, low: member.low, to: place)
                place[step - 1] = UInt8(ascii: ",")
            }
            count = step * members.count
        }
        return hexadecimal(StableHash.fnv1a(text.dropLast()))
    }

    /// 16 digits.
    static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// Some of the pins, and the circle around them.
struct Circle {
    /// Places in the sorted list of pins, in order.
    let members: [Int]
    let center: Coordinate
    let radius: Double

    init(_ members: [Int], of pins: [PlacePin]) {
        self.members = members
        let first = pins[members[0]].position
        guard members.count > 1 else {
            (center, radius) = (first, 0)
            return
        }
        // As differences from the first, so that the sums stay small and exact.
        var (north, east) = (0.0, 0.0)
        for member in members {
            let point = pins[member].position
            north += point.latitude - first.latitude
            east += Coordinate.wrapped(point.longitude - first.longitude)
        }
        let count = Double(members.count)
        let center = Coordinate(nearestLatitude: first.latitude + north / count, longitude: first.longitude + east / count)
        self.center = center
        radius = members.reduce(0) { max($0, center.distance(to: pins[$1].position)) } + PlaceClusters.padding
    }

    /// Whether it reaches into a box.
    func touches(_ box: GeoBox) -> Bool { box.padded(by: radius).contains(center) }

    func cluster(_ kind: PlaceCluster.Kind, of pins: [PlacePin]) -> PlaceCluster {
        let ids = members.map { pins[$0].id }
        return PlaceCluster(id: PlaceCluster.id(of: ids), kind: kind, center: center, radius: radius, members: ids)
    }
}
