internal import Glibc
public import Kernel

/// How generated code turns members of a C struct into Swift values.
public enum Decode {
    /// A string member. `WireCheck` has checked that it has no NUL inside.
    ///
    /// - Throws: `WireError.invalidUTF8` naming `field`.
    public static func string(_ text: UnsafePointer<CChar>?, _ field: StaticString) throws(WireError) -> String {
        guard let text, text.pointee != 0 else { return "" }
        guard let string = String(validatingCString: text) else { throw .invalidUTF8(field: "\(field)") }
        return string
    }

    /// A bytes member.
    public static func bytes(_ data: UnsafePointer<UInt8>?, count: Int) -> [UInt8] {
        [UInt8](UnsafeBufferPointer(start: data, count: data == nil ? 0 : count))
    }

    /// A repeated number.
    @inlinable
    public static func numbers<Number: BitwiseCopyable>(_ data: UnsafePointer<Number>?, count: Int) -> [Number] {
        [Number](UnsafeBufferPointer(start: data, count: data == nil ? 0 : count))
    }

    /// A repeated member whose elements need a conversion.
    @inlinable
    public static func list<Element, Value>(
        _ data: UnsafePointer<Element>?,
        count: Int,
        _ transform: (Element) throws(WireError) -> Value
    ) throws(WireError) -> [Value] {
        guard let data, count > 0 else { return [] }
        var values: [Value] = []
        values.reserveCapacity(count)
        for index in 0..<count { values.append(try transform(data[index])) }
        return values
    }

    /// A repeated string.
    public static func strings(
        _ data: UnsafePointer<UnsafeMutablePointer<CChar>?>?,
        count: Int,
        _ field: StaticString
    ) throws(WireError) -> [String] {
        try list(data, count: count) { (text) throws(WireError) in try string(text, field) }
    }

    /// A repeated message.
    @inlinable
    public static func messages<Twin, Value: CMessage>(
        _ data: UnsafePointer<UnsafeMutablePointer<Twin>?>?,
        count: Int,
        as _: Value.Type
    ) throws(WireError) -> [Value] {
        try list(data, count: count) { (stored) throws(WireError) in
            guard let stored else { return Value() }
            return try Value(stored: UnsafeRawPointer(stored))
        }
    }

    /// A `google.protobuf.Timestamp`, truncated to microseconds.
    ///
    /// - Throws: `WireError.timestampOutOfRange` outside the years 1…9999 that the type allows.
    public static func instant(seconds: Int64, nanos: Int32, _ field: StaticString) throws(WireError) -> Instant {
        guard TimestampRange.seconds.contains(seconds), (0...999_999_999).contains(nanos) else {
            throw .timestampOutOfRange(field: "\(field)")
        }
        return Instant(microseconds: seconds * 1_000_000 + Int64(nanos / 1_000))
    }
}

/// What `google.protobuf.Timestamp` allows: 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999999Z.
enum TimestampRange {
    static let seconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799
}
