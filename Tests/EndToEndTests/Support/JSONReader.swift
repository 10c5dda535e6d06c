/// Reads one JSON value strictly (RFC 8259).
///
/// Foundation's decoder tries one type after the other, and the test library takes a backtrace of each error that is thrown on the way:
/// a description of the API took seconds.
struct JSONReader {
    struct Malformed: Error {
        let offset: Int
    }

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The value that the bytes are.
    mutating func document() throws -> JSON {
        let value = try value()
        skipSpace()
        guard position == bytes.count else { throw malformed }
        return value
    }

    private var malformed: Malformed { Malformed(offset: position) }
    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    /// Whether this character comes, which is passed then.
    private mutating func takes(_ character: Character) -> Bool {
        guard next == character.asciiValue else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ text: String) throws {
        guard bytes[position...].starts(with: text.utf8) else { throw malformed }
        position += text.utf8.count
    }

    private mutating func value() throws -> JSON {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        case UInt8(ascii: "t"):
            try expect("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try expect("false")
            return .bool(false)
        default: return .number(try number())
        }
    }

    private mutating func object() throws -> JSON {
        position += 1
        var members: [String: JSON] = [:]
        skipSpace()
        if takes("}") { return .object(members) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw malformed }
            let name = try string()
            skipSpace()
            guard takes(":") else { throw malformed }
            members[name] = try value()
            skipSpace()
        } while takes(",")
        guard takes("}") else { throw malformed }
        return .object(members)
    }

    private mutating func array() throws -> JSON {
        position += 1
        var values: [JSON] = []
        skipSpace()
        if takes("]") { return .array(values) }
        repeat {
            values.append(try value())
            skipSpace()
        } while takes(",")
        guard takes("]") else { throw malformed }
        return .array(values)
    }

    private mutating func number() throws -> Double {
        let rest = String(decoding: bytes[position...].prefix { $0 != UInt8(ascii: ",") && $0 > 0x20 }.prefix(400), as: UTF8.self)
        guard let match = rest.prefixMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/), let number = Double(match.0)
        else { throw malformed }
        position += match.0.utf8.count
        return number
    }

    private mutating func string() throws -> String {
        position += 1
        var text: [UInt8] = []
        while let byte = next, byte >= 0x20 {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: text, as: UTF8.self) else { throw malformed }
                return text
            case UInt8(ascii: "\\"): text += try escaped().utf8
            default: text.append(byte)
            }
        }
        throw malformed
    }

    private mutating func escaped() throws -> String {
        guard let byte = next else { throw malformed }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return String(UnicodeScalar(byte))
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            var units = [try unit()]
            if UTF16.isLeadSurrogate(units[0]) {
                try expect("\\u")
                units.append(try unit())
            }
            guard let text = String(validating: units, as: UTF16.self) else { throw malformed }
            return text
        default: throw malformed
        }
    }

    private mutating func unit() throws -> UInt16 {
        let digits = String(decoding: bytes[position...].prefix(4), as: UTF8.self)
        guard digits.utf8.count == 4, digits.allSatisfy(\.isHexDigit), let unit = UInt16(digits, radix: 16) else {
            throw malformed
        }
        position += 4
        return unit
    }
}
