import Kernel

/// The Exif of a photo that is downloaded (PL-6): when and where it was taken, and nothing else.
///
/// It is a segment of JPEG with a small TIFF in it: three lists of tags, in the order of the tags, big-endian. Values of more than four bytes
/// lie behind their list.
public enum ExifBlock {
    /// A JPEG with the tags, which follow its first two bytes.
    ///
    /// - Parameter jpeg: without Exif, as renditions are.
    /// - Returns: nil for bytes that are no JPEG.
    public static func written(into jpeg: [UInt8], time: ExifTime?, position: ExifPosition) -> [UInt8]? {
        guard jpeg.starts(with: [0xFF, 0xD8, 0xFF]) else { return nil }
        let tiff = tiff(time, position)
        var result: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE1]
        result.reserveCapacity(jpeg.count + tiff.count + 10)
        result += bytes(UInt16(tiff.count + 8)) + Array("Exif".utf8) + [0, 0] + tiff
        return result + jpeg.dropFirst(2)
    }

    /// A tag with its type, how many values it has, and their bytes.
    private struct Tag {
        let number: UInt16
        let type: UInt16
        let count: Int
        let value: [UInt8]

        static func text(_ number: UInt16, _ text: String) -> Tag {
            let value = Array(text.utf8) + [0]
            return Tag(number: number, type: 2, count: value.count, value: value)
        }

        static func long(_ number: UInt16, _ value: Int) -> Tag {
            Tag(number: number, type: 4, count: 1, value: bytes(UInt32(value)))
        }

        static func rationals(_ number: UInt16, _ values: [ExifRational]) -> Tag {
            let value = values.flatMap { bytes($0.numerator) + bytes($0.denominator) }
            return Tag(number: number, type: 5, count: values.count, value: value)
        }

        static func raw(_ number: UInt16, _ type: UInt16, _ value: [UInt8]) -> Tag {
            Tag(number: number, type: type, count: value.count, value: value)
        }
    }

    private static func tiff(_ time: ExifTime?, _ position: ExifPosition) -> [UInt8] {
        let gps = gps(time, position)
        let photo = photo(time)
        // Header, then the first list with two pointers, the second, the third.
        let first = 8
        let second = first + size([.long(0x8769, 0), .long(0x8825, 0)])
        let third = second + size(photo)
        let header = Array("MM".utf8) + [0, 42] + bytes(UInt32(first))
        return header + list([.long(0x8769, second), .long(0x8825, third)], at: first) + list(photo, at: second)
            + list(gps, at: third)
    }

    private static func photo(_ time: ExifTime?) -> [Tag] {
        let version = Tag.raw(0x9000, 7, Array("0232".utf8))
        guard let time else { return [version] }
        return [
            version, .text(0x9003, time.dateTime), .text(0x9004, time.dateTime), .text(0x9011, time.offset),
            .text(0x9012, time.offset), .text(0x9291, time.milliseconds), .text(0x9292, time.milliseconds),
        ]
    }

    private static func gps(_ time: ExifTime?, _ position: ExifPosition) -> [Tag] {
        let place: [Tag] = [
            .raw(0, 1, [2, 3, 0, 0]), .text(1, position.latitudeRef), .rationals(2, position.latitude),
            .text(3, position.longitudeRef), .rationals(4, position.longitude),
        ]
        guard let time else { return place + [.text(18, "WGS-84")] }
        return place + [.rationals(7, time.gpsTime), .text(18, "WGS-84"), .text(29, time.gpsDate)]
    }

    /// The bytes of a list with what lies behind it.
    private static func size(_ tags: [Tag]) -> Int {
        6 + 12 * tags.count + tags.reduce(0) { $0 + ($1.value.count > 4 ? $1.value.count + $1.value.count % 2 : 0) }
    }

    private static func list(_ tags: [Tag], at start: Int) -> [UInt8] {
        var head = bytes(UInt16(tags.count))
        var values: [UInt8] = []
        let behind = start + 6 + 12 * tags.count
        for tag in tags {
            head += bytes(tag.number) + bytes(tag.type) + bytes(UInt32(tag.count))
            if tag.value.count <= 4 {
                head += tag.value + [UInt8](repeating: 0, count: 4 - tag.value.count)
            } else {
                head += bytes(UInt32(behind + values.count))
                values += tag.value + (tag.value.count.isMultiple(of: 2) ? [] : [0])
            }
        }
        return head + [0, 0, 0, 0] + values
    }

    private static func bytes(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        bytes(UInt16(number >> 16)) + bytes(UInt16(number & 0xFFFF))
    }
}
