public import Kernel

/// A point on the earth (PL-1). The earth is a sphere here, as the maps of the clients have it.
///
/// Every point has one coordinate: longitude 180 becomes −180, and −0 becomes 0. At a pole all longitudes are the same place, but they
/// are left as they are, because a map draws them apart.
public struct Coordinate: Hashable, Sendable {
    /// Degrees north of the equator, −90 to 90.
    public let latitude: Double
    /// Degrees east of Greenwich, from −180 up to but not including 180.
    public let longitude: Double

    /// A point from degrees.
    ///
    /// - Parameter prefix: what stands before `latitude` and `longitude` in the request, such as `center.`.
    /// - Throws: `VALIDATION_ERROR` naming each of the two that is out of range or no number.
    public init(latitude: Double, longitude: Double, prefix: String = "") throws(ServiceError) {
        var details: [ServiceError.Detail] = []
        // A NaN is in no range.
        if !Self.latitudes.contains(latitude) {
            details.append(.init(field: prefix + "latitude", message: "must be between -90 and 90"))
        }
        if !Self.longitudes.contains(longitude) {
            details.append(.init(field: prefix + "longitude", message: "must be between -180 and 180"))
        }
        guard details.isEmpty else { throw .validation(details) }
        self.init(inRangeLatitude: latitude, longitude: longitude)
    }

    /// A point from degrees that a computation gives: the latitude is clamped, the longitude brought into range, and what is no number
    /// becomes 0.
    public init(nearestLatitude latitude: Double, longitude: Double) {
        let turned = longitude.isFinite ? Self.wrapped(longitude) : 0
        self.init(inRangeLatitude: latitude.isNaN ? 0 : min(90, max(-90, latitude)), longitude: turned)
    }

    private init(inRangeLatitude latitude: Double, longitude: Double) {
        // The sum turns −0 into 0.
        self.latitude = latitude + 0
        self.longitude = longitude == 180 ? -180 : longitude + 0
    }

    /// Metres along the great circle to another point, by the haversine formula on a sphere of `Earth.radius`.
    public func distance(to other: Coordinate) -> Double {
        Earth.radius * 2 * Functions.arcsine(min(1, haversine(to: other).squareRoot()))
    }

    /// The haversine of the angle between two points seen from the earth's centre: 0 for the same point, 1 for opposite ones.
    func haversine(to other: Coordinate) -> Double {
        let north = Functions.sine((other.latitude - latitude) * Earth.radians / 2)
        let east = Functions.sine(Self.wrapped(other.longitude - longitude) * Earth.radians / 2)
        let widths = Functions.cosine(latitude * Earth.radians) * Functions.cosine(other.latitude * Earth.radians)
        return north * north + widths * east * east
    }

    /// Degrees of longitude brought into −180 to 180; finite ones only.
    static func wrapped(_ longitude: Double) -> Double {
        if longitudes.contains(longitude) { return longitude }
        return longitude.remainder(dividingBy: 360)
    }

    static let latitudes = -90.0...90.0
    static let longitudes = -180.0...180.0
}

/// The sphere that stands for the earth.
public enum Earth {
    /// Metres from the centre to the surface: the mean radius, as most haversine code has it.
    public static let radius = 6_371_000.0

    /// Metres along a great circle from a point to the opposite one: no two points are farther apart.
    public static let halfway = radius * .pi

    /// Radians of a degree.
    static let radians = Double.pi / 180
}

/// A point of the unit sphere, or a sum of such points: it knows neither poles nor antimeridian.
struct UnitVector: Hashable, Sendable {
    var x: Double
    var y: Double
    var z: Double

    init(x: Double, y: Double, z: Double) { (self.x, self.y, self.z) = (x, y, z) }

    init(_ point: Coordinate) {
        let latitude = point.latitude * Earth.radians
        let longitude = point.longitude * Earth.radians
        let ring = Functions.cosine(latitude)
        self.init(x: ring * Functions.cosine(longitude), y: ring * Functions.sine(longitude), z: Functions.sine(latitude))
    }

    /// x, y or z.
    subscript(axis: Int) -> Double { axis == 0 ? x : axis == 1 ? y : z }

    /// The length.
    var length: Double { (x * x + y * y + z * z).squareRoot() }

    /// The point of the earth in this direction; nil for the centre, which has none.
    var point: Coordinate? {
        let ring = (x * x + y * y).squareRoot()
        guard ring > 0 || z != 0 else { return nil }
        return Coordinate(
            nearestLatitude: Functions.angle(y: z, x: ring) / Earth.radians,
            longitude: Functions.angle(y: y, x: x) / Earth.radians
        )
    }

    /// The square of the straight distance through the earth; 4 for opposite points. It is four times the haversine.
    func squaredChord(to other: UnitVector) -> Double {
        let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
        return dx * dx + dy * dy + dz * dz
    }

    /// The square of the chord of an arc of so many metres.
    static func squaredChord(metres: Double) -> Double {
        let half = Functions.sine(min(metres, Earth.halfway) / Earth.radius / 2)
        return 4 * half * half
    }
}
