public import Kernel

/// The request of a list with pages (PF-3): a message with the `page` option. Generated.
public protocol PagedRequest: Message {
    /// How many entries a page has.
    static var pageSize: PageSize { get }
    /// How many the client asks for; 0 when it says nothing.
    var limit: Int32 { get }
    /// Where the page begins; empty for the start of the list.
    var cursor: String { get }
    /// The page's number instead of a cursor, 1 for the first; nil when none was sent.
    var page: Int32? { get }
    /// The request with nothing but its filters: what decides which entries the list has.
    var withoutPlace: Self { get }
}

extension PagedRequest {
    /// What is wrong with the place in the list that the request names, whichever list it is (PF-3). Whether this list has given the cursor out
    /// is for the list.
    public var placeProblems: [ServiceError.Detail] {
        FieldCheck.problems { check in
            check.require(cursor.isEmpty || CursorText.content(of: cursor) != nil, "cursor", CursorText.problem)
            _ = try check.take { try PageSize.skipped(page: page, cursor: cursor, size: 1) }
        }
    }
}

/// The text of a cursor: base64url of a version, a position and a checksum (PF-3).
public enum CursorText {
    /// The version that is written.
    public static let version: UInt8 = 1
    /// Bytes.
    public static let checksumLength = 16
    /// Longer texts are refused before they are decoded. A position of 24 bytes takes 55.
    private static let longest = 200
    /// What is said of a text that is none, and of one of another list.
    public static let problem = "is not one this list has given out"

    /// The text of a cursor.
    ///
    /// - Parameter content: the position and its checksum.
    public static func text(_ content: [UInt8]) -> String { Base64URL.encode([version] + content) }

    /// The position and its checksum, which may be wrong; nil for a text that is no cursor.
    public static func content(of text: String) -> ArraySlice<UInt8>? {
        guard text.utf8.count <= longest, let bytes = Base64URL.decode(text), bytes.first == version,
            bytes.count > checksumLength
        else { return nil }
        return bytes.dropFirst()
    }
}
