/// How many entries a page of a list has (PF-3).
public struct PageSize: Hashable, Sendable {
    /// Entries when the client asks for no number.
    public let standard: Int
    /// Most entries.
    public let most: Int

    /// The sizes of one list; `standard` is from 1 to `most`.
    public init(standard: Int, most: Int) {
        self.standard = standard
        self.most = most
    }

    /// The size for what a client asked for: 0 or less is `standard`, more than `most` is `most`.
    public func entries(asked: Int32) -> Int { Self.of(asked, standard: standard, most: most) }

    /// The size for what a client asked for.
    ///
    /// - Parameters:
    ///   - asked: what was sent; 0 when nothing was. More than `most` is taken as `most`.
    ///   - standard: what is given when nothing was sent.
    public static func of(_ asked: Int32, standard: Int, most: Int) -> Int { asked <= 0 ? standard : min(Int(asked), most) }

    /// How many entries come before a page that a client names by its number and not by a cursor (PF-3).
    ///
    /// - Parameters:
    ///   - page: 1 for the first; nil when none was sent.
    ///   - cursor: the client's cursor; empty when none was sent.
    /// - Throws: `VALIDATION_ERROR` naming `page` when both were sent.
    public static func skipped(page: Int32?, cursor: String, size: Int) throws(ServiceError) -> Int {
        guard let page else { return 0 }
        guard cursor.isEmpty else { throw .validation(field: "page", "cannot be combined with cursor") }
        return max(0, Int(page) - 1) * size
    }
}
