internal import Kernel

/// `google.protobuf.Timestamp` as seconds and nanoseconds, and its RFC 3339 text.
struct WireTimestamp {
    /// Seconds of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, the bounds that timestamp.proto sets.
    static let range: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    var seconds: Int64
    var nanoseconds: Int32

    /// Reads RFC 3339 text; nil for anything else. Digits beyond nanoseconds are cut off; `:60` is the second after.
    init?(text: UnsafePointer<UInt8>, _ count: Int) {
        guard count >= 20, count <= 40, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] == UInt8(ascii: "T") || text[10] == UInt8(ascii: "t"), text[13] == UInt8(ascii: ":"),
            text[16] == UInt8(ascii: ":"),
            let year = Self.number(text, 0, 4), let month = Self.number(text, 5, 2), let day = Self.number(text, 8, 2),
            let date = CalendarDate(year: year, month: month, day: day),
            let hour = Self.number(text, 11, 2), hour <= 23, let minute = Self.number(text, 14, 2), minute <= 59,
            let second = Self.number(text, 17, 2), second <= 60
        else { return nil }
        var position = 19
        var nanoseconds = 0
        if text[position] == UInt8(ascii: ".") {
            position += 1
            let start = position
            var unit = 100_000_000
            while position < count, text[position] >= 48, text[position] <= 57 {
                nanoseconds += Int(text[position] - 48) * unit
                unit /= 10
                position += 1
            }
            guard position > start else { return nil }
        }
        guard position < count, let offset = Self.offset(text + position, count - position) else { return nil }
        let seconds = Int64(date.dayNumber) * 86_400 + Int64(hour * 3_600 + minute * 60 + second - offset)
        guard Self.range.contains(seconds) else { return nil }
        self.seconds = seconds
        self.nanoseconds = Int32(nanoseconds)
    }

    /// Reads the wire bytes of a Timestamp.
    init(wire: WireCursor) throws(WireProblem) {
        var cursor = wire
        seconds = 0
        nanoseconds = 0
        while cursor.position < cursor.end {
            let tag = try cursor.tag()
            switch tag {
            case 0x08: seconds = Int64(bitPattern: try cursor.varint())
            case 0x10: nanoseconds = Int32(truncatingIfNeeded: try cursor.varint())
            default: try cursor.skip(wireType: tag & 7)
            }
        }
        guard Self.range.contains(seconds), (0...999_999_999).contains(nanoseconds) else { throw .badTimestamp }
    }

    /// Writes the fields of a Timestamp (without a length).
    func write(to out: inout ByteWriter) {
        if seconds != 0 {
            out.append(0x08)
            out.varint(UInt64(bitPattern: seconds))
        }
        if nanoseconds != 0 {
            out.append(0x10)
            out.varint(UInt64(nanoseconds))
        }
    }

    /// Writes quoted RFC 3339 in UTC with 0, 3, 6 or 9 digits of a second, as few as lose nothing.
    func writeText(to out: inout ByteWriter) {
        var day = seconds / 86_400
        var second = Int(seconds % 86_400)
        if second < 0 {
            second += 86_400
            day -= 1
        }
        let (year, month, dayOfMonth) = CalendarDate(dayNumber: Int32(day)).components
        out.reserve(40)
        out.put(UInt8(ascii: "\""))
        out.padded(year, width: 4)
        out.put(UInt8(ascii: "-"))
        out.padded(month, width: 2)
        out.put(UInt8(ascii: "-"))
        out.padded(dayOfMonth, width: 2)
        out.put(UInt8(ascii: "T"))
        out.padded(second / 3_600, width: 2)
        out.put(UInt8(ascii: ":"))
        out.padded(second / 60 % 60, width: 2)
        out.put(UInt8(ascii: ":"))
        out.padded(second % 60, width: 2)
        if nanoseconds != 0 {
            out.put(UInt8(ascii: "."))
            if nanoseconds % 1_000_000 == 0 {
                out.padded(Int(nanoseconds / 1_000_000), width: 3)
            } else if nanoseconds % 1_000 == 0 {
                out.padded(Int(nanoseconds / 1_000), width: 6)
            } else {
                out.padded(Int(nanoseconds), width: 9)
            }
        }
        out.put(UInt8(ascii: "Z"))
        out.put(UInt8(ascii: "\""))
    }

    /// Seconds east of UTC from `Z`, `+hh:mm` or `-hh:mm`.
    private static func offset(_ text: UnsafePointer<UInt8>, _ count: Int) -> Int? {
        if count == 1 { return text[0] | 0x20 == UInt8(ascii: "z") ? 0 : nil }
        guard count == 6, text[3] == UInt8(ascii: ":"), let hours = number(text, 1, 2), hours <= 23,
            let minutes = number(text, 4, 2), minutes <= 59
        else { return nil }
        switch text[0] {
        case UInt8(ascii: "+"): return hours * 3_600 + minutes * 60
        case UInt8(ascii: "-"): return -(hours * 3_600 + minutes * 60)
        default: return nil
        }
    }

    @inline(__always)
    private static func number(_ text: UnsafePointer<UInt8>, _ start: Int, _ length: Int) -> Int? {
        var value = 0
        for index in start..<start + length {
            let digit = text[index] &- 48
            guard digit <= 9 else { return nil }
            value = value * 10 + Int(digit)
        }
        return value
    }
}
