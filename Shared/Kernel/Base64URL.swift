/// Bytes as text for URLs and tokens: base64url without padding (RFC 4648 §5, RFC 7515 §2).
///
/// Decoding is strict: each sequence of bytes has exactly one spelling, so a signed or hashed text has no second form.
public enum Base64URL {
    private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    /// The text of `bytes`.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        // One generic call for all bytes: a call for each byte is slow.
        bytes.withContiguousStorageIfAvailable { text(of: $0) } ?? Array(bytes).withUnsafeBufferPointer { text(of: $0) }
    }

    /// The bytes of a text; nil for padding, other characters, an impossible length, and unused bits that are not zero.
    public static func decode(_ text: some StringProtocol) -> [UInt8]? {
        if let bytes = text.utf8.withContiguousStorageIfAvailable({ self.bytes(of: $0) }) { return bytes }
        return Array(text.utf8).withUnsafeBufferPointer { bytes(of: $0) }
    }

    private static func text(of bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { text in
            let digits = alphabet.utf8Start
            var position = 0
            var bits = UInt32(0)
            var held = 0
            for byte in bytes {
                bits = bits << 8 | UInt32(byte)
                held += 8
                while held >= 6 {
                    held -= 6
                    text[position] = digits[Int(bits >> UInt32(held)) & 63]
                    position += 1
                }
            }
            if held > 0 {
                text[position] = digits[Int(bits << UInt32(6 - held)) & 63]
                position += 1
            }
            return position
        }
    }

    private static func bytes(of digits: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 3 / 4)
        var bits = UInt32(0)
        var held = UInt32(0)
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            bits = bits << 6 | value
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> held))
            }
        }
        return bits & (1 << held - 1) == 0 ? bytes : nil
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit) + 4
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

/// Bytes as text for headers: base64 with padding (RFC 4648 §4).
public enum Base64 {
    /// The text of `bytes`.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        let text = String(Base64URL.encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        return text + String(repeating: "=", count: (3 - bytes.count % 3) % 3)
    }
}
