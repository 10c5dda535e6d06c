extension String {
    /// What a setting lists with commas between: without the blanks around each, and without empty entries, so that none of them allows more
    /// than the operator named.
    public var settingEntries: [String] {
        split(separator: ",").map { entry in
            String(entry.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        }
        .filter { !$0.isEmpty }
    }
}

/// Secrets that are accepted, separated by commas: several while one takes the place of another. None when the setting is empty.
///
/// A setting of this type refuses what can be guessed, and never accepts the empty text.
public struct SecretList: SettingValue, CustomStringConvertible {
    /// Characters of a secret at least.
    public static let shortest = 16

    /// In their order.
    public let secrets: [String]

    /// The secrets that the text lists; nil when one of them is too short.
    public init?(settingText text: String) {
        secrets = text.settingEntries
        guard secrets.allSatisfy({ $0.count >= Self.shortest }) else { return nil }
    }

    private init() { secrets = [] }

    /// No secret: nothing is accepted.
    public static let empty = SecretList()

    public static var settingTypeName: String { "secrets of at least \(shortest) characters, separated by commas" }

    /// Not the secrets: what is said of a setting must not have them.
    public var description: String { "\(secrets.count) secrets" }
}
