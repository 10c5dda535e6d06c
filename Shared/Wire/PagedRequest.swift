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
