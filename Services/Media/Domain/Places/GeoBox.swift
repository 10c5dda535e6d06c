public import Kernel

/// A part of a map between two latitudes and two longitudes, edges included (PL-2, PL-4).
///
/// `west` may be greater than `east`: the box then lies over the antimeridian. `south` is never above `north`. A box that reaches a pole is
/// a box like any other; one around a point near a pole has all longitudes.
public struct GeoBox: Hashable, Sendable {
    /// The lower edge in degrees, −90 to 90.
    public let south: Double
    /// The left edge in degrees, from −180 up to but not including 180.
    public let west: Double
    /// The upper edge in degrees, −90 to 90.
    public let north: Double
    /// The right edge in degrees, −180 to 180.
    public let east: Double

    /// The whole earth.
    public static let world = GeoBox(checkedSouth: -90, west: -180, north: 90, east: 180)

    /// A box from its edges in degrees.
    ///
    /// - Parameter prefix: what stands before `south`, `west`, `north`, `east` in the request.
    /// - Throws: `VALIDATION_ERROR` naming the edges that are out of range or no numbers, or `south` when it is above `north`.
    public init(south: Double, west: Double, north: Double, east: Double, prefix: String = "") throws(ServiceError) {
        var details: [ServiceError.Detail] = []
        for (name, edge) in [("south", south), ("north", north)] where !Coordinate.latitudes.contains(edge) {
            details.append(.init(field: prefix + name, message: "must be between -90 and 90"))
        }
        for (name, edge) in [("west", west), ("east", east)] where !Coordinate.longitudes.contains(edge) {
            details.append(.init(field: prefix + name, message: "must be between -180 and 180"))
        }
        if details.isEmpty, south > north {
            details.append(.init(field: prefix + "south", message: "must not be above north"))
        }
        guard details.isEmpty else { throw .validation(details) }
        self.init(checkedSouth: south, west: west, north: north, east: east)
    }

    /// A box from the text `west,south,east,north`, the order of GeoJSON. Longitudes may lie beyond ±180, as maps send them that were moved
    /// around the earth; an east that is 360 or more above the west means all longitudes.
    ///
    /// - Parameter field: the field of the request that has the text.
    /// - Throws: `VALIDATION_ERROR` naming `field`.
    public init(parsing text: String, field: String) throws(ServiceError) {
        let parts = text.utf8.count <= 200 ? text.split(separator: ",", omittingEmptySubsequences: false) : []
        // Swift reads hexadecimal numbers, "inf" and "nan" too; no client means them.
        let edges = parts.compactMap { part in
            part.utf8.allSatisfy { Self.signs.contains($0) } ? Double(part) : nil
        }
        guard parts.count == 4, edges.count == 4 else {
            throw .validation(field: field, "must be four numbers: west,south,east,north")
        }
        let (west, east) = (edges[0], edges[2])
        for (name, edge) in [("west", west), ("east", east)] where !edge.isFinite {
            throw .validation(field: field, "\(name) must be a number of degrees")
        }
        let isWorld = east - west >= 360
        do {
            try self.init(
                south: edges[1],
                west: isWorld ? -180 : Coordinate.wrapped(west),
                north: edges[3],
                east: isWorld ? 180 : Coordinate.wrapped(east)
            )
        } catch {
            throw .validation(error.details.map { .init(field: field, message: "\($0.field) \($0.message)") })
        }
    }

    private static let signs = Set("0123456789+-.eE".utf8)

    /// The smallest box that has every point within a distance of a point: of all longitudes when a pole is that near.
    ///
    /// - Parameter radius: metres; below 0 counts as 0.
    public init(around center: Coordinate, radius: Double) {
        self = GeoBox(
            checkedSouth: center.latitude,
            west: center.longitude,
            north: center.latitude,
            east: center.longitude
        ).padded(by: radius)
    }

    private init(checkedSouth south: Double, west: Double, north: Double, east: Double) {
        // 180 and −180 are the same meridian; as a left edge it is always −180.
        let isLine = west == 180 && east == 180
        (self.south, self.north) = (south + 0, north + 0)
        self.west = west == 180 ? -180 : west + 0
        self.east = isLine ? -180 : east + 0
    }

