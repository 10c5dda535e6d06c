private import CVips
private import Glibc
private import Kernel

/// A made-up landscape photo, for the demo and for tests: the same seed gives the same picture.
///
/// It can have metadata like a phone's photo, so that tests can show their removal.
public struct SamplePhoto: Sendable {
    /// Chooses colours, hills and noise.
    public var seed: UInt64
    /// Width in pixels as stored, before orientation.
    public var width: Int
    /// Height in pixels as stored, before orientation.
    public var height: Int
    /// The position in its GPS fields, in degrees; nil: no GPS fields.
    public var location: (latitude: Double, longitude: Double)?
    /// EXIF orientation, 1 (upright) … 8.
    public var orientation: Int
    /// A text for the EXIF description and an XMP packet; nil: neither.
    public var comment: String?

    /// A photo; 1600 × 1200 upright without metadata by default.
    public init(
        seed: UInt64,
        width: Int = 1600,
        height: Int = 1200,
        location: (latitude: Double, longitude: Double)? = nil,
        orientation: Int = 1,
        comment: String? = nil
    ) {
        self.seed = seed
        self.width = max(1, width)
        self.height = max(1, height)
        self.location = location
        self.orientation = min(max(orientation, 1), 8)
        self.comment = comment
    }

    /// The photo as JPEG. It needs about 50 ms of CPU.
    ///
    /// - Throws: `INTERNAL` when libvips is missing or fails.
    public func jpeg(quality: Int = 90) throws -> [UInt8] {
        try encoded { cvips_save_jpeg($0, Int32(quality), 1, $1, $2) }
    }

    /// The photo as PNG. It needs up to a second of CPU.
    ///
    /// - Throws: `INTERNAL` when libvips is missing or fails.
    public func png() throws -> [UInt8] {
        try encoded { cvips_save_png($0, 1, $1, $2) }
    }

    /// The photo as WebP. It needs up to a second of CPU.
    ///
    /// - Throws: `INTERNAL` when libvips is missing or fails.
    public func webp(quality: Int = 80) throws -> [UInt8] {
        try encoded { cvips_save_webp($0, Int32(quality), 1, $1, $2) }
    }

    private typealias Save = (OpaquePointer, UnsafeMutablePointer<UnsafeMutableRawPointer?>, UnsafeMutablePointer<Int>) -> Int32

    private func encoded(_ save: Save) throws -> [UInt8] {
        do {
            try Vips.start()
            return try paint().withUnsafeBytes { pixels in
                let image = try VipsImage(cvips_over_pixels(pixels.baseAddress, pixels.count, Int32(width), Int32(height)))
                image.with(setMetadata)
                return try Vips.bytes { bytes, count in image.with { save($0, bytes, count) } }
            }
        } catch {
            throw ServiceError(.internal, "INTERNAL", "Cannot make a sample photo: \(error)")
        }
    }

    private func setMetadata(_ image: OpaquePointer) {
        if orientation != 1 { cvips_set_orientation(image, Int32(orientation)) }
        if let comment {
            cvips_set_text(image, "exif-ifd0-ImageDescription", comment)
            let packet = Array("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><!-- \(comment) --></x:xmpmeta>".utf8)
            cvips_set_blob(image, "xmp-data", packet, packet.count)
        }
        if let location {
            cvips_set_text(image, "exif-ifd3-GPSLatitudeRef", location.latitude < 0 ? "S" : "N")
            cvips_set_text(image, "exif-ifd3-GPSLatitude", Self.degrees(location.latitude))
            cvips_set_text(image, "exif-ifd3-GPSLongitudeRef", location.longitude < 0 ? "W" : "E")
            cvips_set_text(image, "exif-ifd3-GPSLongitude", Self.degrees(location.longitude))
        }
    }

    /// Degrees, minutes and hundredths of seconds as EXIF rationals: `52/1 31/1 1200/100`.
    private static func degrees(_ value: Double) -> String {
        let hundredths = Int((abs(value) * 360_000).rounded())
        return "\(hundredths / 360_000)/1 \(hundredths / 6_000 % 60)/1 \(hundredths % 6_000)/100"
    }

    /// A sky from light to deep, a sun, three rows of hills, and the noise of a sensor: 8-bit RGB.
    private func paint() -> [UInt8] {
        var noise = Noise(state: seed)
        let sky = noise.colour(atLeast: 120)
        let deep = sky.map { $0 / 2 }
        let sun = (x: Int(noise.next() % UInt64(width)), y: height / 4, radius: max(1, min(width, height) / 10))
        let hills = (0..<3).map { row in
            (
                base: height * (5 + row) / 9, swing: Double(height) / Double(12 + row), phase: Double(noise.next() % 628) / 100,
                colour: noise.colour(atLeast: 20).map { $0 / (row + 1) }
            )
        }
        var pixels = [UInt8](repeating: 0, count: width * height * 3)
        for x in 0..<width {
            let angle = Double(x) / Double(width) * 9
            let edges = hills.map { $0.base + Int($0.swing * sin(angle + $0.phase)) }
            for y in 0..<height {
                let offset = (x - sun.x, y - sun.y)
                let hill = edges.lastIndex { y >= $0 }
                let isSun = hill == nil && offset.0 * offset.0 + offset.1 * offset.1 < sun.radius * sun.radius
                let grain = Int(noise.next() % 13) - 6
                for channel in 0..<3 {
                    let ground = hill.map { hills[$0].colour[channel] }
                    let air = isSun ? 250 - 40 * channel : deep[channel] + (sky[channel] - deep[channel]) * y / height
                    pixels[(y * width + x) * 3 + channel] = UInt8(clamping: (ground ?? air) + grain)
                }
            }
        }
        return pixels
    }
}

/// Pseudorandom numbers from a seed (Vigna's SplitMix64).
private struct Noise {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func colour(atLeast darkest: Int) -> [Int] {
        (0..<3).map { _ in darkest + Int(next() % UInt64(236 - darkest)) }
    }
}
