/// A growing byte buffer for both directions of transcoding: no bounds checks per byte, one copy at the end.
///
/// `reserve` must be called before the unchecked writes; the longer helpers reserve themselves.
struct ByteWriter: ~Copyable {
    private(set) var base: UnsafeMutablePointer<UInt8>
    private(set) var capacity: Int
    var count = 0

    init(capacity: Int) {
        self.capacity = max(capacity, 64)
        self.base = .allocate(capacity: self.capacity)
    }

    deinit { base.deallocate() }

    var isEmpty: Bool { count == 0 }

    /// The bytes written so far.
    borrowing func bytes() -> [UInt8] {
        let (base, count) = (base, count)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            if let start = buffer.baseAddress { start.initialize(from: base, count: count) }
            initialized = count
        }
    }

    /// Makes room for `extra` more bytes.
    @inline(__always)
    mutating func reserve(_ extra: Int) {
        if count &+ extra > capacity { grow(extra) }
    }

    @inline(never)
    private mutating func grow(_ extra: Int) {
        let larger = max(capacity * 2, count + extra + 64)
        let fresh = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        fresh.initialize(from: base, count: count)
        base.deallocate()
        base = fresh
        capacity = larger
    }

    /// One byte; room must have been reserved.
    @inline(__always)
    mutating func put(_ byte: UInt8) {
        base[count] = byte
        count &+= 1
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        put(byte)
    }

    /// Copies bytes from outside this buffer.
    @inline(__always)
    mutating func append(_ source: UnsafePointer<UInt8>, _ length: Int) {
        reserve(length)
        (base + count).initialize(from: source, count: length)
        count &+= length
    }

    mutating func append(_ text: StaticString) {
        append(text.utf8Start, text.utf8CodeUnitCount)
    }

    mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { buffer in
            if let start = buffer.baseAddress { append(start, buffer.count) }
        }
    }

    // MARK: Protobuf

    /// A base-128 varint; reserves for itself.
    @inline(__always)
    mutating func varint(_ value: UInt64) {
        reserve(10)
        var rest = value
        while rest >= 0x80 {
            put(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        put(UInt8(truncatingIfNeeded: rest))
    }

    /// `size` low bytes of `value`, little-endian.
    @inline(__always)
    mutating func littleEndian(_ value: UInt64, size: Int) {
        reserve(8)
        UnsafeMutableRawPointer(base + count).storeBytes(of: value.littleEndian, as: UInt64.self)
        count &+= size
    }

    /// Leaves one byte for a length that is known later; most submessages are shorter than 128 bytes.
    @inline(__always)
    mutating func beginLength() -> Int {
        append(0)
        return count
    }

    /// Fills in the length of what was written since `beginLength` returned `start`, moving it when one byte is not enough.
    mutating func endLength(_ start: Int) {
        let length = count - start
        if length < 0x80 {
            base[start - 1] = UInt8(truncatingIfNeeded: length)
            return
        }
        var size = 1
        while length >> (7 * size) != 0 { size += 1 }
        reserve(size)
        (base + start + size - 1).update(from: base + start, count: length)
        count = start - 1
        varint(UInt64(length))
        count += length
    }

    // MARK: Decimal text

    /// A decimal number.
    mutating func decimal(_ value: UInt64) {
        reserve(20)
        if value < 10 {
            put(48 &+ UInt8(truncatingIfNeeded: value))
            return
        }
        var length = 1
        var bound: UInt64 = 10
        while value >= bound {
            length &+= 1
            if length == 20 { break }
            bound &*= 10
        }
        var rest = value
        var position = count &+ length
        count = position
        while rest >= 10 {
            position &-= 1
            base[position] = 48 &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        base[position &- 1] = 48 &+ UInt8(truncatingIfNeeded: rest)
    }

    @inline(__always)
    mutating func decimal(_ value: Int64) {
        if value < 0 { append(UInt8(ascii: "-")) }
        decimal(value.magnitude)
    }

    /// `width` digits with leading zeros.
    mutating func padded(_ value: Int, width: Int) {
        reserve(width)
        var rest = value
        var position = count &+ width
        count = position
        for _ in 0..<width {
            position &-= 1
            base[position] = 48 &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }
}
