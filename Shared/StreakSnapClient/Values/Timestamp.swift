import Foundation

/// Instants as RFC 3339 texts (PF-1). Foundation's formatters take a fixed number of digits only.
enum Timestamp {
    /// In UTC, to the microsecond.
    static func text(_ date: Date) -> String {
        let micros = (date.timeIntervalSince1970 * 1_000_000).rounded()
        // Bounds of the protocol: the years 1 to 9999.
        let bounded = Int64(min(max(micros, -62_135_596_800_000_000), 253_402_300_799_000_000))
        let second = Int(bounded.dividedFloored(by: 1_000_000))
        let fraction = Int(bounded - Int64(second) * 1_000_000)
        let day = Int(Int64(second).dividedFloored(by: 86_400))
        let time = second - day * 86_400
        let date = CalendarDate(dayNumber: day)?.description ?? ""
        let clock = "\(digits(time / 3_600, 2)):\(digits(time / 60 % 60, 2)):\(digits(time % 60, 2))"
        var decimals = fraction == 0 ? "" : "." + digits(fraction, 6)
        while decimals.hasSuffix("0") { decimals.removeLast() }
        return "\(date)T\(clock)\(decimals)Z"
    }

    /// nil for a text that is no instant.
    static func date(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, let date = CalendarDate(text: String(decoding: bytes[0..<10], as: UTF8.self)),
            bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: "t"), bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":"), let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]),
            let second = number(bytes[17..<19]), hour < 24, minute < 60, second <= 60
        else { return nil }
        var rest = bytes[19...]
        var fraction = 0.0
        if rest.first == UInt8(ascii: ".") {
            let decimals = rest.dropFirst().prefix { (48...57).contains($0) }
            guard !decimals.isEmpty, let value = Double("0." + String(decoding: decimals, as: UTF8.self)) else { return nil }
            fraction = value
            rest = rest.dropFirst(1 + decimals.count)
        }
        guard let offset = offset(rest) else { return nil }
        let whole = date.dayNumber * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Date(timeIntervalSince1970: Double(whole) + fraction)
    }

    /// `Z` or `+hh:mm`, in seconds.
    private static func offset(_ text: ArraySlice<UInt8>) -> Int? {
        if text.count == 1, text.first == UInt8(ascii: "Z") || text.first == UInt8(ascii: "z") { return 0 }
        let parts = Array(text)
        guard parts.count == 6, parts[3] == UInt8(ascii: ":"), let hours = number(parts[1..<3]),
            let minutes = number(parts[4..<6])
        else { return nil }
        switch parts[0] {
        case UInt8(ascii: "+"): return hours * 3_600 + minutes * 60
        case UInt8(ascii: "-"): return -(hours * 3_600 + minutes * 60)
        default: return nil
        }
    }

    private static func number(_ text: ArraySlice<UInt8>) -> Int? {
        guard text.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int(String(decoding: text, as: UTF8.self))
    }
}

extension Int64 {
    fileprivate func dividedFloored(by divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : -((-self + divisor - 1) / divisor)
    }
}
