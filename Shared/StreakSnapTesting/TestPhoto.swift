public import Foundation

/// Photos that are small and valid, and differ.
public enum TestPhoto {
    private static let (width, height) = (64, 48)

    /// A PNG of its own for each number: the server knows equal bytes as the same snap (PH-3).
    public static func png(_ number: Int) -> Data {
        let colour = [
            UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number >> 16),
        ]
        var pixels: [UInt8] = []
        for _ in 0..<height {
            pixels.append(0)
            for _ in 0..<width { pixels += colour }
        }
        var png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        png += chunk("IHDR", bytes(UInt32(width)) + bytes(UInt32(height)) + [8, 2, 0, 0, 0])
        png += chunk("IDAT", stored(pixels))
        png += chunk("IEND", [])
        return png
    }

    /// A zlib stream of one block that is not compressed: below 65,536 bytes.
    private static func stored(_ data: [UInt8]) -> [UInt8] {
        let length = UInt16(data.count)
        let sizes = [length, ~length].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        var (low, high) = (UInt32(1), UInt32(0))
        for byte in data {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return [0x78, 0x01, 0x01] + sizes + data + bytes(high << 16 | low)
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + data
        var check = UInt32.max
        for byte in body {
            check ^= UInt32(byte)
            for _ in 0..<8 { check = check & 1 == 1 ? check >> 1 ^ 0xEDB8_8320 : check >> 1 }
        }
        return bytes(UInt32(data.count)) + body + bytes(~check)
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
