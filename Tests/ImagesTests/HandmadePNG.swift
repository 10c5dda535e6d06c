/// A PNG written by hand, so that what a test expects does not come from the library it tests.
struct HandmadePNG {
    var width: Int
    var height: Int
    /// 0 grey, 2 RGB, 3 palette, 4 grey with alpha, 6 RGB with alpha.
    var colourType: UInt8 = 2
    var bitDepth: UInt8 = 8
    /// The bytes of each pixel, row by row.
    var pixels: [[UInt8]]
    /// Chunks between header and pixels.
    var chunks: [(type: String, body: [UInt8])] = []
    /// Chunks behind the pixels.
    var lateChunks: [(type: String, body: [UInt8])] = []

    /// Four colours in RGB: red, green, blue and nearly white, each a quarter.
    static func quarters(width: Int = 24, height: Int = 16) -> HandmadePNG {
        HandmadePNG(
            width: width,
            height: height,
            pixels: (0..<width * height).map { colours[quarter($0, width, height)] }
        )
    }

    static let colours: [[UInt8]] = [[220, 30, 30], [30, 200, 30], [30, 30, 220], [240, 240, 240]]

    static func quarter(_ index: Int, _ width: Int, _ height: Int) -> Int {
        (index / width < height / 2 ? 0 : 2) + (index % width < width / 2 ? 0 : 1)
    }

    static func flat(_ colour: [UInt8], width: Int = 24, height: Int = 16) -> HandmadePNG {
        HandmadePNG(width: width, height: height, pixels: [[UInt8]](repeating: colour, count: width * height))
    }

    /// The same pixels with an EXIF orientation, before or behind them.
    func orientated(_ orientation: UInt8, isLate: Bool = false) -> HandmadePNG {
        let entry: [UInt8] = [0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0]
        var copy = self
        let exif: [UInt8] = [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 1, 0] + entry + [0, 0, 0, 0]
        if isLate { copy.lateChunks.append(("eXIf", exif)) } else { copy.chunks.append(("eXIf", exif)) }
        return copy
    }

    /// The pixels as EXIF 2.32 (tag 0x0112) says they are to be seen.
    func seen(_ orientation: Int) -> HandmadePNG {
        let (w, h) = (width, height)
        let isTurned = orientation >= 5
        var copy = self
        (copy.width, copy.height) = isTurned ? (h, w) : (w, h)
        copy.pixels = (0..<w * h).map { index in
            let (x, y) = (index % copy.width, index / copy.width)
            let (column, row) =
                switch orientation {
                case 2: (w - 1 - x, y)
                case 3: (w - 1 - x, h - 1 - y)
                case 4: (x, h - 1 - y)
                case 5: (y, x)
                case 6: (y, h - 1 - x)
                case 7: (w - 1 - y, h - 1 - x)
                case 8: (w - 1 - y, x)
                default: (x, y)
                }
            return pixels[row * w + column]
        }
        return copy
    }

    var bytes: [UInt8] {
        var raw: [UInt8] = []
        for row in 0..<height { raw += [0] + pixels[row * width..<(row + 1) * width].flatMap { $0 } }
        let header = Self.bigEndian(UInt32(width)) + Self.bigEndian(UInt32(height)) + [bitDepth, colourType, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Self.chunk("IHDR", header)
            + chunks.flatMap { Self.chunk($0.type, $0.body) } + Self.chunk("IDAT", Self.zlib(raw))
            + lateChunks.flatMap { Self.chunk($0.type, $0.body) } + Self.chunk("IEND", [])
    }

    static func chunk(_ type: String, _ body: [UInt8]) -> [UInt8] {
        let checked = Array(type.utf8) + body
        return bigEndian(UInt32(body.count)) + checked + bigEndian(crc32(checked))
    }

    /// A zlib stream of stored blocks (RFC 1950, RFC 1951 §3.2.4).
    private static func zlib(_ raw: [UInt8]) -> [UInt8] {
        var out: [UInt8] = [0x78, 0x01]
        var (low, high) = (UInt32(1), UInt32(0))
        for byte in raw {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        for start in stride(from: 0, to: raw.count, by: 65_535) {
            let block = raw[start..<min(raw.count, start + 65_535)]
            let size = UInt16(block.count)
            out += [start + block.count == raw.count ? 1 : 0]
            out += [UInt8(size & 255), UInt8(size >> 8), UInt8(~size & 255), UInt8(~size >> 8)] + block
        }
        return out + bigEndian(high << 16 | low)
    }

    static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    static func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var crc = ~UInt32(0)
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
