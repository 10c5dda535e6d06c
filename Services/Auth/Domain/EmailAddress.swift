/// E-mail addresses as people and keyboards type them.
public enum EmailAddress {
    /// Without the spaces around it that autofill and copying leave, those of any width included.
    public static func trimmed(_ typed: String) -> String {
        let isBlank = { (character: Character) in
            character.isWhitespace || ["\u{200B}", "\u{2060}", "\u{FEFF}"].contains(character)
        }
        var rest = typed.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(rest)
    }
}
