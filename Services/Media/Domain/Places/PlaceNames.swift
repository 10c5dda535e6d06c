import Kernel

/// What a place is called: its country, and a large city near it (PL-2).
public struct PlaceName: Hashable, Sendable {
    /// ISO 3166-1, two letters; nil for the few areas that have none.
    public let countryCode: String?
    /// In English.
    public let country: String
    /// As GeoNames has it; nil far from all.
    public let city: String?
}

/// The names of places, from a file that is a part of the program (`Services/Media/PlaceData`): no service is asked.
///
/// - The country is the one whose polygon has the point, or, for a point at sea, the one whose border is nearest within 25 km.
/// - The city is one of that country at most 100 km away: the one with the least distance divided by its population to the power of three
///   quarters. So a suburb does not hide its city, and a large city does not hide a town of its own.
public struct PlaceNames: Sendable {
    /// Metres that a country reaches out to sea.
    public static let coast = 25_000.0
    /// Metres that a city reaches.
    public static let cityReach = 100_000.0

    private let countries: [Country]
    private let arcs: [Arc]
    private let cities: [City]
    /// For each degree of latitude from −90: where its cities begin in `cities`.
    private let bands: [Int]
    private let data: PlaceNameData

    private struct Country: Sendable {
        let code: String?
        let name: String
        var rings: [Ring] = []
    }

    private struct Ring: Sendable {
        var arcs: [Int]
        var bounds: Bounds
    }

    /// A part of a border, between points where countries meet.
    private struct Arc: Sendable {
        /// Where its points begin in the file, and how many there are.
        let start: Int
        let count: Int
        let bounds: Bounds
        let first: (x: Int32, y: Int32)
        let last: (x: Int32, y: Int32)
    }

    private struct Bounds: Sendable {
        var west = Int32.max
        var south = Int32.max
        var east = Int32.min
        var north = Int32.min

        mutating func add(_ x: Int32, _ y: Int32) {
            (west, east) = (min(west, x), max(east, x))
            (south, north) = (min(south, y), max(north, y))
        }

        mutating func add(_ other: Bounds) {
            add(other.west, other.south)
            add(other.east, other.north)
        }
    }

    private struct City: Sendable {
        let position: Coordinate
        let people: Double
        let country: Int
        let name: String
    }

    /// Units of a degree.
    private static let unit = 10_000.0

    /// Reads the file.
    ///
    /// - Parameter bytes: stay where they are as long as the program runs.
    /// - Returns: nil when they are no such file.
    public init?(_ bytes: UnsafeRawBufferPointer) {
        data = PlaceNameData(bytes: bytes)
        var reader = data.reader(at: 0)
        guard reader.text(4) == "PLN1" else { return nil }
        let counts = (reader.number(), reader.number(), reader.number(), reader.number())
        guard reader.isValid, counts.0 < 1_000, counts.1 < 100_000, counts.2 < 100_000, counts.3 < 1_000_000 else { return nil }
        var countries = (0..<counts.0).map { _ in
            let code = reader.text(2)
            return Country(code: code == "  " ? nil : code, name: reader.text(reader.number()))
        }
        var arcs: [Arc] = []
        for _ in 0..<counts.1 {
            guard let arc = Self.arc(&reader) else { return nil }
            arcs.append(arc)
        }
        for _ in 0..<counts.2 {
            let country = reader.number()
            let parts = (0..<min(100_000, reader.number())).map { _ in reader.number() / 2 }
            guard reader.isValid, countries.indices.contains(country), parts.allSatisfy(arcs.indices.contains) else { return nil }
            var bounds = Bounds()
            for part in parts { bounds.add(arcs[part].bounds) }
            countries[country].rings.append(Ring(arcs: parts, bounds: bounds))
        }
        var cities: [City] = []
        var (latitude, longitude) = (0, 0)
        for _ in 0..<counts.3 {
            latitude += reader.signed()
            longitude += reader.signed()
            let (people, country) = (Double(reader.number()), reader.number())
            let position = Coordinate(nearestLatitude: Double(latitude) / 1_000, longitude: Double(longitude) / 1_000)
            cities.append(City(position: position, people: people, country: country, name: reader.text(reader.number())))
        }
        guard reader.isValid, cities.allSatisfy({ countries.indices.contains($0.country) }) else { return nil }
        (self.countries, self.arcs, self.cities) = (countries, arcs, cities)
        var bands = [Int](repeating: 0, count: 182)
        for city in cities { bands[Self.band(city.position.latitude) + 1] += 1 }
        for band in 1..<bands.count { bands[band] += bands[band - 1] }
        self.bands = bands
    }

    private static func arc(_ reader: inout PlaceNameReader) -> Arc? {
        let count = reader.number()
        let start = reader.position
        var bounds = Bounds()
        var (x, y): (Int32, Int32) = (0, 0)
        var first: (x: Int32, y: Int32)?
        for _ in 0..<count {
            guard reader.isValid else { return nil }
            (x, y) = (x &+ Int32(truncatingIfNeeded: reader.signed()), y &+ Int32(truncatingIfNeeded: reader.signed()))
            bounds.add(x, y)
            if first == nil { first = (x, y) }
        }
        return first.map { Arc(start: start, count: count, bounds: bounds, first: $0, last: (x, y)) }
    }

    private static func band(_ latitude: Double) -> Int { min(180, max(0, Int(latitude + 90))) }

    /// What a point is called; nil at sea, far from every country.
    public func name(of point: Coordinate) -> PlaceName? {
        guard let country = country(of: point) else { return nil }
        return PlaceName(
            countryCode: countries[country].code,
            country: countries[country].name,
            city: city(near: point, in: country)?.name
        )
    }

