internal import Glibc
internal import Synchronization

/// The bus's only source of randomness: names of instances and inboxes, trace and span ids, jitter.
enum Entropy {
    private static let words = Mutex(RandomWords())

    static func word() -> UInt64 { words.withLock { $0.next() } }

    /// A unique and unguessable name: 32 lower-case hex digits.
    static func name() -> String { Hex.text(word()) + Hex.text(word()) }

    /// A number from 0 up to, not including, `bound`.
    static func below(_ bound: UInt64) -> UInt64 { bound == 0 ? 0 : word() % bound }
}

/// Words of the system's secure generator, 32 for each system call: a call for each word would cost more than the rest of a
/// request's bookkeeping. It must not be a generator of our own: an attacker who sees some of its numbers could compute the next.
struct RandomWords: Sendable {
    private var words = [UInt64](repeating: 0, count: 32)
    private var used = 32

    mutating func next() -> UInt64 {
        if used == words.count { refill() }
        let word = words[used]
        // A word that was returned is the caller's secret.
        words[used] = 0
        used += 1
        return word
    }

    private mutating func refill() {
        used = 0
        // Never interrupted up to 256 bytes.
        guard words.withUnsafeMutableBytes({ getentropy($0.baseAddress, $0.count) }) != 0 else { return }
        var generator = SystemRandomNumberGenerator()
        for index in words.indices { words[index] = generator.next() }
    }
}

/// Fixed-width lower-case hexadecimal.
enum Hex {
    static func text(_ value: UInt64, digits: Int = 16) -> String {
        String(unsafeUninitializedCapacity: digits) { buffer in
            write(value, digits: digits, to: buffer)
            return digits
        }
    }

    /// Writes the digits to the beginning of `buffer`.
    static func write(_ value: UInt64, digits: Int = 16, to buffer: UnsafeMutableBufferPointer<UInt8>) {
        for index in 0..<digits {
            let nibble = UInt8(truncatingIfNeeded: value >> UInt64((digits - 1 - index) * 4)) & 15
            buffer[index] = nibble < 10 ? 48 + nibble : 87 + nibble
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
