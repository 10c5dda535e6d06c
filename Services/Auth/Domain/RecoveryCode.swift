/// Codes that are taken once each instead of one of the authenticator app: 80 random bits, so that a hash of one says nothing about it.
public enum RecoveryCode {
    /// How many an account gets.
    public static let count = 10
    /// Random bytes of one.
    public static let bytes = 10

    /// The code as it is shown: `MFRG-GZDF-MZTW-Q2LK`.
    public static func text(_ random: [UInt8]) -> String {
        let letters = Array(Base32.encode(random))
        return stride(from: 0, to: letters.count, by: 4).map { String(letters[$0..<min($0 + 4, letters.count)]) }
            .joined(separator: "-")
    }

    /// The one form in which a typed code is compared: without hyphens and spaces, in capitals. Nil for a text that is no recovery code.
    public static func normalized(_ typed: String) -> String? {
        let letters = typed.uppercased().filter { $0 != "-" && $0 != " " }
        guard letters.utf8.count == 16, letters.allSatisfy({ Base32.alphabet.contains($0) }) else { return nil }
        return letters
    }
}

/// Base32 (RFC 4648, 6), without padding: what authenticator apps take secrets in.
public enum Base32 {
    /// The letters by value.
    public static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")

    /// The text of bytes; a last group that is not full ends early.
    public static func encode(_ bytes: [UInt8]) -> String {
        var (text, held, bits) = ("", UInt32(0), 0)
        for byte in bytes {
            held = held << 8 | UInt32(byte)
            bits += 8
            while bits >= 5 {
                bits -= 5
                text.append(alphabet[Int(held >> UInt32(bits)) & 31])
            }
            held &= (1 << UInt32(bits)) - 1
        }
        if bits > 0 { text.append(alphabet[Int(held << UInt32(5 - bits)) & 31]) }
        return text
    }
}
