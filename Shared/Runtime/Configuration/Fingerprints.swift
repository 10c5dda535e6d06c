internal import Kernel

extension Settings {
    /// What may be known of the values that every process must have alike, by key: 32 bits of each, from which a long secret cannot be found.
    ///
    /// A process says them on the bus, so that one with another value than the rest is found before users find what it breaks.
    public var fingerprints: [String: String] {
        let shared = declared.compactMap { $0 as? Setting<String> }.filter(\.isShared)
        return Dictionary(
            shared.compactMap { setting in
                (try? find(setting)).flatMap { $0 }.map { (setting.key, Self.fingerprint(of: $0)) }
            },
            uniquingKeysWith: { $1 }
        )
    }

    /// FNV-1a, folded to 32 bits.
    private static func fingerprint(of text: String) -> String {
        let hash = StableHash.fnv1a(text.utf8)
        return String(UInt32(truncatingIfNeeded: hash ^ hash >> 32), radix: 16)
    }
}
