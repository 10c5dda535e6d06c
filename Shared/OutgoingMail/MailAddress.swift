/// A mailbox, with the name that mail programs show for it.
public struct MailAddress: Hashable, Sendable, CustomStringConvertible {
    /// Empty when there is none.
    public let name: String
    /// `ada@example.com`: the dot-atom form of RFC 5321, in ASCII, at most 254 bytes.
    public let address: String

    /// A mailbox; nil when the address has another form, or the name has control characters or more than 200 bytes.
    public init?(name: String = "", _ address: String) {
        guard Self.isValid(address), HeaderText.isPlain(name), name.utf8.count <= 200 else { return nil }
        (self.name, self.address) = (name, address)
    }

    /// A mailbox as an operator writes it, `ada@example.com` or `StreakSnap <no-reply@example.com>`; nil for anything else.
    public init?(text: String) {
        guard let start = text.lastIndex(of: "<") else {
            self.init(Self.trimmed(text[...]))
            return
        }
        let end = Self.trimmed(text[text.index(after: start)...])
        guard end.hasSuffix(">") else { return nil }
        self.init(name: Self.trimmed(text[..<start]), String(end.dropLast()))
    }

    /// The part after the @.
    public var domain: String { String(address[address.index(after: address.lastIndex(of: "@") ?? address.startIndex)...]) }

    /// As in a header, on one or more lines.
    public var description: String {
        guard !name.isEmpty else { return address }
        let phrase = HeaderText.phrase(name)
        return "\(phrase)\(phrase.utf8.count + address.utf8.count > 60 ? "\r\n" : "") <\(address)>"
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0 == " " }
        return String(start.lastIndex { $0 != " " }.map { start[...$0] } ?? "")
    }

    /// Characters that need no quotes before the @ (RFC 5322, `atext`), and dots.
    private static let special = Set("!#$%&'*+-/=?^_`{|}~.".utf8)

    private static func isValid(_ address: String) -> Bool {
        let parts = address.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard address.utf8.count <= 254, parts.count == 2, (1...64).contains(parts[0].count), !parts[1].isEmpty else {
            return false
        }
        let isAtom = parts[0].allSatisfy { isLetterOrDigit($0) || special.contains($0) }
        let labels = parts[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isHost = labels.allSatisfy { label in
            (1...63).contains(label.count) && label.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
        }
        return isAtom && isHost
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }
}
