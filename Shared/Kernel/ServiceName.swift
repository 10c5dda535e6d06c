/// The rule for names of services.
///
/// A name is a word of subjects on the bus (`rpc.<service>.v1.…`), a user of the broker, and a role and a schema of PostgreSQL; so it has only what
/// all of these take without quotes. `deploy/new_service.py` has the same rule, with hyphens in the place of underscores.
public enum ServiceName {
    /// Most bytes of a name.
    public static let longest = 30

    /// The rule in words, to follow what breaks it in an error.
    public static let rule =
        "must begin with a lower-case letter and have lower-case letters, digits and single underscores, at most \(longest)"

    /// Whether a text can be the name of a service: 1…30 of `a…z`, `0…9` and single underscores between them, a letter first.
    public static func isValid(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count <= longest, let first = bytes.first, isLetter(first) else { return false }
        return bytes.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
            .allSatisfy { word in !word.isEmpty && word.allSatisfy { isLetter($0) || isDigit($0) } }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
