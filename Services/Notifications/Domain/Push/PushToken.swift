/// An Expo push token. It is a secret: who has it can push to the device.
public enum PushToken {
    private static let prefixes = ["ExponentPushToken[", "ExpoPushToken["]

    /// Whether a text has the form of one: the name with 1 to 128 letters, digits, `-` and `_` in brackets, or a UUID.
    public static func isWellFormed(_ text: String) -> Bool {
        for prefix in prefixes where text.hasPrefix(prefix) {
            guard text.hasSuffix("]") else { return false }
            let inner = text.utf8.dropFirst(prefix.utf8.count).dropLast()
            return (1...128).contains(inner.count)
                && inner.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12] && parts.allSatisfy { $0.allSatisfy(isAlphanumeric) }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }
}
