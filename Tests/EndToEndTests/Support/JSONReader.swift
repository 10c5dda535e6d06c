/// Reads one JSON value strictly (RFC 8259).
///
/// Foundation's decoder tries one type after the other, and the test library takes a backtrace of each error that is thrown on the way:
/// a description of the API took seconds. Tests are not optimised: bytes are read by a pointer, whose subscript is inlined all the same.
struct JSONReader {
    struct Malformed: Error {
        let offset: Int
    }

    private let bytes: UnsafePointer<UInt8>
    private let count: Int
    private var position = 0

    /// The value that the bytes are.
    static func value(of bytes: [UInt8]) throws -> JSON {
        // A last byte that no value has: what reads on past the end stops there.
        try (bytes + [0]).withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { throw Malformed(offset: 0) }
            var reader = JSONReader(bytes: base, count: bytes.count)
            return try reader.document()
        }
    }

    private init(bytes: UnsafePointer<UInt8>, count: Int) { (self.bytes, self.count) = (bytes, count) }

    private mutating func document() throws -> JSON {
        let value = try value()
        skipSpace()
        guard position == count else { throw malformed }
        return value
    }

    private var malformed: Malformed { Malformed(offset: position) }

    private mutating func skipSpace() {
        while true {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    /// Whether this byte comes, which is passed then.
    private mutating func takes(_ byte: UInt8) -> Bool {
        guard bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ text: StaticString) throws {
        for index in 0..<text.utf8CodeUnitCount {
            guard takes(text.utf8Start[index]) else { throw malformed }
        }
    }

    private mutating func value() throws -> JSON {
        skipSpace()
        switch bytes[position] {
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
        if takes(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard bytes[position] == UInt8(ascii: "\"") else { throw malformed }
            let name = try string()
            skipSpace()
            guard takes(UInt8(ascii: ":")) else { throw malformed }
            members[name] = try value()
            skipSpace()
        } while takes(UInt8(ascii: ","))
        guard takes(UInt8(ascii: "}")) else { throw malformed }
        return .object(members)
    }

    private mutating func array() throws -> JSON {
        position += 1
        var values: [JSON] = []
        skipSpace()
        if takes(UInt8(ascii: "]")) { return .array(values) }
        repeat {
            values.append(try value())
            skipSpace()
        } while takes(UInt8(ascii: ","))
        guard takes(UInt8(ascii: "]")) else { throw malformed }
        return .array(values)
    }

    /// `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?`
    private mutating func number() throws -> Double {
        let start = position
        _ = takes(UInt8(ascii: "-"))
        if !takes(UInt8(ascii: "0")) { try digits() }
        if takes(UInt8(ascii: ".")) { try digits() }
        if takes(UInt8(ascii: "e")) || takes(UInt8(ascii: "E")) {
            if !takes(UInt8(ascii: "-")) { _ = takes(UInt8(ascii: "+")) }
            try digits()
        }
        guard let number = Double(try text(from: start)) else { throw malformed }
        return number
    }

    private mutating func digits() throws {
        let start = position
        while bytes[position] >= 0x30, bytes[position] <= 0x39 { position += 1 }
        guard position > start else { throw malformed }
    }

    /// What was passed since.
    private func text(from start: Int) throws -> String {
        let passed = UnsafeBufferPointer(start: bytes + start, count: position - start)
        guard let text = String(validating: passed, as: UTF8.self) else { throw malformed }
        return text
    }

    private mutating func string() throws -> String {
        position += 1
        var whole = ""
        while true {
            let start = position
            while bytes[position] >= 0x20, bytes[position] != UInt8(ascii: "\""), bytes[position] != UInt8(ascii: "\\") {
                position += 1
            }
            let part = try text(from: start)
            if takes(UInt8(ascii: "\"")) { return whole.isEmpty ? part : whole + part }
            guard takes(UInt8(ascii: "\\")) else { throw malformed }
            whole += part
            whole += try escaped()
        }
    }

    private mutating func escaped() throws -> String {
        let byte = bytes[position]
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
        let start = position
        while position < start + 4 {
            switch bytes[position] {
            case 0x30...0x39, 0x41...0x46, 0x61...0x66: position += 1
            default: throw malformed
            }
        }
        guard let unit = UInt16(try text(from: start), radix: 16) else { throw malformed }
        return unit
    }
}
