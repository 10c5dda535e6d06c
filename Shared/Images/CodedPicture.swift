/// The size of one coded picture, from its units of video data (ITU-T H.265, 7.3.1).
struct CodedPicture {
    /// The largest size in a parameter set.
    private(set) var pixels = 0
    /// The bytes that the largest takes, decoded and as RGB.
    private(set) var memory = 0
    private(set) var slices = 0
    /// Slices that begin a picture.
    private(set) var beginnings = 0

    mutating func add(_ unit: UnsafeRawBufferPointer) {
        if let stated = HEVCParameterSet.cost(unit) {
            pixels = max(pixels, stated.pixels)
            memory = max(memory, stated.memory)
        }
        // Types below 32 have pixels; the first bit after the header marks the first slice of a picture.
        guard unit.count > 2, unit[0] >> 1 & 63 < 32 else { return }
        slices += 1
        if unit[2] & 0x80 != 0 { beginnings += 1 }
    }
}

/// The sequence parameter set of HEVC (ITU-T H.265, 7.3.2.2), as far as the size and depth of the picture.
struct HEVCParameterSet {
    private var bits: [Bool] = []
    private var position = 0

    /// Width times height, and the bytes that they take decoded and as RGB; nil for any other unit, and the largest numbers for an invalid set.
    static func cost(_ unit: UnsafeRawBufferPointer) -> (pixels: Int, memory: Int)? {
        guard unit.count > 2, unit[0] >> 1 & 63 == 33 else { return nil }
        var set = HEVCParameterSet(unit.dropFirst(2).prefix(256))
        guard let size = set.readSize(), let isDeep = set.readDepth() else { return (.max, .max) }
        let (pixels, isOver) = size.width.multipliedReportingOverflow(by: size.height)
        // Grey, and colours of a quarter, a half or all of the size; beside them RGB.
        let halves = 6 + [2, 3, 4, 6][min(size.chroma, 3)]
        let (memory, isMore) = pixels.multipliedReportingOverflow(by: halves * (isDeep ? 2 : 1))
        return isOver || isMore ? (.max, .max) : (pixels, memory / 2)
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

    private mutating func readSize() -> (chroma: Int, width: Int, height: Int)? {
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
        return (chroma, width, height)
    }

    /// Whether its samples have more than eight bits, and take two bytes. Read after the size.
    private mutating func readDepth() -> Bool? {
        guard let isCropped = number(1) else { return nil }
        for _ in 0..<4 * isCropped where exponential() == nil { return nil }
        guard let luma = exponential(), let chroma = exponential() else { return nil }
        return luma > 0 || chroma > 0
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
