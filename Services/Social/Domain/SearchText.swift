public import Kernel

/// The text of a search for users (SO-5), made ready for the index.
public struct SearchText: Hashable, Sendable {
    /// Results, at most.
    public static let mostResults = 20
    /// Fewer characters find beginnings of names only: one or two given letters are in nearly every name.
    public static let fewestForSubstring = 3

    /// What is searched; its case and accents are left to the index.
    public let text: String
    /// Whether names that contain it are searched too.
    public let findsInside: Bool

    /// - Parameter typed: as the user typed it: spaces around it and a leading @ do not count.
    /// - Throws: `VALIDATION_ERROR` naming `q` when nothing is left of it.
    public init(_ typed: String) throws(ServiceError) {
        var rest = typed.drop { $0.isWhitespace }
        if rest.first == "@" { rest = rest.dropFirst() }
        while rest.last?.isWhitespace == true { rest = rest.dropLast() }
        guard !rest.isEmpty else { throw ServiceError.validation(field: "q", "must not be blank") }
        self.text = String(rest)
        self.findsInside = text.unicodeScalars.count >= Self.fewestForSubstring
    }
}
