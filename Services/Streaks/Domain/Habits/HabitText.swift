public import Kernel

/// What texts about habits may be. Lengths are counted in grapheme clusters: what a person sees as one character, however many combining marks
/// or joined emoji it is made of; bytes are bounded beside.
public enum HabitText {
    /// A name: one line that shows something.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field`.
    public static func name(_ text: String, field: String, most: Int) throws(ServiceError) -> String {
        let name = try line(text, field: field, most: most)
        guard name.unicodeScalars.contains(where: isVisible) else {
            throw .validation(field: field, field == "name" && most == 50 ? "Please enter a habit name" : "must not be empty")
        }
        return name
    }

    /// One line, trimmed; may be empty.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field`.
    public static func line(_ text: String, field: String, most: Int) throws(ServiceError) -> String {
        let line = try Self.text(text, field: field, most: most)
        guard !line.contains(where: \.isNewline) else { throw .validation(field: field, "must be one line") }
        return line
    }

    /// Any text without control characters, trimmed; may be empty.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field`.
    public static func text(_ text: String, field: String, most: Int) throws(ServiceError) -> String {
        guard text.utf8.count <= TextLength.mostBytes(characters: most) else {
            throw .validation(field: field, "must be at most \(most) characters")
        }
        let trimmed = trimmed(text)
        guard trimmed.count <= most else { throw .validation(field: field, "must be at most \(most) characters") }
        guard !trimmed.unicodeScalars.contains(where: isForbidden) else {
            throw .validation(field: field, "must not have control characters")
        }
        return trimmed
    }

    /// `#RRGGBB` in capitals.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field`.
    public static func color(_ text: String, field: String) throws(ServiceError) -> String {
        let color = text.uppercased()
        let digits = color.utf8.dropFirst()
        guard color.utf8.first == UInt8(ascii: "#"), digits.count == 6,
            digits.allSatisfy({ (48...57).contains($0) || (65...70).contains($0) })
        else { throw .validation(field: field, "must be a color like #6366F1") }
        return color
    }

    /// The name of an icon: lower-case letters, digits and `-`, 1…40.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field`.
    public static func icon(_ text: String, field: String) throws(ServiceError) -> String {
        guard (1...40).contains(text.utf8.count),
            text.utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") })
        else { throw .validation(field: field, "must be the name of an icon: a-z, 0-9 and -, at most 40") }
        return text
    }

    /// What names are compared by: trimmed and case-folded. Composed and decomposed letters are compared as one where it is stored.
    public static func key(_ name: String) -> String { trimmed(name).uppercased().lowercased() }

    /// The first of `name`, `name (2)`, `name (3)`, … that is not taken, within `most` characters (HA-13).
    ///
    /// - Parameter taken: keys of names.
    public static func free(_ name: String, most: Int, taken: Set<String>) -> String {
        var names = TakenNames(keys: taken)
        return names.take(name, most: most)
    }

    /// Without spaces and line ends around it.
    static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[first...last])
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator, .spaceSeparator,
            .nonspacingMark, .enclosingMark:
            false
        default: true
        }
    }

    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        // Line feeds are text of several lines. Those that turn the direction of what follows are none of ours.
        if scalar == "\n" || scalar == "\r" { return false }
        if (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value) { return true }
        return scalar.properties.generalCategory == .control
    }
}
