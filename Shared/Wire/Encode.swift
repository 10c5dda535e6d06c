internal import Glibc
public import Kernel

// How generated code turns Swift values into members of a C struct that lives in the arena.
extension Arena {
    /// A string member.
    ///
    /// - Throws: `WireError.nulInString` naming `field`.
    public func string(_ text: String, _ field: StaticString) throws(WireError) -> UnsafeMutablePointer<CChar> {
        var text = text
        let copy: UnsafeMutableRawPointer? = text.withUTF8 { utf8 in
            let memory = take(utf8.count + 1)
            if let start = utf8.baseAddress, utf8.count > 0 {
                guard memchr(start, 0, utf8.count) == nil else { return nil }
                memory.copyMemory(from: start, byteCount: utf8.count)
            }
            memory.storeBytes(of: 0, toByteOffset: utf8.count, as: UInt8.self)
            return memory
        }
        guard let copy else { throw .nulInString(field: "\(field)") }
        return copy.assumingMemoryBound(to: CChar.self)
    }

    /// A bytes member; its length is the array's.
    public func bytes(_ bytes: [UInt8]) -> UnsafeMutablePointer<UInt8> { numbers(bytes) }

    /// A repeated number.
    @inlinable
    public func numbers<Number: BitwiseCopyable>(_ numbers: [Number]) -> UnsafeMutablePointer<Number> {
        let copy = take(MemoryLayout<Number>.stride * numbers.count).bindMemory(to: Number.self, capacity: numbers.count)
        numbers.withUnsafeBufferPointer { source in
            if let start = source.baseAddress { copy.initialize(from: start, count: source.count) }
        }
        return copy
    }

    /// A repeated member whose elements need a conversion.
    @inlinable
    public func list<Values: Collection, Element>(
        _ values: Values,
        _ transform: (Values.Element) throws(WireError) -> Element
    ) throws(WireError) -> UnsafeMutablePointer<Element> {
        let copy = take(MemoryLayout<Element>.stride * values.count).bindMemory(to: Element.self, capacity: values.count)
        var next = copy
        for value in values {
            next.initialize(to: try transform(value))
            next += 1
        }
        return copy
    }

    /// A repeated string.
    public func strings(
        _ texts: [String],
        _ field: StaticString
    ) throws(WireError) -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
        try list(texts) { (text) throws(WireError) in try string(text, field) }
    }

    /// A repeated message; `Twin` is its C struct.
    @inlinable
    public func messages<Twin, Value: CMessage>(
        _ values: [Value],
        as _: Twin.Type
    ) throws(WireError) -> UnsafeMutablePointer<UnsafeMutablePointer<Twin>?> {
        try list(values) { (value) throws(WireError) in try value.store(in: self).assumingMemoryBound(to: Twin.self) }
    }

    /// Seconds and nanoseconds of a `google.protobuf.Timestamp`.
    ///
    /// - Throws: `WireError.timestampOutOfRange` outside the years 1…9999.
    public func timestamp(_ instant: Instant, _ field: StaticString) throws(WireError) -> (seconds: Int64, nanos: Int32) {
        let seconds = instant.seconds
        guard TimestampRange.seconds.contains(seconds) else { throw .timestampOutOfRange(field: "\(field)") }
        return (seconds, Int32(instant.microseconds - seconds * 1_000_000) * 1_000)
    }
}
