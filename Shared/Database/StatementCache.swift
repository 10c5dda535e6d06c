/// A statement's text and the types of its values, once for each process.
final class Statement: Sendable {
    /// Never used again for another statement.
    let id: Int
    let text: String
    let types: [UInt32]
    /// Whether it only reads (`ReadClassifier`).
    let isRead: Bool

    init(id: Int, text: String, types: [UInt32], isRead: Bool) {
        self.id = id
        self.text = text
        self.types = types
        self.isRead = isRead
    }
}

/// Finds the `Statement` of a text; bounded, because a text may be made at run time.
struct StatementRegistry {
    /// Two statements are equal when their text and the types of their values are equal.
    private struct Key: Hashable {
        let text: String
        let types: [UInt32]
    }

    private var statements: [Key: Statement] = [:]
    private var count = 0
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// - Parameter isRead: nil: as its text says.
    mutating func statement(_ text: String, types: [UInt32] = [], isRead: Bool? = nil) -> Statement {
        let key = Key(text: text, types: types)
        if let known = statements[key] { return known }
        // Connections keep prepared statements by id, so dropping one here only costs another preparation.
        if statements.count >= capacity { statements.removeAll() }
        count += 1
        let statement = Statement(id: count, text: text, types: types, isRead: isRead ?? ReadClassifier.isRead(text))
        statements[key] = statement
        return statement
    }
}

/// Which statements one connection has prepared; bounded, the least recently used is dropped first.
struct StatementCache {
    private struct Entry {
        let name: String
        var lastUse: UInt64
    }

    private var entries: [Int: Entry] = [:]
    private var uses: UInt64 = 0
    private var names: UInt64 = 0
    private let capacity: Int
    /// Unused names that the server still has.
    private(set) var retired: [String] = []

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { entries.count }

    /// The name of a prepared statement.
    mutating func name(for id: Int) -> String? {
        uses += 1
        guard let index = entries.index(forKey: id) else { return nil }
        entries.values[index].lastUse = uses
        return entries.values[index].name
    }

    /// A name for a statement to be prepared; makes room for it.
    mutating func insert(_ id: Int) -> String {
        if entries.count >= capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            entries[oldest.key] = nil
            retired.append(oldest.value.name)
        }
        uses += 1
        names += 1
        let name = "s\(names)"
        entries[id] = Entry(name: name, lastUse: uses)
        return name
    }

    /// Removes a statement that the server no longer has, or only in an outdated form. Does nothing if it has another name by now.
    mutating func remove(_ id: Int, named name: String, retiring: Bool) {
        guard entries[id]?.name == name else { return }
        entries[id] = nil
        if retiring { retired.append(name) }
    }

    /// A name to free on the server.
    mutating func popRetired() -> String? { retired.popLast() }
}
