/// PNGs that are small files of very many pixels, whole and right in every byte.
enum PhotoBomb {
    /// Black, one bit a pixel.
    static func png(width: Int, height: Int) -> [UInt8] {
        let header = big(UInt32(width)) + big(UInt32(height)) + [1, 0, 0, 0, 0]
        // A row is its filter and a bit a pixel, all zero.
        let pixels = chunk("IDAT", zeros(height * (1 + (width + 7) / 8)))
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header) + pixels + chunk("IEND", [])
    }

    static func chunk(_ type: String, _ body: [UInt8]) -> [UInt8] {
        let checked = Array(type.utf8) + body
        return big(UInt32(body.count)) + checked + big(crc32(checked))
    }

    /// What a PNG checks its chunks with.
    static func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var sum = ~UInt32(0)
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }

    /// So many zero bytes as a zlib stream: one of them, then “the last byte 258 times again” (RFC 1951, 3.2.6).
    private static func zeros(_ count: Int) -> [UInt8] {
        var bits: [Bool] = []
        /// A code, its highest bit first.
        func code(_ value: Int, _ length: Int) { for shift in (0..<length).reversed() { bits.append(value >> shift & 1 == 1) } }
        // The last block, with the fixed codes: 1, then 01 backwards.
        bits += [true, true, false]
        code(0x30, 8)
        for _ in 0..<(count - 1) / 258 {
            code(0b1100_0101, 8)
            code(0, 5)
        }
        for _ in 0..<(count - 1) % 258 { code(0x30, 8) }
        code(0, 7)
        bits += [Bool](repeating: false, count: (8 - bits.count % 8) % 8)
        var packed = [UInt8](repeating: 0, count: bits.count / 8)
        for (index, bit) in bits.enumerated() where bit { packed[index / 8] |= 1 << UInt8(index % 8) }
        // The sum of no zero is 1, and of sums as many as there are bytes.
        return [0x78, 0x01] + packed + big(UInt32(count % 65_521) << 16 | 1)
    }

    private static func big(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
