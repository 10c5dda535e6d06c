/// The markers of a JPEG up to its pixels, read independently of libvips.
struct JPEGSegments {
    /// Marker bytes in order (0xE1 = APP1 …).
    var markers: [UInt8] = []
    /// Width and height from the frame header.
    var size = (width: 0, height: 0)
    /// Colour components from the frame header.
    var components = 0
    /// The identifier of each application segment ("Exif", "JFIF", "ICC_PROFILE").
    var identifiers: [String] = []

    init?(_ bytes: [UInt8]) {
        guard bytes.starts(with: [0xFF, 0xD8]), bytes.suffix(2) == [0xFF, 0xD9] else { return nil }
        var position = 2
        while position + 4 <= bytes.count, bytes[position] == 0xFF {
            let marker = bytes[position + 1]
            let length = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
            markers.append(marker)
            let body = bytes[(position + 4)..<min(bytes.count, position + 2 + length)]
            if (0xE0...0xEF).contains(marker) {
                identifiers.append(String(decoding: body.prefix { $0 != 0 }, as: UTF8.self))
            }
            if (0xC0...0xC2).contains(marker) {
                let frame = Array(body)
                components = Int(frame[5])
                size = (width: Int(frame[3]) << 8 | Int(frame[4]), height: Int(frame[1]) << 8 | Int(frame[2]))
            }
            if marker == 0xDA { return }
            position += 2 + length
        }
        return nil
    }
}
