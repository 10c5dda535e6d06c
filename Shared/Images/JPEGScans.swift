private import Glibc

/// Counts what a few bytes of a JPEG make a decoder do over and over, before it decodes.
///
/// Each scan of a progressive JPEG may cover the whole picture: half a megabyte of them keeps a decoder busy for minutes. And libjpeg goes
/// through all segments of metadata that it has for each further one: a file of empty ones keeps it busy for hours.
enum JPEGScans {
    /// The limit of scans; encoders make about ten.
    static let most = 100
    /// The limit of segments, scans among them. A photo has some twenty, and up to 200 with a large preview or profile in it.
    static let mostSegments = 2_000

    /// Whether the first image in these bytes is within both limits.
    static func areFew(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var (scans, segments) = (0, 0)
        var position = 2
        while let marker = next(bytes, from: &position), marker != 0xD9 {
            segments += 1
            if marker == 0xDA { scans += 1 }
            guard scans <= most, segments <= mostSegments else { return false }
            guard position + 2 <= bytes.count else { break }
            position += max(2, Int(bytes[position]) << 8 | Int(bytes[position + 1]))
        }
        return true
    }

    /// The next marker, except those inside coded pixels; `position` is moved after it.
    private static func next(_ bytes: UnsafeRawBufferPointer, from position: inout Int) -> UInt8? {
        while position + 1 < bytes.count, let start = bytes.baseAddress {
            guard let found = memchr(start + position, 0xFF, bytes.count - position) else { return nil }
            position = UnsafeRawPointer(found) - start + 1
            guard position < bytes.count else { return nil }
            let marker = bytes[position]
            // A stuffed 0xFF, a restart, a fill byte.
            if marker == 0 || (0xD0...0xD8).contains(marker) || marker == 1 || marker == 0xFF { continue }
            position += 1
            return marker
        }
        return nil
    }
}
