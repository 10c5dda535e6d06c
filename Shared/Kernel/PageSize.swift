/// How many entries a page of a list has (PF-3).
public enum PageSize {
    /// The size of a page for a client's request.
    ///
    /// - Parameters:
    ///   - asked: the requested size; 0 when none was sent. A size above `most` counts as `most`.
    ///   - standard: the size when none was sent.
    public static func of(_ asked: Int32, standard: Int, most: Int) -> Int { asked <= 0 ? standard : min(Int(asked), most) }

    /// How many entries come before a page that a client requests by number.
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
