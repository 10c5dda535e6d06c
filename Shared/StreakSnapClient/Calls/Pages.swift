/// The pages of a list as a sequence: each is asked for when the one before has been read.
public struct Pages<Reply: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Reply
    /// Asks for the page at a cursor; the first one is empty.
    let load: @Sendable (String) async throws -> (Reply, next: String?)

    init(_ load: @escaping @Sendable (String) async throws -> (Reply, next: String?)) { self.load = load }

    /// Walks over the pages.
    public struct Iterator: AsyncIteratorProtocol {
        let load: @Sendable (String) async throws -> (Reply, next: String?)
        var cursor: String? = ""

        /// The next page; nil after the last.
        public mutating func next() async throws -> Reply? {
            guard let cursor else { return nil }
            let (reply, next) = try await load(cursor)
            // A server that gave the same place again would be asked for ever.
            self.cursor = next.flatMap { $0.isEmpty || $0 == cursor ? nil : $0 }
            return reply
        }
    }

    /// Begins with the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(load: load) }
}

/// The entries of all pages of a list.
public struct PageEntries<Reply: Sendable, Entry: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Entry
    let pages: Pages<Reply>
    let entries: @Sendable (Reply) -> [Entry]

    init(_ pages: Pages<Reply>, _ entries: @escaping @Sendable (Reply) -> [Entry]) {
        (self.pages, self.entries) = (pages, entries)
    }

    /// Walks over the entries.
    public struct Iterator: AsyncIteratorProtocol {
        var pages: Pages<Reply>.Iterator
        let entries: @Sendable (Reply) -> [Entry]
        var waiting: ArraySlice<Entry> = []

        /// The next entry; nil after the last.
        public mutating func next() async throws -> Entry? {
            while waiting.isEmpty {
                guard let page = try await pages.next() else { return nil }
                waiting = entries(page)[...]
            }
            return waiting.popFirst()
        }
    }

    /// Begins with the first entry.
    public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator(), entries: entries) }
}
