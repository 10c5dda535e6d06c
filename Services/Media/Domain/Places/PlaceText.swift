public import Kernel

/// Texts that users write about places.
public enum PlaceText {
    /// A caption, trimmed; nil when nothing is left of it.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field`.
    public static func caption(_ text: String, field: String) throws(ServiceError) -> String? {
        let caption = trimmed(text)
        guard !caption.unicodeScalars.contains(where: isForbidden) else {
            throw .validation(field: field, "must not have control characters")
        }
        return caption.isEmpty ? nil : caption
    }

    /// The name of a city, trimmed: one line that shows something (PL-7).
    ///
    /// - Throws: `VALIDATION_ERROR` naming `field`.
    public static func city(_ text: String, field: String) throws(ServiceError) -> String {
        guard let name = try caption(text, field: field) else { throw .validation(field: field, "must not be empty") }
        guard !name.contains(where: \.isNewline) else { throw .validation(field: field, "must be one line") }
        return name
    }

    /// What names of cities are compared by: case-folded (PL-7). Composed and decomposed letters are compared as one where it is stored.
    public static func key(_ name: String) -> String { trimmed(name).uppercased().lowercased() }

    /// The words of a text, case-folded, each once (PL-2): runs of letters, digits and the marks on them, of at most 50 characters. Marks are
    /// taken off where they are stored and compared.
    public static func words(_ text: String) -> [String] {
        var words: [String] = []
        var word = ""
        func isPart(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .spacingMark, .decimalNumber, .letterNumber, .otherNumber: true
            default: scalar.properties.isAlphabetic
            }
        }
        for scalar in text.uppercased().lowercased().unicodeScalars {
            if isPart(scalar) {
                if word.unicodeScalars.count < 50 { word.unicodeScalars.append(scalar) }
            } else if !word.isEmpty {
                words.append(word)
                word = ""
            }
        }
        if !word.isEmpty { words.append(word) }
        var seen = Set<String>()
        return words.filter { seen.insert($0).inserted }
    }

    private static func trimmed(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[first...last])
    }

    /// Control characters but tab and line ends.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control && !["\t", "\n", "\r"].contains(scalar)
    }
}
