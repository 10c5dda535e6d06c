public import Kernel

/// Names and descriptions of circles: any writing system and emoji, but nothing that changes how the text around it is shown.
public enum CircleTexts {
    /// A name as it is stored: one line, without white space around it.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `name`.
    public static func name(_ text: String) throws(ServiceError) -> String {
        let name = trimmed(text)
        guard !name.isEmpty, name.unicodeScalars.contains(where: isVisible) else {
            throw ServiceError.validation(field: "name", "must have a character that can be seen")
        }
        guard name.unicodeScalars.allSatisfy({ isAllowed($0) }) else { throw refused("name") }
        return name
    }

    /// A description as it is stored; nil for none. It may have several lines.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `description`.
    public static func description(_ text: String) throws(ServiceError) -> String? {
        let description = trimmed(text)
        guard description.unicodeScalars.allSatisfy({ $0 == "\n" || isAllowed($0) }) else { throw refused("description") }
        return description.isEmpty ? nil : description
    }

    private static func refused(_ field: String) -> ServiceError {
        .validation(field: field, "must not have control characters or characters that change direction")
    }

    private static func trimmed(_ text: String) -> String {
        let start = text.unicodeScalars.drop { $0.properties.isWhitespace }
        return String(String.UnicodeScalarView(start.reversed().drop { $0.properties.isWhitespace }.reversed()))
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value == 0x2800 || scalar.properties.isDefaultIgnorableCodePoint { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator, .paragraphSeparator,
            .nonspacingMark, .enclosingMark, .spacingMark:
            return false
        default: return true
        }
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Marks, embeddings, overrides and isolates of direction (UAX #9); zero-width space, word joiner and invisible operators; BOM.
        case 0x061C, 0x200B, 0x200E, 0x200F, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB: return false
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: return false
        default: return true
        }
    }
}
