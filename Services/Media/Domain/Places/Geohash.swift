public import Kernel

/// A cell of the geohash grid: 1 to 12 characters of 5 bits, longitude and latitude in turn (PL-2). Six characters are about 1.2 × 0.6 km.
///
/// A cell has its south and west edges and not the others, except at the north pole: every point is in one cell of each length.
public struct Geohash: Hashable, Sendable, CustomStringConvertible {
    /// The leading bits of the keys in the cell.
    private let prefix: UInt64
    /// How many characters it has.
    public let length: Int

    /// How long a geohash can be.
    public static let lengths = 1...12

    /// The cell that has a point.
    ///
    /// - Parameter length: characters, 1 to 12; others count as the nearest of these.
    public init(_ point: Coordinate, length: Int) {
        self.init(bits: PlaceKey(point).bits, length: min(max(length, 1), 12))
    }

    /// A cell from its text, in either case.
    ///
    /// - Parameter longest: how many characters the field may have.
    /// - Throws: `VALIDATION_ERROR` naming `field`.
    public init(parsing text: String, field: String, longest: Int = 12) throws(ServiceError) {
        let limit = min(max(longest, 1), 12)
        guard (1...limit).contains(text.utf8.count) else {
            throw .validation(field: field, "must have 1 to \(limit) characters")
        }
        var prefix: UInt64 = 0
        for byte in text.utf8 {
            let lower = byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
            guard let digit = Self.alphabet.firstIndex(of: lower) else {
                throw .validation(field: field, "must have digits and letters without a, i, l and o only")
            }
            prefix = prefix << 5 | UInt64(digit)
        }
        (self.prefix, length) = (prefix, text.utf8.count)
    }

    private init(bits: UInt64, length: Int) {
        prefix = bits >> UInt64(64 - 5 * length)
        self.length = length
    }

    private static let alphabet = Array("0123456789bcdefghjkmnpqrstuvwxyz".utf8)

    /// The characters, in lower case.
    public var description: String {
        let characters = (0..<length).map { Self.alphabet[Int(prefix >> UInt64(5 * (length - 1 - $0)) & 31)] }
        return String(decoding: characters, as: UTF8.self)
    }

    /// Whether a point is in the cell.
    public func contains(_ point: Coordinate) -> Bool { Geohash(point, length: length) == self }

    /// The cell's edges. The box includes all four; points on the north and east edge belong to the next cell.
    public var box: GeoBox {
        let columns = steps(bits: longitudeBits)
        let rows = steps(bits: latitudeBits)
        let (x, y) = place
        let edges = (
            south: Axis.latitude.edge(y * rows), west: Axis.longitude.edge(x * columns),
            north: Axis.latitude.edge((y + 1) * rows), east: Axis.longitude.edge((x + 1) * columns)
        )
        return (try? GeoBox(south: edges.south, west: edges.west, north: edges.north, east: edges.east)) ?? .world
    }

    /// The keys of the cell's points: one range, and no other points are in it.
    public var keys: ClosedRange<Int64> {
        let shift = UInt64(64 - 5 * length)
        let first = prefix << shift
        return PlaceKey(bits: first).value...PlaceKey(bits: first | (1 << shift - 1)).value
    }

    private var longitudeBits: Int { (5 * length + 1) / 2 }
    private var latitudeBits: Int { 5 * length / 2 }
    private func steps(bits: Int) -> UInt64 { 1 << UInt64(32 - bits) }

    /// Column and row of the cell in the grid of its length.
    private var place: (x: UInt64, y: UInt64) {
        let bits = prefix << UInt64(64 - 5 * length)
        return (
            UInt64(PlaceKey.gathered(bits >> 1)) >> UInt64(32 - longitudeBits),
            UInt64(PlaceKey.gathered(bits)) >> UInt64(32 - latitudeBits)
        )
    }
}
