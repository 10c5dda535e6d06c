/// A hash of bytes that is the same in every process and version. It is not cryptographic: an attacker can find collisions.
public enum StableHash {
    /// FNV-1a, 64 bit.
    public static func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
