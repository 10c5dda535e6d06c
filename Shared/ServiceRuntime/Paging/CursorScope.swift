internal import Cryptography
public import Kernel
internal import Wire

/// Where a list goes on: the sort key of the last entry that was sent.
public protocol CursorPosition: Hashable, Sendable {
    /// The position that `bytes` hold; nil for one that the database cannot hold or the list cannot have.
    init?(bytes: ArraySlice<UInt8>)
    /// Any number of bytes; the same position has the same.
    var bytes: [UInt8] { get }
}

/// What a cursor belongs to: one list, read by one user with one choice of filters (PF-3). Makes the cursors of such a list and reads them.
///
/// A cursor's text is base64url of a version, the position and a checksum: the first 16 bytes of SHA-256 over the version, the name of the
/// list, the user, the filters and the position. So a text that is cut short, changed, or another list's, another user's or another
/// filter's is refused, and every position that is read was checked whole: no text whatsoever leads to anything but a page or
/// `VALIDATION_ERROR`.
///
/// The checksum has no secret on purpose. A user who computes one can only choose a position in a list of their own, as any number of entries
/// would have put there: a position narrows what the query returns to its user anyway and gives no right to see anything. A secret would
/// have to be shared by all replicas of all services and outlive their restarts, and would protect nothing. Hence the rule: a list's
/// query must name its reader beside the position, never take a right from the cursor.
public struct CursorScope: Sendable {
    /// Everything before the position that the checksum covers.
    private let prefix: [UInt8]

    /// The scope of a list's cursors.
    ///
    /// - Parameters:
    ///   - list: The name of the list, unlike that of any other: `<service>.<Method>`.
    ///   - reader: The user who reads it; nil for guests.
    ///   - filters: What else decides which entries it has: everything in the request but the cursor and the size of the page.
    public init(_ list: String, of reader: UserID?, filters: [String] = []) {
        // Lengths, so that no two scopes have the same bytes.
        var prefix = [CursorText.version]
        for part in [list, reader?.description ?? ""] + filters {
            withUnsafeBytes(of: UInt32(clamping: part.utf8.count).bigEndian) { prefix += $0 }
            prefix += part.utf8
        }
        self.prefix = prefix
    }

    /// The cursor after an entry, for `next_cursor`.
    public func text(after position: some CursorPosition) -> String {
        let bytes = position.bytes
        return CursorText.text(bytes + checksum(bytes))
    }

    /// The position in a cursor that a client sent; nil for empty text, the start of the list.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `cursor` for any text that this scope has not given out.
    public func position<Position: CursorPosition>(in text: String, as _: Position.Type = Position.self) throws(ServiceError)
        -> Position?
    {
        guard !text.isEmpty else { return nil }
        guard let content = CursorText.content(of: text) else { throw Self.foreign }
        let position = content.dropLast(CursorText.checksumLength)
        guard checksum(position) == Array(content.suffix(CursorText.checksumLength)), let known = Position(bytes: position) else {
            throw Self.foreign
        }
        return known
    }

    private func checksum(_ position: some Sequence<UInt8>) -> [UInt8] {
        Array(SHA256.hash(data: prefix + position).prefix(CursorText.checksumLength))
    }

    private static let foreign = ServiceError.validation(field: "cursor", CursorText.problem)
}
