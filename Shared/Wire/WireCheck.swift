internal import CProtobufC
internal import Glibc

/// Looks through the bytes of a message before libprotobuf-c does.
///
/// It finds what C would hide or suffer from: NUL inside strings (C would cut the string there), nesting without end (C recurses),
/// and lengths, tags and types that do not fit. What passes is well-formed as far as the descriptor tells.
struct WireCheck {
    private let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    func run(_ descriptor: UnsafePointer<ProtobufCMessageDescriptor>) throws(WireError) {
        guard let start = bytes.baseAddress else { return }
        var cursor = WireCursor(position: start, end: start + bytes.count)
        try message(&cursor, descriptor, depth: 1)
    }

    private func message(
        _ cursor: inout WireCursor,
        _ descriptor: UnsafePointer<ProtobufCMessageDescriptor>,
        depth: Int
    ) throws(WireError) {
        guard depth <= WireLimits.maxDepth else { throw .tooDeep }
        let fields = descriptor.pointee.fields
        let count = UInt32(descriptor.pointee.n_fields)
        while cursor.position < cursor.end {
            let (number, type) = try cursor.tag()
            // Fields numbered 1, 2, 3 … are found by index; the library's search is for the others.
            let field: UnsafePointer<ProtobufCFieldDescriptor>?
            if number <= count, let fields, fields[Int(number) - 1].id == number {
                field = fields + (Int(number) - 1)
            } else {
                field = protobuf_c_message_descriptor_get_field(descriptor, number)
            }
            guard let field else {
                try cursor.skip(type)
                continue
            }
            try value(&cursor, field, type, depth: depth)
        }
    }

    private func value(
        _ cursor: inout WireCursor,
        _ field: UnsafePointer<ProtobufCFieldDescriptor>,
        _ type: WireType,
        depth: Int
    ) throws(WireError) {
        switch field.pointee.type {
        case PROTOBUF_C_TYPE_STRING:
            guard type == .bytes else { throw .malformed }
            let length = try cursor.length()
            if memchr(cursor.position, 0, length) != nil {
                throw .nulInString(field: field.pointee.name.map { String(cString: $0) } ?? "")
            }
            cursor.position += length
        case PROTOBUF_C_TYPE_MESSAGE:
            guard type == .bytes, let nested = field.pointee.descriptor else { throw .malformed }
            let length = try cursor.length()
            var inner = WireCursor(position: cursor.position, end: cursor.position + length)
            try message(&inner, nested.assumingMemoryBound(to: ProtobufCMessageDescriptor.self), depth: depth + 1)
            cursor.position += length
        case PROTOBUF_C_TYPE_BYTES:
            guard type == .bytes else { throw .malformed }
            cursor.position += try cursor.length()
        case let scalar:
            try self.scalar(&cursor, scalar, type, isRepeated: field.pointee.label == PROTOBUF_C_LABEL_REPEATED)
        }
    }

    private func scalar(
        _ cursor: inout WireCursor,
        _ scalar: ProtobufCType,
        _ type: WireType,
        isRepeated: Bool
    ) throws(WireError) {
        let own: WireType
        switch scalar {
        case PROTOBUF_C_TYPE_SFIXED32, PROTOBUF_C_TYPE_FIXED32, PROTOBUF_C_TYPE_FLOAT: own = .fixed32
        case PROTOBUF_C_TYPE_SFIXED64, PROTOBUF_C_TYPE_FIXED64, PROTOBUF_C_TYPE_DOUBLE: own = .fixed64
        default: own = .varint
        }
        if type == own { return try cursor.skip(own) }
        guard isRepeated, type == .bytes else { throw .malformed }
        let length = try cursor.length()
        var packed = WireCursor(position: cursor.position, end: cursor.position + length)
        while packed.position < packed.end { try packed.skip(own) }
        cursor.position += length
    }
}

/// How a field's value is laid out (the low three bits of a tag). Groups are not supported by libprotobuf-c.
enum WireType: UInt8 {
    case varint = 0
    case fixed64 = 1
    case bytes = 2
    case fixed32 = 5
}

/// A place in protobuf bytes that never passes the end.
struct WireCursor {
    var position: UnsafeRawPointer
    let end: UnsafeRawPointer

    /// Field number and type of the next field.
    mutating func tag() throws(WireError) -> (UInt32, WireType) {
        let tag = try varint()
        guard tag <= UInt64(UInt32.max), tag >> 3 != 0, let type = WireType(rawValue: UInt8(tag & 7)) else { throw .malformed }
        return (UInt32(tag >> 3), type)
    }

    mutating func varint() throws(WireError) -> UInt64 {
        guard position < end else { throw .malformed }
        let first = position.load(as: UInt8.self)
        if first < 0x80 {
            position += 1
            return UInt64(first)
        }
        var value = UInt64(0)
        var shift = UInt64(0)
        while position < end, shift < 70 {
            let byte = position.load(as: UInt8.self)
            position += 1
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw .malformed
    }

    /// The length of what follows, which is all there.
    mutating func length() throws(WireError) -> Int {
        let length = try varint()
        guard length <= UInt64(end - position) else { throw .malformed }
        return Int(length)
    }

    mutating func skip(_ type: WireType) throws(WireError) {
        switch type {
        case .varint: _ = try varint()
        case .bytes: position += try length()
        case .fixed64: try advance(8)
        case .fixed32: try advance(4)
        }
    }

    mutating func advance(_ count: Int) throws(WireError) {
        guard count <= end - position else { throw .malformed }
        position += count
    }
}
