/// Reads the fields of protobuf bytes one by one, without a descriptor: for options and descriptor sets.
public struct WireFields {
    /// One field: its number and value.
    public struct Field: Sendable {
        /// The field number, 1 or more.
        public let number: Int
        /// Its value.
        public let value: Value

        /// A field to write.
        public init(number: Int, value: Value) {
            self.number = number
            self.value = value
        }
    }

    /// A value as it stands on the wire.
    public enum Value: Sendable {
        /// int32, int64, uint32, uint64, sint32, sint64, bool, enum.
        case varint(UInt64)
        /// fixed64, sfixed64, double.
        case fixed64(UInt64)
        /// fixed32, sfixed32, float.
        case fixed32(UInt32)
        /// string, bytes, messages, packed repeated fields.
        case bytes(ArraySlice<UInt8>)
    }

    private var rest: ArraySlice<UInt8>

    /// The fields of `bytes`.
    public init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// The fields of `bytes`.
    public init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// The next field; nil after the last.
    ///
    /// - Throws: `WireError.malformed` for bytes that are not protobuf.
    public mutating func next() throws(WireError) -> Field? {
        guard !rest.isEmpty else { return nil }
        return try rest.withUnsafeBytesSplit { (cursor) throws(WireError) in
            let (number, type) = try cursor.tag()
            switch type {
            case .varint: return (Int(number), .varint(try cursor.varint()))
            case .fixed64:
                let start = cursor.position
                try cursor.advance(8)
                return (Int(number), .fixed64(UInt64(littleEndian: start.loadUnaligned(as: UInt64.self))))
            case .fixed32:
                let start = cursor.position
                try cursor.advance(4)
                return (Int(number), .fixed32(UInt32(littleEndian: start.loadUnaligned(as: UInt32.self))))
            case .bytes:
                let length = try cursor.length()
                cursor.position += length
                return (Int(number), .bytes(length: length))
            }
        }
    }
}

/// A field of which only the length of the bytes is known.
private enum RawValue {
    case varint(UInt64)
    case fixed64(UInt64)
    case fixed32(UInt32)
    case bytes(length: Int)
}

extension ArraySlice<UInt8> {
    /// Lets `read` read a field at the front, and removes it.
    fileprivate mutating func withUnsafeBytesSplit(
        _ read: (inout WireCursor) throws(WireError) -> (Int, RawValue)
    ) throws(WireError) -> WireFields.Field {
        let outcome = withUnsafeBytes { bytes in
            Result { () throws(WireError) -> (Int, RawValue, Int) in
                guard let start = bytes.baseAddress else { throw .malformed }
                var cursor = WireCursor(position: start, end: start + bytes.count)
                let (number, raw) = try read(&cursor)
                return (number, raw, cursor.position - start)
            }
        }
        let (number, raw, taken) = try outcome.get()
        let end = startIndex + taken
        defer { self = self[end...] }
        switch raw {
        case .varint(let value): return WireFields.Field(number: number, value: .varint(value))
        case .fixed64(let value): return WireFields.Field(number: number, value: .fixed64(value))
        case .fixed32(let value): return WireFields.Field(number: number, value: .fixed32(value))
        case .bytes(let length): return WireFields.Field(number: number, value: .bytes(self[(end - length)..<end]))
        }
    }
}

/// Writes protobuf bytes field by field, without a descriptor.
public struct WireWriter {
    /// The bytes written so far.
    public private(set) var bytes: [UInt8] = []

    /// An empty writer.
    public init() {}

    /// Writes a varint field.
    public mutating func varint(_ value: UInt64, field: Int) {
        raw(UInt64(field) << 3 | UInt64(WireType.varint.rawValue))
        raw(value)
    }

    /// Writes a string, bytes or message field.
    public mutating func bytes(_ value: some Collection<UInt8>, field: Int) {
        raw(UInt64(field) << 3 | UInt64(WireType.bytes.rawValue))
        raw(UInt64(value.count))
        bytes += value
    }

    /// Writes a field as it was read.
    public mutating func field(_ field: WireFields.Field) {
        switch field.value {
        case .varint(let value): varint(value, field: field.number)
        case .bytes(let value): bytes(value, field: field.number)
        case .fixed64(let value):
            raw(UInt64(field.number) << 3 | UInt64(WireType.fixed64.rawValue))
            withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
        case .fixed32(let value):
            raw(UInt64(field.number) << 3 | UInt64(WireType.fixed32.rawValue))
            withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
        }
    }

    private mutating func raw(_ value: UInt64) {
        var value = value
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(value))
    }
}
