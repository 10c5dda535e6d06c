/// Writes single field values as protobuf from what text says. Returns false when the text is not such a value.
struct ValueWriter: ~Copyable {
    let tables: SchemaTables
    var out: ByteWriter
    private var standIns: StandIns

    init(tables: SchemaTables, capacity: Int, standIns: StandIns = .zeros) {
        self.tables = tables
        self.out = ByteWriter(capacity: capacity)
        self.standIns = standIns
    }

    /// What keeps the places of numbers and booleans that cannot be read. What is wrong with a request whichever stand there does not depend on
    /// them.
    enum StandIns {
        /// 0 and false.
        case zeros
        /// Numbers that differ, from this one on, and true.
        case different(Int)
    }

    /// How a value is put down.
    struct Mode {
        /// With the field's tag; elements of a packed field go without.
        var tagged: Bool
        /// A proto3 scalar that is its default is not on the wire.
        var omitsDefault: Bool

        static let plain = Mode(tagged: true, omitsDefault: true)
        static let present = Mode(tagged: true, omitsDefault: false)
        static let packed = Mode(tagged: false, omitsDefault: false)
    }

    @inline(__always)
    mutating func tag(_ field: FieldTable) {
        out.reserve(8)
        UnsafeMutableRawPointer(out.base + out.count).storeBytes(of: field.tag.littleEndian, as: UInt64.self)
        out.count &+= Int(field.tagLength)
    }

    /// The content of a string or bytes field.
    @inline(__always)
    mutating func delimited(_ field: FieldTable, _ bytes: UnsafeBufferPointer<UInt8>, _ mode: Mode) {
        if bytes.isEmpty && mode.omitsDefault { return }
        tag(field)
        out.varint(UInt64(bytes.count))
        if let base = bytes.baseAddress { out.append(base, bytes.count) }
    }

    /// What keeps the place of a value that cannot be read: a text that is no id or date, an instant that is none, or what `StandIns` says. So the
    /// service knows that something was sent, and of an id or instant that it could not be read.
    mutating func standIn(_ field: FieldTable, _ mode: Mode) {
        switch field.kind {
        case .string, .bytes: standIn(field, [UInt8(ascii: "?")], mode)
        // 1,000,000,000 nanoseconds.
        case .timestamp: standIn(field, [0x10, 0x80, 0x94, 0xEB, 0xDC, 0x03], mode)
        case .message: standIn(field, [], mode)
        case .bool, .enumeration: bool(field, nextStandIn() > 0, mode)
        case .double, .float: _ = floating(field, Double(nextStandIn()), mode)
        default: _ = integer(field, negative: false, magnitude: UInt64(nextStandIn()), mode)
        }
    }

    private mutating func nextStandIn() -> Int {
        guard case .different(let next) = standIns else { return 0 }
        standIns = .different(next + 1)
        return next
    }

    private mutating func standIn(_ field: FieldTable, _ bytes: [UInt8], _ mode: Mode) {
        bytes.withUnsafeBufferPointer { delimited(field, $0, mode) }
    }

    mutating func bool(_ field: FieldTable, _ value: Bool, _ mode: Mode) {
        if !value && mode.omitsDefault { return }
        if mode.tagged { tag(field) }
        out.append(value ? 1 : 0)
    }

    /// An integer of sign and magnitude; false when it is out of the field's range.
    @inline(__always)
    mutating func integer(_ field: FieldTable, negative: Bool, magnitude: UInt64, _ mode: Mode) -> Bool {
        var value: UInt64
        switch field.kind {
        case .uint32, .fixed32:
            guard !negative || magnitude == 0, magnitude <= UInt64(UInt32.max) else { return false }
            value = magnitude
        case .uint64, .fixed64:
            guard !negative || magnitude == 0 else { return false }
            value = magnitude
        case .int32, .sint32, .sfixed32:
            guard magnitude <= (negative ? 0x8000_0000 : 0x7FFF_FFFF) else { return false }
            value = negative ? 0 &- magnitude : magnitude
        default:
            guard magnitude <= (negative ? 0x8000_0000_0000_0000 : 0x7FFF_FFFF_FFFF_FFFF) else { return false }
            value = negative ? 0 &- magnitude : magnitude
        }
        if value == 0 && mode.omitsDefault { return true }
        if mode.tagged { tag(field) }
        switch field.wireType {
        case 0:
            if field.kind == .sint32 || field.kind == .sint64 {
                let signed = Int64(bitPattern: value)
                value = UInt64(bitPattern: (signed << 1) ^ (signed >> 63))
            }
            out.varint(value)
        case 1: out.littleEndian(value, size: 8)
        default: out.littleEndian(value, size: 4)
        }
        return true
    }

    /// A finite floating-point number; false when it does not fit.
    mutating func floating(_ field: FieldTable, _ value: Double, _ mode: Mode) -> Bool {
        if field.kind == .double {
            guard value.isFinite else { return false }
            if value.bitPattern == 0 && mode.omitsDefault { return true }
            if mode.tagged { tag(field) }
            out.littleEndian(value.bitPattern, size: 8)
        } else {
            let narrow = Float(value)
            guard narrow.isFinite else { return false }
            if narrow.bitPattern == 0 && mode.omitsDefault { return true }
            if mode.tagged { tag(field) }
            out.littleEndian(UInt64(narrow.bitPattern), size: 4)
        }
        return true
    }

