public import Kernel

/// Names shown to others (AU-1, AU-10): any writing system and emoji, but nothing that cannot be seen or that changes how the text around it
/// is shown.
public enum DisplayName {
    /// The longest in characters, as a person counts them.
    public static let longest = 50

    /// A name as it is stored: without white space around it.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `display_name` when nothing of it can be seen, or it holds a control character or one that
    ///   changes the direction of text.
    public static func checked(_ text: String) throws(ServiceError) -> String {
        let name = trimmed(text)
        guard name.unicodeScalars.contains(where: isVisible) else {
            throw ServiceError.validation(field: "display_name", "must have a character that can be seen")
        }
        guard name.unicodeScalars.allSatisfy(isAllowed) else {
            throw ServiceError.validation(
                field: "display_name",
                "must not have control characters or characters that change direction"
            )
        }
        return name
    }

    /// What can be used of a text that was not typed as a name; nil when nothing can.
    public static func cleaned(_ text: String) -> String? {
        let allowed = String(String.UnicodeScalarView(text.unicodeScalars.filter(isAllowed)))
        var (name, bytes) = ("", 0)
        for character in allowed.prefix(longest) {
            bytes += character.utf8.count
            guard bytes <= TextLength.mostBytes(characters: longest) else { break }
            name.append(character)
        }
        return try? checked(name)
    }

    /// The e-mail's local part, when none was given (AU-1); `username` when that makes no name.
    public static func fallback(email: String, username: String) -> String {
        cleaned(String(email.prefix { $0 != "@" })) ?? username
    }

    /// A text without white space around it.
    static func trimmed(_ text: String) -> String {
        let start = text.unicodeScalars.drop { $0.properties.isWhitespace }
        return String(String.UnicodeScalarView(start.reversed().drop { $0.properties.isWhitespace }.reversed()))
    }

    /// Joiners, which emoji and some scripts need, and other marks that are drawn only with a neighbour do not make a name alone.
    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        // The blank of braille and the fillers of Hangul are letters or symbols by their category, and drawn as nothing.
        if scalar.value == 0x2800 || scalar.properties.isDefaultIgnorableCodePoint { return false }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber, .letterNumber,
            .otherNumber, .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
            .finalPunctuation, .otherPunctuation, .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol:
            return true
        default: return false
        }
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Marks, embeddings, overrides and isolates of direction (UAX #9); zero-width space, word joiner and invisible operators; BOM.
        case 0x061C, 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB: return false
        // Tags, which the flags of England, Scotland and Wales are made with, and selectors of variants.
        case 0xE0020...0xE007F, 0xFE00...0xFE0F: return true
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: return false
        // The joiners, without which emoji and words fall apart.
        case .format: return scalar.value == 0x200C || scalar.value == 0x200D
        default: return true
        }
    }
}
