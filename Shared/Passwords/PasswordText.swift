@_spi(_Unicode) private import Swift

/// Passwords as keyboards type them: the same letters in different bytes.
enum PasswordText {
    /// The one form that is hashed and compared (RFC 8265, OpaqueString): composed (NFC), with every space as U+0020.
    static func prepared(_ typed: String) -> String {
        guard !typed.utf8.allSatisfy({ $0 < 0x80 }) else { return typed }
        var text = ""
        for scalar in typed._nfc {
            text.unicodeScalars.append(scalar.properties.generalCategory == .spaceSeparator ? " " : scalar)
        }
        return text
    }
}
