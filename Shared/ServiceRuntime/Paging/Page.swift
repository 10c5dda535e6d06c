public import Bus
public import CommonAPI
internal import Kernel
public import Wire

/// The page of a list that a request asks for: how many entries, and where it begins (PF-3).
///
/// A handler makes it from the request, queries `page.limit + 1` entries after `page.position`, or after the first `page.skipped`, and
/// lets `entries(_:after:)` cut them. Everything else in the request is taken as the list's filters.
public struct Page<Position: CursorPosition>: Sendable {
    /// Most entries of the page. Query one more: it shows whether the list goes on.
    public let limit: Int
    /// The last entry of the page before; nil at the start of the list.
    public let position: Position?
    /// Entries before the page when the client names it by its number; else 0.
    public let skipped: Int
    private let scope: CursorScope

    /// The page that the signed-in user asks for.
    ///
    /// - Throws: `UNAUTHENTICATED` when the caller is not signed in; `VALIDATION_ERROR` naming `cursor` for one that this list has not given out
    ///   to this user with these filters, and naming `page` when it comes with a cursor.
    public init<Request: PagedRequest>(_ request: Request, _ context: CallContext) throws {
        try self.init(request, of: try context.requireUser())
    }

    /// The page that anyone may ask for, a guest too. Guests' cursors are those of one list for all of them.
    ///
    /// - Throws: as `init(_:_:)`, for a caller who is not signed in too.
    public init<Request: PagedRequest>(forGuestsToo request: Request, _ context: CallContext) throws {
        try self.init(request, of: context.principal?.userID)
    }

    private init<Request: PagedRequest>(_ request: Request, of reader: UserID?) throws {
        // Equal messages have equal bytes.
        let filters = Base64URL.encode(try request.withoutPlace.serialized())
        scope = CursorScope(Request.fullName, of: reader, filters: [filters])
        limit = Request.pageSize.entries(asked: request.limit)
        position = try scope.position(in: request.cursor)
        skipped = try PageSize.skipped(page: request.page, cursor: request.cursor, size: limit)
    }

    /// The page of a stream of changes that a reader follows: the other fields of the request choose no entries, and the end of the stream has
    /// a cursor too (`cursor(after:)`).
    ///
    /// - Throws: `UNAUTHENTICATED` when the caller is not signed in; `VALIDATION_ERROR` naming `cursor` for one that this stream has not given out
    ///   to this user.
    public init<Request: PagedRequest>(following request: Request, _ context: CallContext) throws {
        scope = CursorScope(Request.fullName, of: try context.requireUser())
        limit = Request.pageSize.entries(asked: request.limit)
        position = try scope.position(in: request.cursor)
        skipped = 0
    }

    /// The cursor after a place in the list.
    public func cursor(after position: Position) -> String { scope.text(after: position) }

    /// The entries of the page, and where the list goes on.
    ///
    /// - Parameters:
    ///   - rows: up to `limit + 1` of them, in the order of the list.
    ///   - position: the place of an entry in the list.
    public func entries<Row>(_ rows: [Row], after position: (Row) -> Position) -> (rows: [Row], meta: PageMeta) {
        var meta = PageMeta()
        guard rows.count > limit else { return (rows, meta) }
        let shown = Array(rows.prefix(limit))
        if let last = shown.last { meta.nextCursor = scope.text(after: position(last)) }
        return (shown, meta)
    }
}