    /// The English name of a country; nil for a code that is none.
    public func country(code: String) -> String? { countries.first { $0.code == code }?.name }

    private func country(of point: Coordinate) -> Int? {
        let (x, y) = (point.longitude * Self.unit, point.latitude * Self.unit)
        if let inside = countries.indices.first(where: { contains(countries[$0], x, y) }) { return inside }
        // The edge of the map is no edge of the earth.
        return nearest(point)
    }

    /// By how many edges lie to the east: an odd number is inside.
    private func contains(_ country: Country, _ x: Double, _ y: Double) -> Bool {
        var isInside = false
        for ring in country.rings {
            let box = ring.bounds
            guard Double(box.south) <= y, y <= Double(box.north), x <= Double(box.east) else { continue }
            for index in ring.arcs where crossesOdd(arcs[index], x, y) { isInside.toggle() }
        }
        return isInside
    }

    private func crossesOdd(_ arc: Arc, _ x: Double, _ y: Double) -> Bool {
        let box = arc.bounds
        guard Double(box.south) <= y, y <= Double(box.north), x <= Double(box.east) else { return false }
        // All of it lies to the east: its ends decide.
        if x < Double(box.west) { return (Double(arc.first.y) > y) != (Double(arc.last.y) > y) }
        var isOdd = false
        forEachEdge(arc) { x1, y1, x2, y2 in
            if (y1 > y) != (y2 > y), x < (x2 - x1) * (y - y1) / (y2 - y1) + x1 { isOdd.toggle() }
        }
        return isOdd
    }

    /// The country with the nearest border, at most `coast` away.
    private func nearest(_ point: Coordinate) -> Int? {
        let box = GeoBox(around: point, radius: Self.coast)
        var best = (distance: Self.coast, country: Int?.none)
        for country in countries.indices {
            for ring in countries[country].rings where touches(ring.bounds, box) {
                for index in ring.arcs where touches(arcs[index].bounds, box) {
                    let distance = distance(from: point, to: arcs[index])
                    if distance < best.distance { best = (distance, country) }
                }
            }
        }
        return best.country
    }

    private func touches(_ bounds: Bounds, _ box: GeoBox) -> Bool {
        guard Double(bounds.south) <= box.north * Self.unit, box.south * Self.unit <= Double(bounds.north) else { return false }
        return box.parts.contains { Double(bounds.west) <= $0.east * Self.unit && $0.west * Self.unit <= Double(bounds.east) }
    }

    /// Metres to the nearest edge, on a plane around the point: exact enough near it.
    private func distance(from point: Coordinate, to arc: Arc) -> Double {
        let width = Functions.cosine(point.latitude * Earth.radians)
        let metres = Earth.radius * Earth.radians
        func plane(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
            let east = Coordinate.wrapped(x / Self.unit - point.longitude)
            return (east * width * metres, (y / Self.unit - point.latitude) * metres)
        }
        var least = Double.infinity
        forEachEdge(arc) { x1, y1, x2, y2 in
            let (a, b) = (plane(x1, y1), plane(x2, y2))
            let (dx, dy) = (b.x - a.x, b.y - a.y)
            let length = dx * dx + dy * dy
            let along = length > 0 ? min(1, max(0, -(a.x * dx + a.y * dy) / length)) : 0
            let (x, y) = (a.x + along * dx, a.y + along * dy)
            least = min(least, x * x + y * y)
        }
        return least.squareRoot()
    }

    private func forEachEdge(_ arc: Arc, _ visit: (_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> Void) {
        var reader = data.reader(at: arc.start)
        var (x, y) = (0, 0)
        for index in 0..<arc.count {
            let (dx, dy) = (reader.signed(), reader.signed())
            if index > 0 { visit(Double(x), Double(y), Double(x + dx), Double(y + dy)) }
            (x, y) = (x + dx, y + dy)
        }
    }

    private func city(near point: Coordinate, in country: Int) -> City? {
        let low = Self.band(point.latitude - 1)
        let high = Self.band(point.latitude + 1)
        var best: (weight: Double, city: City)?
        for city in cities[bands[low]..<bands[high + 1]] where city.country == country {
            let distance = point.distance(to: city.position)
            guard distance <= Self.cityReach else { continue }
            let weight = distance / (city.people * city.people.squareRoot()).squareRoot()
            if weight < best?.weight ?? .infinity { best = (weight, city) }
        }
        return best?.city
    }
}

/// The file's bytes, which are never written.
struct PlaceNameData: @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer

    func reader(at position: Int) -> PlaceNameReader { PlaceNameReader(bytes: bytes, position: position) }
}

/// Reads the file from a place on. After its end everything is 0.
struct PlaceNameReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var position: Int
    /// Whether nothing was read beyond the end.
    private(set) var isValid = true

    init(bytes: UnsafeRawBufferPointer, position: Int) { (self.bytes, self.position) = (bytes, position) }

    private mutating func byte() -> UInt8 {
        guard position < bytes.count else {
            isValid = false
            return 0
        }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func number() -> Int {
        var (value, shift) = (0, 0)
        while shift < 56 {
            let next = byte()
            value |= Int(next & 127) << shift
            if next < 128 { return value }
            shift += 7
        }
        isValid = false
        return 0
    }

    mutating func signed() -> Int {
        let value = number()
        return value & 1 == 0 ? value / 2 : -(value + 1) / 2
    }

    mutating func text(_ length: Int) -> String {
        guard length >= 0, length <= bytes.count - position else {
            isValid = false
            return ""
        }
        defer { position += length }
        return String(decoding: UnsafeRawBufferPointer(rebasing: bytes[position..<position + length]), as: UTF8.self)
    }
}
