/// The alphabet of RFC 4648; embedded descriptor sets are written in it because a string literal compiles fast and an array of
/// bytes does not.
public enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The text of `bytes`, padded with `=`.
    public static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits = UInt32(0)
            for byte in group { bits = bits << 8 | UInt32(byte) }
            bits <<= UInt32(3 - group.count) * 8
            for index in 0..<4 {
                let digit = Int(bits >> UInt32(18 - index * 6)) & 63
                text.append(index <= group.count ? alphabet[digit] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of an embedded text. Characters outside the alphabet are skipped.
    public static func decode(_ text: StaticString) -> [UInt8] {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt8(value) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8CodeUnitCount / 4 * 3)
        var bits = UInt32(0)
        var count = 0
        text.withUTF8Buffer { digits in
            for digit in digits where values[Int(digit)] != 255 {
                bits = bits << 6 | UInt32(values[Int(digit)])
                count += 6
                if count >= 8 {
                    count -= 8
                    bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
                }
            }
        }
        return bytes
    }
}
