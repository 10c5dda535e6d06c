import Kernel
import MediaDomain
import TestSupport

/// A point that is in range.
func place(_ latitude: Double, _ longitude: Double) -> Coordinate {
    Coordinate(nearestLatitude: latitude, longitude: longitude)
}

extension Seeded {
    /// A number of a range.
    mutating func number(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &self) }

    /// A point anywhere, often at a pole, the antimeridian, the equator or Greenwich.
    mutating func place() -> Coordinate {
        let latitude: Double = chance(30) ? pick([-90, 90, 0, 89.999, -89.999]) : number(-90...90)
        let longitude: Double = chance(30) ? pick([-180, 180, 0, 179.9999, -179.9999]) : number(-180...180)
        return Coordinate(nearestLatitude: latitude, longitude: longitude)
    }

    /// A point at most so many metres from another, by a formula of its own: the destination along a great circle.
    mutating func place(near center: Coordinate, within metres: Double) -> Coordinate {
        center.moved(metres * number(0...1).squareRoot(), bearing: number(0...360))
    }

    /// An id.
    mutating func post() -> PostID { PostID(high: next(), low: next()) }

    /// A box of any shape: small and large, over the antimeridian, at the poles, a line, a point.
    mutating func box() -> GeoBox {
        let center = place()
        let height: Double = pick([0, 1e-9, 0.001, 0.05, 1, 20, 180])
        let width: Double = pick([0, 1e-9, 0.001, 0.05, 1, 20, 180, 359])
        return Self.box(center, width: width * number(0.5...1), height: height * number(0.5...1))
    }

    /// A box around a point.
    static func box(_ center: Coordinate, width: Double, height: Double) -> GeoBox {
        let west = Coordinate(nearestLatitude: 0, longitude: center.longitude - width / 2).longitude
        let east = Coordinate(nearestLatitude: 0, longitude: center.longitude + width / 2).longitude
        let (south, north) = (max(-90, center.latitude - height / 2), min(90, center.latitude + height / 2))
        return (try? GeoBox(south: south, west: west, north: north, east: east)) ?? .world
    }
}

extension Coordinate {
    /// The point so many metres away in a direction, 0 for north and 90 for east.
    func moved(_ metres: Double, bearing: Double) -> Coordinate {
        let radians = Double.pi / 180
        let (angle, turn) = (metres / 6_371_000, bearing * radians)
        let (sine, cosine) = (Functions.sine(latitude * radians), Functions.cosine(latitude * radians))
        let north = sine * Functions.cosine(angle) + cosine * Functions.sine(angle) * Functions.cosine(turn)
        let latitude = Functions.arcsine(min(1, max(-1, north)))
        let east = Functions.angle(
            y: Functions.sine(turn) * Functions.sine(angle) * cosine,
            x: Functions.cosine(angle) - sine * north
        )
        return Coordinate(nearestLatitude: latitude / radians, longitude: longitude + east / radians)
    }
}
