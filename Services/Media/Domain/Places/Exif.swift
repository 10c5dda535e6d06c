public import Kernel

/// A number of Exif: two whole numbers, the second not 0.
public struct ExifRational: Hashable, Sendable, CustomStringConvertible {
    /// What is divided.
    public let numerator: UInt32
    /// By what.
    public let denominator: UInt32

    init(_ numerator: UInt32, _ denominator: UInt32 = 1) { (self.numerator, self.denominator) = (numerator, denominator) }

    /// As libvips and others write it: `numerator/denominator`.
    public var description: String { "\(numerator)/\(denominator)" }
}

/// Where a photo was taken, as Exif's GPS tags have it (PL-6): degrees, minutes and seconds without a sign, and a letter for the side.
public struct ExifPosition: Hashable, Sendable {
    /// `GPSLatitude`: degrees, minutes, seconds.
    public let latitude: [ExifRational]
    /// `GPSLatitudeRef`: `N` or `S`.
    public let latitudeRef: String
    /// `GPSLongitude`: degrees, minutes, seconds.
    public let longitude: [ExifRational]
    /// `GPSLongitudeRef`: `E` or `W`.
    public let longitudeRef: String

    /// The tags of a point, to a ten-thousandth of a second, which is 3 mm.
    public init(_ point: Coordinate) {
        (latitude, latitudeRef) = (Self.parts(point.latitude), point.latitude < 0 ? "S" : "N")
        (longitude, longitudeRef) = (Self.parts(point.longitude), point.longitude < 0 ? "W" : "E")
    }

    private static let fractions: UInt64 = 10_000

    private static func parts(_ degrees: Double) -> [ExifRational] {
        // Rounded once, as a whole: no part becomes 60.
        let total = UInt64((abs(degrees) * 3_600 * Double(fractions)).rounded())
        let minutes = total / (60 * fractions)
        return [
            ExifRational(UInt32(minutes / 60)), ExifRational(UInt32(minutes % 60)),
            ExifRational(UInt32(total % (60 * fractions)), UInt32(fractions)),
        ]
    }
}

/// When a photo was taken, as Exif's tags have it (PL-6).
public struct ExifTime: Hashable, Sendable {
    /// `DateTimeOriginal`: `YYYY:MM:DD HH:MM:SS` by the clock of the place.
    public let dateTime: String
    /// `SubSecTimeOriginal`: three digits.
    public let milliseconds: String
    /// `OffsetTimeOriginal`: `+HH:MM`, the clock's difference from UTC.
    public let offset: String
    /// `GPSDateStamp`: `YYYY:MM:DD` in UTC.
    public let gpsDate: String
    /// `GPSTimeStamp`: hours, minutes, seconds in UTC.
    public let gpsTime: [ExifRational]

    /// The tags of an instant.
    ///
    /// - Parameter zone: whose clock the photo's own time is by. An offset that is no whole number of minutes is rounded down to one, and
    ///   the time shown is by that.
    /// - Returns: nil for an instant that no four-digit year has.
    public init?(_ instant: Instant, zone: Zone = .utc) {
        let seconds = zone.offset(at: instant).seconds
        let minutes = (seconds - (seconds % 60 + 60) % 60) / 60
        let local = instant + .seconds(minutes * 60)
        guard Instant.writable.contains(instant), Instant.writable.contains(local) else { return nil }
        dateTime = "\(Self.date(local)) \(Self.clock(local).map(Self.two).joined(separator: ":"))"
        let rest = instant.milliseconds - instant.seconds * 1_000
        milliseconds = String(repeating: "0", count: 3 - String(rest).count) + String(rest)
        offset = (minutes < 0 ? "-" : "+") + Self.two(abs(minutes) / 60) + ":" + Self.two(abs(minutes) % 60)
        gpsDate = Self.date(instant)
        gpsTime = Self.clock(instant).map { ExifRational(UInt32($0)) }
    }

    private static func date(_ instant: Instant) -> String {
        String(Zone.utc.date(at: instant).description.map { $0 == "-" ? ":" : $0 })
    }

    private static func clock(_ instant: Instant) -> [Int64] {
        let second = Zone.utc.secondOfDay(at: instant)
        return [second / 3_600, second / 60 % 60, second % 60]
    }

    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : String(number) }
}