    /// A value of any scalar kind from its text: query and path values, map keys, and JSON strings for kinds that are no strings.
    mutating func text(_ field: FieldTable, _ text: UnsafeBufferPointer<UInt8>, _ mode: Mode) -> Bool {
        switch field.kind {
        case .string:
            delimited(field, text, mode)
            return true
        case .bytes: return base64(field, text, mode)
        case .bool:
            if text.elementsEqual("true".utf8) || text.elementsEqual("1".utf8) {
                bool(field, true, mode)
            } else if text.elementsEqual("false".utf8) || text.elementsEqual("0".utf8) {
                bool(field, false, mode)
            } else {
                return false
            }
            return true
        case .enumeration:
            guard let base = text.baseAddress, let number = tables.enumNumber(field.typeIndex, name: base, text.count) else {
                return false
            }
            if number == 0 && mode.omitsDefault { return true }
            if mode.tagged { tag(field) }
            out.varint(UInt64(bitPattern: Int64(number)))
            return true
        case .timestamp:
            guard let base = text.baseAddress, let time = WireTimestamp(text: base, text.count) else { return false }
            tag(field)
            let start = out.beginLength()
            time.write(to: &out)
            out.endLength(start)
            return true
        case .double, .float:
            guard let value = Self.decimal(text) else { return false }
            return floating(field, value, mode)
        case .message: return false
        default: return integer(field, text, mode)
        }
    }

    /// An integer from digits with an optional minus sign.
    mutating func integer(_ field: FieldTable, _ text: UnsafeBufferPointer<UInt8>, _ mode: Mode) -> Bool {
        let negative = text.first == UInt8(ascii: "-")
        let digits = text.dropFirst(negative ? 1 : 0)
        guard !digits.isEmpty, digits.count <= 20 else { return false }
        var magnitude: UInt64 = 0
        for byte in digits {
            let digit = byte &- 48
            guard digit <= 9 else { return false }
            let (product, high) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
            guard !high, !carry else { return false }
            magnitude = sum
        }
        return integer(field, negative: negative, magnitude: magnitude, mode)
    }

    /// A number in decimal notation; nil for anything else, also for `nan` and hex forms that Swift would read.
    static func decimal(_ text: some Collection<UInt8>) -> Double? {
        guard !text.isEmpty, text.count <= 400 else { return nil }
        for byte in text {
            switch byte {
            case 48...57, UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): break
            default: return nil
            }
        }
        return Double(String(decoding: text, as: UTF8.self))
    }

    /// Base64 of either alphabet (RFC 4648 §4, §5), padding optional.
    mutating func base64(_ field: FieldTable, _ text: UnsafeBufferPointer<UInt8>, _ mode: Mode) -> Bool {
        var count = text.count
        while count > 0, text.count - count < 2, text[count - 1] == UInt8(ascii: "=") { count -= 1 }
        guard count % 4 != 1, count == text.count || text.count % 4 == 0 else { return false }
        if count == 0 && mode.omitsDefault { return true }
        let undo = out.count
        tag(field)
        out.varint(UInt64(count * 3 / 4))
        out.reserve(count)
        var bits: UInt32 = 0
        var pending = 0
        for index in 0..<count {
            guard let six = Self.sixBits(text[index]) else {
                out.count = undo
                return false
            }
            bits = bits << 6 | six
            pending += 6
            if pending >= 8 {
                pending -= 8
                out.put(UInt8(truncatingIfNeeded: bits >> UInt32(pending)))
            }
        }
        return true
    }

    @inline(__always)
    private static func sixBits(_ byte: UInt8) -> UInt32? {
        switch byte {
        case 65...90: return UInt32(byte) - 65
        case 97...122: return UInt32(byte) - 71
        case 48...57: return UInt32(byte) + 4
        case UInt8(ascii: "+"), UInt8(ascii: "-"): return 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): return 63
        default: return nil
        }
    }
}

extension SchemaTables {
    /// What a field takes, for a developer who sent something else.
    func expectation(_ field: FieldTable) -> String {
        switch field.kind {
        case .double, .float: return "must be a number"
        case .int32, .sint32, .sfixed32: return "must be a 32-bit integer"
        case .uint32, .fixed32: return "must be a 32-bit integer that is not negative"
        case .int64, .sint64, .sfixed64: return "must be a 64-bit integer"
        case .uint64, .fixed64: return "must be a 64-bit integer that is not negative"
        case .bool: return "must be true or false"
        case .string: return "must be a string"
        case .bytes: return "must be a string in base64"
        case .timestamp: return "must be an RFC 3339 time, 2026-01-02T03:04:05Z"
        case .message: return "must be an object"
        case .enumeration:
            let table = enums[Int(field.typeIndex)]
            // What only says that there is none is read, since replies may hold it, and not offered.
            let names = (0..<min(Int(table.nameCount), 50)).compactMap { index -> String? in
                let entry = enumValues[Int(table.firstName) + index]
                let text = UnsafeBufferPointer(start: pool + Int(entry.offset) + 1, count: Int(entry.length) - 2)
                let name = String(decoding: text, as: UTF8.self)
                return entry.number == 0 && name == "unspecified" ? nil : name
            }
            return "must be one of: " + names.joined(separator: ", ")
        }
    }
}
