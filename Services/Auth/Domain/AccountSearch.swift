public import Kernel

/// What an administrator searches accounts by.
public enum AccountSearch: Hashable, Sendable {
    case everyone
    case id(UserID)
    /// The beginning of an e-mail address, in lower case.
    case email(String)
    /// The beginning of a username or display name, in lower case.
    case name(String)

    /// From what was typed: an id, a text with an `@`, or the beginning of a name. Spaces around it do not count.
    public init(_ text: String) {
        let trimmed = String(text.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
        if trimmed.isEmpty {
            self = .everyone
        } else if let id = UserID(trimmed) {
            self = .id(id)
        } else {
            self = trimmed.contains("@") ? .email(trimmed.lowercased()) : .name(trimmed.lowercased())
        }
    }
}
