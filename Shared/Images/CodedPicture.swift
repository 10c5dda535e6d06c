/// The size of one coded picture, from its units of video data (ITU-T H.265, 7.3.1).
struct CodedPicture {
    /// The largest size in a parameter set.
    private(set) var pixels = 0
    private(set) var slices = 0
    /// Slices that begin a picture.
    private(set) var beginnings = 0

    mutating func add(_ unit: UnsafeRawBufferPointer) {
        if let stated = HEVCParameterSet.pixels(unit) { pixels = max(pixels, stated) }
        // Types below 32 have pixels; the first bit after the header marks the first slice of a picture.
        guard unit.count > 2, unit[0] >> 1 & 63 < 32 else { return }
        slices += 1
        if unit[2] & 0x80 != 0 { beginnings += 1 }
    }
}

/// The sequence parameter set of HEVC (ITU-T H.265, 7.3.2.2), as far as the size of the picture.
struct HEVCParameterSet {
    private var bits: [Bool] = []
    private var position = 0

    /// Width times height; nil for any other unit, and the largest number for an invalid set.
    static func pixels(_ unit: UnsafeRawBufferPointer) -> Int? {
        guard unit.count > 2, unit[0] >> 1 & 63 == 33 else { return nil }
        var set = HEVCParameterSet(unit.dropFirst(2).prefix(256))
        guard let size = set.readSize() else { return .max }
        let (pixels, isOver) = size.width.multipliedReportingOverflow(by: size.height)
        return isOver ? .max : pixels
    }

    /// Removes the bytes that prevent a start code (7.4.2).
    private init(_ bytes: some Collection<UInt8>) {
        var zeros = 0
        for byte in bytes {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            for shift in (0..<8).reversed() { bits.append(byte >> UInt8(shift) & 1 == 1) }
        }
    }

    private mutating func readSize() -> (width: Int, height: Int)? {
        guard skip(4), let layers = number(3), skip(1), skip(96) else { return nil }
        if layers > 0 {
            var length = 0
            for layer in 0..<8 {
                guard let flags = number(2) else { return nil }
                if layer < layers { length += (flags & 2 != 0 ? 88 : 0) + (flags & 1 != 0 ? 8 : 0) }
            }
            guard skip(length) else { return nil }
        }
        guard exponential() != nil, let chroma = exponential(), chroma != 3 || skip(1), let width = exponential(),
            let height = exponential()
        else { return nil }
        return (width, height)
    }

    private mutating func skip(_ count: Int) -> Bool {
        guard position + count <= bits.count else { return false }
        position += count
        return true
    }

    private mutating func number(_ count: Int) -> Int? {
        guard position + count <= bits.count else { return nil }
        defer { position += count }
        return bits[position..<position + count].reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
    }

    /// An unsigned Exp-Golomb code (9.2).
    private mutating func exponential() -> Int? {
        var zeros = 0
        while position < bits.count, !bits[position] {
            zeros += 1
            position += 1
        }
        guard zeros < 32, skip(1), let rest = number(zeros) else { return nil }
        return 1 << zeros - 1 + rest
    }
}
