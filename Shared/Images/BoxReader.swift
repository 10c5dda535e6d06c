/// Reads big-endian numbers one after the other, never beyond the end.
struct BoxReader {
    private let bytes: UnsafeRawBufferPointer
    var position: Int
    let end: Int
    var left: Int { end - position }

    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        self.bytes = bytes
        (position, end) = (range.lowerBound, range.upperBound)
    }

    /// A number of 0 to 8 bytes; nil at the end, and on overflow.
    mutating func number(_ size: Int) -> Int? {
        guard size <= left, size <= 8 else { return nil }
        var value: UInt64 = 0
        for offset in 0..<size { value = value << 8 | UInt64(bytes[position + offset]) }
        position += size
        return Int(exactly: value)
    }

    mutating func text(_ size: Int) -> String? {
        guard size <= left else { return nil }
        defer { position += size }
        return String(decoding: bytes[position..<position + size], as: UTF8.self)
    }

    /// The version of a full box; its flags are skipped.
    mutating func version() -> Int? { number(4).map { $0 >> 24 } }

    mutating func skip(_ size: Int) -> Bool {
        guard size <= left else { return false }
        position += size
        return true
    }

    /// A unit of video data after its length.
    mutating func unit(lengthSize: Int) -> UnsafeRawBufferPointer? {
        guard let length = number(lengthSize), length <= left else { return nil }
        defer { position += length }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + length])
    }
}
