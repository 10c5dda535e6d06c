private import Kernel

/// A known form of text (`format` of the validation options).
public enum TextFormat: Sendable, CustomStringConvertible {
    /// 36 characters, either case (RFC 9562).
    case uuid
    /// An address that mail can be sent to: one `@`, a host name with a dot, at most 254 bytes, ASCII.
    case email
    /// `YYYY-MM-DD`, a date that exists.
    case date
    /// `YYYY-MM`.
    case month
    /// An IANA name or `±hh:mm` (AU-11).
    case timeZone
    /// Scheme, colon and something after it, without spaces or control characters (RFC 3986).
    case uri
    /// Of a-z, 0-9, _ and . (AU-1); rules of length are apart.
    case username
    /// Whole numbers with a dot or a hyphen between each two: `2026-01`, `2.1`.
    case version

    /// The form in words: "a UUID".
    public var description: String {
        switch self {
        case .uuid: "a UUID"
        case .email: "an e-mail address"
        case .date: "a date, YYYY-MM-DD"
        case .month: "a month, YYYY-MM"
        case .timeZone: "an IANA time zone such as Europe/Berlin, or an offset such as +05:30"
        case .uri: "a URI"
        case .username: "of a-z, 0-9, _ and . only"
        case .version: "numbers with dots or hyphens between them"
        }
    }

    /// Whether the whole of `text` has this form.
    public func accepts(_ text: String) -> Bool {
        switch self {
        case .uuid: Self.isUUID(text)
        // Autofill and copying leave spaces around it, which mean nothing.
        case .email: Self.isEmail(text) || Self.isEmail(Self.trimmed(text))
        case .date: CalendarDate(text) != nil
        case .month: CalendarDate(text + "-01") != nil
        case .timeZone: Zone(text) != nil
        case .uri: Self.isURI(text)
        case .username: !text.isEmpty && text.utf8.allSatisfy(Self.isUsernameByte)
        case .version: Self.isVersion(text)
        }
    }

    /// Accepts the same as Kernel's `ID(_:)`, without making an id: most requests carry one.
    private static func isUUID(_ text: String) -> Bool {
        let utf8 = text.utf8
        guard utf8.count == 36 else { return false }
        var position = 0
        for byte in utf8 {
            let isDash = position == 8 || position == 13 || position == 18 || position == 23
            guard isDash ? byte == UInt8(ascii: "-") : isHexDigit(byte) else { return false }
            position += 1
        }
        return true
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...70).contains(byte) || (97...102).contains(byte)
    }

    /// The dot-atom form of RFC 5321, which is what mail servers in use accept; no quoted local parts, no address literals.
    private static func isEmail(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard text.utf8.count <= 254, parts.count == 2, (1...64).contains(parts[0].count) else { return false }
        let atoms = parts[0].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let labels = parts[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return atoms.allSatisfy { !$0.isEmpty && $0.allSatisfy(isAtomByte) } && labels.count >= 2
            && labels.allSatisfy(isHostLabel)
    }

    private static func trimmed(_ text: String) -> String {
        let isSpace = { (character: Character) in character.isWhitespace && !character.isNewline }
        var rest = text.drop(while: isSpace)
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return String(rest)
    }

    private static func isHostLabel(_ label: Substring.UTF8View) -> Bool {
        guard (1...63).contains(label.count), let first = label.first, let last = label.last else { return false }
        return isLetterOrDigit(first) && isLetterOrDigit(last)
            && label.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
    }

    private static func isAtomByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }

    private static func isUsernameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (97...122).contains(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
    }

    private static func isVersion(_ text: String) -> Bool {
        text.utf8.split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
            .allSatisfy { !$0.isEmpty && $0.allSatisfy(isDigit) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

    private static func isURI(_ text: String) -> Bool {
        let utf8 = text.utf8
        guard let colon = utf8.firstIndex(of: UInt8(ascii: ":")), let first = utf8.first,
            isLetterOrDigit(first), !(48...57).contains(first), utf8.index(after: colon) < utf8.endIndex
        else { return false }
        return utf8[..<colon].allSatisfy { isLetterOrDigit($0) || "+-.".utf8.contains($0) }
            && utf8.allSatisfy { $0 > 32 && $0 < 127 && !"\"<>\\^`{|}".utf8.contains($0) }
    }
}
