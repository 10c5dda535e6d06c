extension Instant: CustomStringConvertible {
    /// RFC 3339 in UTC, `2026-01-02T03:04:05Z`, with milliseconds or microseconds only when there are any.
    public var description: String {
        let (second, fraction) = microseconds.flooredDivision(by: 1_000_000)
        let (day, secondOfDay) = second.flooredDivision(by: 86_400)
        let date = CalendarDate(dayNumber: Int32(clamping: day))
        let time = [secondOfDay / 3_600, secondOfDay / 60 % 60, secondOfDay % 60]
            .map { CalendarDate.padded(Int($0), 2) }.joined(separator: ":")
        guard fraction != 0 else { return "\(date)T\(time)Z" }
        let digits =
            fraction % 1_000 == 0
            ? CalendarDate.padded(Int(fraction / 1_000), 3) : CalendarDate.padded(Int(fraction), 6)
        return "\(date)T\(time).\(digits)Z"
    }

    /// An instant from RFC 3339 (`2026-01-02T03:04:05.678+02:00`); nil for anything else.
    ///
    /// Digits beyond microseconds are cut off; a leap second (`:60`) is read as the second after it.
    public init?(rfc3339 text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 40, bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: "t"),
            let date = CalendarDate(String(decoding: bytes[0..<10], as: UTF8.self)),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let hour = Self.twoDigits(bytes, at: 11, upTo: 23), let minute = Self.twoDigits(bytes, at: 14, upTo: 59),
            let second = Self.twoDigits(bytes, at: 17, upTo: 60)
        else { return nil }
        var position = 19
        var fraction: Int64 = 0
        if bytes[position] == UInt8(ascii: ".") {
            position += 1
            var unit: Int64 = 100_000
            let start = position
            while position < bytes.count, bytes[position] >= 48, bytes[position] <= 57 {
                fraction += Int64(bytes[position] - 48) * unit
                unit /= 10
                position += 1
            }
            guard position > start, position < bytes.count else { return nil }
        }
        guard let offset = Self.offset(bytes[position...]) else { return nil }
        let seconds = Int64(date.dayNumber) * 86_400 + hour * 3_600 + minute * 60 + second - offset
        self.init(microseconds: seconds * 1_000_000 + fraction)
    }

    /// Seconds east of UTC from `Z`, `+hh:mm` or `-hh:mm`.
    private static func offset(_ suffix: ArraySlice<UInt8>) -> Int64? {
        let bytes = Array(suffix)
        if bytes == [UInt8(ascii: "Z")] || bytes == [UInt8(ascii: "z")] { return 0 }
        guard bytes.count == 6, bytes[3] == UInt8(ascii: ":"),
            let hours = twoDigits(bytes, at: 1, upTo: 23), let minutes = twoDigits(bytes, at: 4, upTo: 59)
        else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "+"): return hours * 3_600 + minutes * 60
        case UInt8(ascii: "-"): return -(hours * 3_600 + minutes * 60)
        default: return nil
        }
    }

    private static func twoDigits(_ bytes: [UInt8], at index: Int, upTo limit: Int64) -> Int64? {
        guard index + 1 < bytes.count, (48...57).contains(bytes[index]), (48...57).contains(bytes[index + 1]) else { return nil }
        let value = Int64(bytes[index] - 48) * 10 + Int64(bytes[index + 1] - 48)
        return value <= limit ? value : nil
    }
}
