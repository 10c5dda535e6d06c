private import Glibc

/// The number of scans of a JPEG. Each scan of a progressive JPEG may cover the whole picture with a few bytes of file. Half a
/// megabyte of scans keeps a decoder busy for minutes, so they are counted before decoding.
enum JPEGScans {
    /// The limit; encoders make about ten.
    static let most = 100

    /// The scans of the first image in these bytes, counted no further than `most` + 1.
    static func count(_ bytes: UnsafeRawBufferPointer) -> Int {
        var scans = 0
        var position = 2
        while let marker = next(bytes, from: &position) {
            switch marker {
            case 0xD9: return scans
            case 0xDA:
                scans += 1
                if scans > most { return scans }
            default: break
            }
            guard position + 2 <= bytes.count else { return scans }
            position += max(2, Int(bytes[position]) << 8 | Int(bytes[position + 1]))
        }
        return scans
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
