internal import Bus
internal import CommonAPI
internal import Kernel

/// Reads the member of one service, page after page: `"media":{"snaps":[…],"avatars":[…]}`.
struct DocumentMember: Sendable {
    private let source: DataSources.Source
    private let user: UserID
    /// nil when the last page was read.
    private var request: ExportPersonalDataRequest?
    private var key: String?
    private var isEmpty = true

    init(_ source: DataSources.Source, of user: UserID) {
        (self.source, self.user) = (source, user)
        request = ExportPersonalDataRequest(userID: user)
    }

    /// Whether all of it was read.
    var isComplete: Bool { request == nil }

    /// Asks for a page. - Returns: the text it adds to the document; nil after the last.
    mutating func next(_ context: CallContext) async throws -> String? {
        guard let asked = request else { return nil }
        let page = try await source.page(asked, context)
        let start = asked.key.isEmpty ? "\"\(source.name)\":{" : ""
        let text = start + text(of: page.parts)
        guard page.nextKey.isEmpty else {
            request = ExportPersonalDataRequest(userID: user, key: page.nextKey, after: page.nextAfter)
            return text
        }
        request = nil
        return text + (key == nil ? "" : "]") + "}"
    }

    /// The text of further parts. A key that came on the page before goes on.
    private mutating func text(of parts: [PersonalDataPart]) -> String {
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
}
