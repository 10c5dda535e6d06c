/// The bus's only source of randomness: names of instances and inboxes, trace and span ids, jitter. Nothing of it is a secret.
enum Entropy {
    static func word() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }

    /// A name unique among everything on the bus: 32 lower-case hex digits.
    static func name() -> String { Hex.text(word()) + Hex.text(word()) }

    /// A number from 0 up to, not including, `bound`.
    static func below(_ bound: UInt64) -> UInt64 { bound == 0 ? 0 : word() % bound }
}

/// Fixed-width lower-case hexadecimal.
enum Hex {
    static func text(_ value: UInt64, digits: Int = 16) -> String {
        String(unsafeUninitializedCapacity: digits) { buffer in
            for index in 0..<digits {
                let nibble = UInt8(truncatingIfNeeded: value >> UInt64((digits - 1 - index) * 4)) & 15
                buffer[index] = nibble < 10 ? 48 + nibble : 87 + nibble
            }
            return digits
        }
    }

    /// The value of at most 16 lower-case digits; nil for anything else.
    static func value(_ digits: some Sequence<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        var count = 0
        for digit in digits {
            switch digit {
            case 48...57: value = value << 4 | UInt64(digit - 48)
            case 97...102: value = value << 4 | UInt64(digit - 87)
            default: return nil
            }
            count += 1
        }
        return (1...16).contains(count) ? value : nil
    }
}
