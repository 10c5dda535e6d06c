/// What a notification says (NO-1): a text with the user's values filled in.
public struct NotificationText: Hashable, Sendable {
    /// Most characters of a title and of a body, as a reader counts them.
    public static let mostInTitle = 100
    public static let mostInBody = 300
    /// Most bytes of them, so that a push stays below its 4,096 bytes whatever emoji a name has.
    static let mostTitleBytes = 600
    static let mostBodyBytes = 1_800

    /// One line, at most 100 characters.
    public let title: String
    /// One or two sentences, at most 300 characters.
    public let body: String

    init(_ title: String, _ body: String) {
        self.title = title
        self.body = body
    }

    /// The text of a notification.
    ///
    /// - Parameter name: of the user who caused it; nil: one who may not be named, or none.
    public static func of(_ kind: NotificationKind, _ values: NotificationValues, name: String?, in language: Language)
        -> NotificationText
    {
        let text = language.texts.text(kind, values, name: name.flatMap { $0.isEmpty ? nil : $0 })
        return NotificationText(
            text.title.cut(to: mostInTitle, bytes: mostTitleBytes),
            text.body.cut(to: mostInBody, bytes: mostBodyBytes)
        )
    }
}

extension String {
    /// At most so many characters and bytes; where something is left out, the last character is an ellipsis. Characters stay whole.
    func cut(to count: Int, bytes: Int) -> String {
        guard utf8.count > bytes || self.count > count else { return self }
        let ellipsis = "…"
        var kept = ""
        var keptBytes = ellipsis.utf8.count
        for character in prefix(count - 1) {
            keptBytes += character.utf8.count
            guard keptBytes <= bytes else { break }
            kept.append(character)
        }
        return kept + ellipsis
    }
}
