/// What can be wrong with protobuf wire bytes.
enum WireProblem: String, Error {
    case truncated = "the bytes end in the middle of a field"
    case longVarint = "a varint is longer than 10 bytes"
    case badTag = "a field number or wire type is not valid"
    case badLength = "a length runs past the end"
    case group = "groups are not supported"
    case tooDeep = "messages are nested too deeply"
    case invalidUTF8 = "a string is not valid UTF-8"
    case badTimestamp = "a timestamp is out of range"
}

/// Reads protobuf wire bytes within `position ..< end`; never beyond, whatever the bytes say.
struct WireCursor {
    let base: UnsafePointer<UInt8>
    var position: Int
    let end: Int

    /// One field of a message as it lies on the wire.
    enum Value {
        case varint(UInt64)
        case fixed64(UInt64)
        case fixed32(UInt32)
        case bytes(WireCursor)
    }

    init(base: UnsafePointer<UInt8>, position: Int, end: Int) {
        self.base = base
        self.position = position
        self.end = end
    }

    var count: Int { end - position }

    @inline(__always)
    mutating func varint() throws(WireProblem) -> UInt64 {
        guard position < end else { throw .truncated }
        let first = base[position]
        if first < 0x80 {
            position &+= 1
            return UInt64(first)
        }
        return try longVarint()
    }

    private mutating func longVarint() throws(WireProblem) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            guard position < end else { throw .truncated }
            let byte = base[position]
            position &+= 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift &+= 7
            if shift > 63 { throw .longVarint }
        }
    }

    /// A tag, checked: number in the low 29 bits of `>> 3`, wire type in `& 7`.
    @inline(__always)
    mutating func tag() throws(WireProblem) -> UInt32 {
        let tag = try varint()
        guard tag <= UInt64(UInt32.max), tag >= 8 else { throw .badTag }
        return UInt32(truncatingIfNeeded: tag)
    }

    /// The length of a length-delimited value; it lies inside the bounds.
    @inline(__always)
    mutating func length() throws(WireProblem) -> Int {
        let length = try varint()
        guard length <= UInt64(end &- position) else { throw .badLength }
        return Int(truncatingIfNeeded: length)
    }

    @inline(__always)
    mutating func fixed64() throws(WireProblem) -> UInt64 {
        guard end &- position >= 8 else { throw .truncated }
        let value = UnsafeRawPointer(base + position).loadUnaligned(as: UInt64.self)
        position &+= 8
        return UInt64(littleEndian: value)
    }

    @inline(__always)
    mutating func fixed32() throws(WireProblem) -> UInt32 {
        guard end &- position >= 4 else { throw .truncated }
        let value = UnsafeRawPointer(base + position).loadUnaligned(as: UInt32.self)
        position &+= 4
        return UInt32(littleEndian: value)
    }

    /// Steps over the value of a field with this wire type.
    @inline(__always)
    mutating func skip(wireType: UInt32) throws(WireProblem) {
        switch wireType {
        case 0: _ = try varint()
        case 1: _ = try fixed64()
        case 2:
            let length = try length()
            position &+= length
        case 5: _ = try fixed32()
        case 3, 4: throw .group
        default: throw .badTag
        }
    }

    /// The next field, or nil at the end. For descriptors; the hot path reads tags itself.
    mutating func next() throws(WireProblem) -> (number: UInt32, value: Value)? {
        guard position < end else { return nil }
        let tag = try tag()
        switch tag & 7 {
        case 0: return (tag >> 3, .varint(try varint()))
        case 1: return (tag >> 3, .fixed64(try fixed64()))
        case 2:
            let length = try length()
            let inner = WireCursor(base: base, position: position, end: position + length)
            position += length
            return (tag >> 3, .bytes(inner))
        case 5: return (tag >> 3, .fixed32(try fixed32()))
        case 3, 4: throw .group
        default: throw .badTag
        }
    }
}
