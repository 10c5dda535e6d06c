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
