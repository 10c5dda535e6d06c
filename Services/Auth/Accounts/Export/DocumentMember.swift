internal import CommonAPI

/// Writes the member of one service, page after page: `"snaps":[…],"avatars":[…]`.
struct DocumentMember: Sendable {
    private var key: String?
    private var isEmpty = true

    /// The text of further parts. A key that came on the page before goes on.
    mutating func text(of parts: [PersonalDataPart]) -> String {
        var text = ""
        for part in parts {
            if part.key != key {
                text += key == nil ? "" : "],"
                text += "\"\(part.key)\":["
                (key, isEmpty) = (part.key, true)
            }
            guard !part.rows.isEmpty else { continue }
            if !isEmpty { text += "," }
            text += part.rows
            isEmpty = false
        }
        return text
    }

    /// What closes the last key.
    var end: String { key == nil ? "" : "]" }
}
