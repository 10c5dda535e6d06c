/// SHA-256 (FIPS 180-4) of a descriptor set, so that the plugin needs no cryptography library.
enum SHA256 {
    private static let constants: [UInt32] = primes(64).map { fraction($0, root: 3) }
    private static let start: [UInt32] = primes(8).map { fraction($0, root: 2) }

    /// The digest as lower-case hex.
    static func hex(_ message: [UInt8]) -> String {
        var padded = message + [0x80]
        padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
        padded += withUnsafeBytes(of: UInt64(message.count * 8).bigEndian) { Array($0) }
        var state = start
        for block in stride(from: 0, to: padded.count, by: 64) { update(&state, padded[block..<(block + 64)]) }
        return state.map { word in
            let text = String(word, radix: 16)
            return String(repeating: "0", count: 8 - text.count) + text
        }.joined()
    }

    private static func update(_ state: inout [UInt32], _ block: ArraySlice<UInt8>) {
        var words: [UInt32] = stride(from: block.startIndex, to: block.endIndex, by: 4).map { index in
            block[index..<(index + 4)].reduce(0) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<64 {
            let (early, late) = (words[index - 15], words[index - 2])
            let small0 = rotated(early, 7) ^ rotated(early, 18) ^ early >> 3
            let small1 = rotated(late, 17) ^ rotated(late, 19) ^ late >> 10
            words.append(words[index - 16] &+ small0 &+ words[index - 7] &+ small1)
        }
        var v = state
        for index in 0..<64 {
            let big1 = rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25)
            let choice = v[4] & v[5] ^ ~v[4] & v[6]
            let first = v[7] &+ big1 &+ choice &+ constants[index] &+ words[index]
            let big0 = rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22)
            let majority = v[0] & v[1] ^ v[0] & v[2] ^ v[1] & v[2]
            v = [first &+ big0 &+ majority, v[0], v[1], v[2], v[3] &+ first, v[4], v[5], v[6]]
        }
        for index in 0..<8 { state[index] &+= v[index] }
    }

    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    private static func primes(_ count: Int) -> [UInt64] {
        var found: [UInt64] = []
        var candidate: UInt64 = 2
        while found.count < count {
            if !found.contains(where: { candidate % $0 == 0 }) { found.append(candidate) }
            candidate += 1
        }
        return found
    }

    /// The first 32 bits of the fraction of a number's square or cube root: floor(root(n · 2^(32·root))) without its whole part.
    private static func fraction(_ number: UInt64, root: Int) -> UInt32 {
        let target = UInt128(number) << UInt128(32 * root)
        var low: UInt128 = 0
        var high: UInt128 = 1 << 40
        while high - low > 1 {
            let middle = (low + high) / 2
            let power = root == 2 ? middle * middle : middle * middle * middle
            if power <= target { low = middle } else { high = middle }
        }
        return UInt32(truncatingIfNeeded: low)
    }
}
