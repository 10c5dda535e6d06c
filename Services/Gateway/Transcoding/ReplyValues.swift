extension ReplyEncoder {
    /// What an absent scalar is.
    mutating func defaultValue(_ field: FieldTable) {
        switch field.kind {
        case .string, .bytes: out.append("\"\"")
        case .bool: out.append("false")
        case .enumeration: enumeration(field, 0)
        default: out.append(UInt8(ascii: "0"))
        }
    }

    /// Reads one value and writes it as JSON.
    @inline(__always)
    mutating func value(_ field: FieldTable, _ cursor: inout WireCursor) throws(WireProblem) {
        switch field.kind {
        case .string:
            let length = try cursor.length()
            try string(cursor.base + cursor.position, length)
            cursor.position &+= length
        case .message:
            let length = try cursor.length()
            let inner = WireCursor(base: cursor.base, position: cursor.position, end: cursor.position &+ length)
            cursor.position &+= length
            try message(field.typeIndex, inner)
        case .int32: out.decimal(Int64(Int32(truncatingIfNeeded: try cursor.varint())))
        case .int64: out.decimal(Int64(bitPattern: try cursor.varint()))
        case .uint32: out.decimal(UInt64(UInt32(truncatingIfNeeded: try cursor.varint())))
        case .uint64: out.decimal(try cursor.varint())
        case .bool: if try cursor.varint() != 0 { out.append("true") } else { out.append("false") }
        case .enumeration: enumeration(field, Int32(truncatingIfNeeded: try cursor.varint()))
        default: try rareValue(field, &cursor)
        }
    }

    private mutating func rareValue(_ field: FieldTable, _ cursor: inout WireCursor) throws(WireProblem) {
        switch field.kind {
        case .timestamp:
            let length = try cursor.length()
            let inner = WireCursor(base: cursor.base, position: cursor.position, end: cursor.position &+ length)
            cursor.position &+= length
            try WireTimestamp(wire: inner).writeText(to: &out)
        case .bytes:
            let length = try cursor.length()
            base64(cursor.base + cursor.position, length)
            cursor.position &+= length
        case .sint32, .sint64:
            let raw = try cursor.varint()
            let value = field.kind == .sint32 ? UInt64(UInt32(truncatingIfNeeded: raw)) : raw
            out.decimal(Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1))
        case .fixed32: out.decimal(UInt64(try cursor.fixed32()))
        case .fixed64: out.decimal(try cursor.fixed64())
        case .sfixed32: out.decimal(Int64(Int32(bitPattern: try cursor.fixed32())))
        case .sfixed64: out.decimal(Int64(bitPattern: try cursor.fixed64()))
        case .float:
            let value = Float(bitPattern: try cursor.fixed32())
            floating(value.isFinite ? value.description : nil, whole: value == value.rounded() && abs(value) < 1e7)
        default:
            let value = Double(bitPattern: try cursor.fixed64())
            floating(value.isFinite ? value.description : nil, whole: value == value.rounded() && abs(value) < 1e15)
        }
    }

    /// The shortest text that reads back as the same number; JSON has no word for the others, so they are null.
    private mutating func floating(_ text: String?, whole: Bool) {
        guard let text else { return out.append("null") }
        // 3.0 is 3 in JSON.
        out.append(Array(whole && text.hasSuffix(".0") ? text.utf8.dropLast(2) : text.utf8[...]))
    }

    private mutating func enumeration(_ field: FieldTable, _ number: Int32) {
        if let name = enumName(field, number), let start = name.baseAddress {
            out.append(start, name.count)
        } else {
            out.decimal(Int64(number))
        }
    }

    /// A quoted string: clean runs are copied as they are, UTF-8 is checked once when there is any.
    @inline(__always)
    mutating func string(_ start: UnsafePointer<UInt8>, _ count: Int) throws(WireProblem) {
        out.reserve(count &+ 2)
        out.put(UInt8(ascii: "\""))
        var highBit = false
        let clean = ByteText.nextSpecial(start, from: 0, to: count, sawHighBit: &highBit)
        (out.base + out.count).initialize(from: start, count: clean)
        out.count &+= clean
        if clean < count { escaped(start, from: clean, count, &highBit) }
        if highBit, !ByteText.isUTF8(start, count) { throw .invalidUTF8 }
        out.append(UInt8(ascii: "\""))
    }

    private mutating func escaped(_ start: UnsafePointer<UInt8>, from first: Int, _ count: Int, _ highBit: inout Bool) {
        var position = first
        while position < count {
            out.reserve(6)
            out.put(UInt8(ascii: "\\"))
            switch start[position] {
            case UInt8(ascii: "\""): out.put(UInt8(ascii: "\""))
            case UInt8(ascii: "\\"): out.put(UInt8(ascii: "\\"))
            case 0x0A: out.put(UInt8(ascii: "n"))
            case 0x0D: out.put(UInt8(ascii: "r"))
            case 0x09: out.put(UInt8(ascii: "t"))
            default:
                out.append("u00")
                out.reserve(2)
                let low = start[position] & 15
                out.put(48 + start[position] >> 4)
                out.put(low < 10 ? 48 + low : 87 + low)
            }
            position += 1
            let next = ByteText.nextSpecial(start, from: position, to: count, sawHighBit: &highBit)
            out.append(start + position, next - position)
            position = next
        }
    }

    private mutating func base64(_ start: UnsafePointer<UInt8>, _ count: Int) {
        let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        let letters = alphabet.utf8Start
        out.reserve((count + 2) / 3 * 4 + 2)
        out.put(UInt8(ascii: "\""))
        var position = 0
        while position < count {
            let left = count - position
            let first = UInt32(start[position]) << 16
            let second = left > 1 ? UInt32(start[position + 1]) << 8 : 0
            let third = left > 2 ? UInt32(start[position + 2]) : 0
            let bits = first | second | third
            out.put(letters[Int(bits >> 18)])
            out.put(letters[Int(bits >> 12 & 63)])
            out.put(left > 1 ? letters[Int(bits >> 6 & 63)] : UInt8(ascii: "="))
            out.put(left > 2 ? letters[Int(bits & 63)] : UInt8(ascii: "="))
            position += 3
        }
        out.put(UInt8(ascii: "\""))
    }
}