    /// The box with every point that is within a distance of one of this box's points. Clusters need the neighbours of a map's posts.
    ///
    /// - Parameter metres: below 0 or no number counts as 0.
    public func padded(by metres: Double) -> GeoBox {
        guard metres > 0 else { return self }
        // A little more, so that rounding never loses a point at the edge.
        let angle = min(metres, Earth.halfway) / Earth.radius * (1 + 1e-9) + 1e-12
        let degrees = angle / Earth.radians
        let (low, high) = (max(-90, south - degrees), min(90, north + degrees))
        let widest = Functions.cosine(max(abs(south), abs(north)) * Earth.radians)
        let sine = Functions.sine(angle)
        let reachesPole = low <= -90 || high >= 90 || angle >= .pi / 2 || sine >= widest
        let side = reachesPole ? 360 : Functions.arcsine(sine / widest) / Earth.radians + 1e-10
        guard width + 2 * side < 360 else { return GeoBox(checkedSouth: low, west: -180, north: high, east: 180) }
        return GeoBox(
            checkedSouth: low,
            west: Coordinate.wrapped(west - side),
            north: high,
            east: Coordinate.wrapped(east + side)
        )
    }

    /// Degrees from the left edge to the right one, 0 to 360.
    public var width: Double { east - west + (west > east ? 360 : 0) }

    /// Degrees from the lower edge to the upper one.
    public var height: Double { north - south }

    /// The middle of the box, as a map shows it.
    public var center: Coordinate {
        Coordinate(nearestLatitude: (south + north) / 2, longitude: west + width / 2)
    }

    /// Whether a point lies inside or on the edge.
    public func contains(_ point: Coordinate) -> Bool {
        guard south <= point.latitude, point.latitude <= north else { return false }
        if west > east { return point.longitude >= west || point.longitude <= east }
        return west <= point.longitude && point.longitude <= east || east == 180 && point.longitude == -180
    }

    /// Whether two boxes have a point in common.
    public func intersects(_ other: GeoBox) -> Bool {
        guard south <= other.north, other.south <= north else { return false }
        return parts.contains { part in other.parts.contains { part.west <= $0.east && $0.west <= part.east } }
    }

    /// Whether all points of another box are in this one.
    public func contains(_ other: GeoBox) -> Bool {
        guard south <= other.south, other.north <= north else { return false }
        return other.parts.allSatisfy { inner in parts.contains { $0.west <= inner.west && inner.east <= $0.east } }
    }

    /// The smallest box that has both.
    public func union(_ other: GeoBox) -> GeoBox {
        let (low, high) = (min(south, other.south), max(north, other.north))
        /// From the west of one to the east of whichever ends later, going east.
        func span(_ first: GeoBox, _ second: GeoBox) -> (width: Double, west: Double, east: Double) {
            let offset = second.west - first.west + (second.west < first.west ? 360 : 0)
            let end = offset + second.width
            return end > first.width ? (end, first.west, second.east) : (first.width, first.west, first.east)
        }
        let (one, two) = (span(self, other), span(other, self))
        let best = one.width <= two.width ? one : two
        guard best.width < 360 else { return GeoBox(checkedSouth: low, west: -180, north: high, east: 180) }
        return GeoBox(checkedSouth: low, west: best.west, north: high, east: best.east)
    }

    /// The same region as at most two boxes whose `west` is not above `east`, for comparisons of columns with numbers: a point is inside
    /// if and only if it is `south…north` and `west…east` of one of them.
    public var parts: [GeoBox] {
        func part(_ west: Double, _ east: Double) -> GeoBox { GeoBox(partSouth: south, west: west, north: north, east: east) }
        if west > east { return [part(west, 180), part(-180, east)] }
        // Points on the antimeridian have longitude −180.
        if east == 180, west > -180 { return [self, part(-180, -180)] }
        return [self]
    }

    private init(partSouth south: Double, west: Double, north: Double, east: Double) {
        (self.south, self.west, self.north, self.east) = (south, west, north, east)
    }
}
