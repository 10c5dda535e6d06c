/// A statement and the values bound to it, written as a string literal.
///
/// `"SELECT name FROM users WHERE id = \(id)"` becomes the text `… id = $1` with one bound value: interpolated values are never
/// part of the text, so input can never become SQL. A query is made only from a literal, never from a `String`.
/// `\(raw: …)` puts a trusted fragment into the text; it takes a `StaticString`, or a name quoted by `\(identifier: …)`.
public struct Query: ExpressibleByStringInterpolation, Sendable {
    /// The statement with `$1`, `$2`, … where values are bound.
    public private(set) var text: String
    private(set) var binds: Binds
    /// The first value that could not be bound; thrown when the query is run.
    private(set) var failure: DatabaseError?

    init(text: String, binds: Binds) { (self.text, self.binds) = (text, binds) }

    /// A statement without bound values.
    public init(stringLiteral text: String) {
        self.text = text
        self.binds = Binds()
    }

    /// A statement from its pieces; called by the compiler.
    public init(stringInterpolation: StringInterpolation) {
        self.text = stringInterpolation.text
        self.binds = stringInterpolation.binds
        self.failure = stringInterpolation.failure
    }

    /// The number of bound values, at most 65,535 (the protocol's limit).
    public var bindCount: Int { binds.slots.count }

    /// The pieces of a statement.
    public struct StringInterpolation: StringInterpolationProtocol {
        var text: String
        var binds = Binds()
        var failure: DatabaseError?

        /// Called by the compiler.
        public init(literalCapacity: Int, interpolationCount: Int) {
            text = ""
            text.reserveCapacity(literalCapacity + interpolationCount * 3)
            binds.slots.reserveCapacity(interpolationCount)
            binds.bytes.reserveCapacity(interpolationCount * 16)
        }

        /// Text of the literal.
        public mutating func appendLiteral(_ literal: String) { text += literal }

        /// Binds a value.
        public mutating func appendInterpolation<Value: PostgresValue>(_ value: Value) {
            append(Value.postgresType, value)
        }

        /// Binds a value, or NULL.
        public mutating func appendInterpolation<Value: PostgresValue>(_ value: Value?) {
            append(Value.postgresType, value)
        }

        /// Inserts a trusted fragment into the text: a literal of the program.
        public mutating func appendInterpolation(raw fragment: StaticString) { text += fragment.description }

        /// Inserts a quoted name into the text, which is one identifier whatever it contains.
        public mutating func appendInterpolation(identifier name: String) {
            if name.isEmpty || name.utf8.contains(0) {
                failure = failure ?? DatabaseError(.invalidValue, detail: "an identifier that is empty or has a NUL")
            }
            text += Query.quoted(identifier: name)
        }

        /// Inserts another query, with its text and its values.
        public mutating func appendInterpolation(_ query: Query) {
            failure = failure ?? query.failure
            guard !query.binds.slots.isEmpty else {
                text += query.text
                return
            }
            let inner = query.text.utf8
            var position = inner.startIndex
            let before = binds.slots.count
            binds.singleRows += query.binds.singleRows.map { before + $0.lowerBound..<before + $0.upperBound }
            for (index, slot) in query.binds.slots.enumerated() {
                let mark = inner.index(inner.startIndex, offsetBy: slot.mark)
                text += query.text[position..<mark]
                binds.append(slot, of: query.binds, mark: text.utf8.count)
                text += Query.mark(binds.slots.count)
                position = inner.index(mark, offsetBy: Query.mark(index + 1).utf8.count)
            }
            text += query.text[position...]
        }

        private mutating func append<Value: PostgresValue>(_ type: PostgresType, _ value: Value?) {
            do {
                try binds.append(type, value, mark: text.utf8.count)
            } catch {
                failure = failure ?? error
            }
            text += Query.mark(binds.slots.count)
        }
    }

    /// `$1` for 1.
    static func mark(_ number: Int) -> String { number <= marks.count ? marks[number - 1] : "$\(number)" }

    private static let marks = (1...100).map { "$\($0)" }

    /// `name` between double quotes, its own doubled.
    static func quoted(identifier name: String) -> String {
        var quoted = "\""
        for character in name.unicodeScalars {
            quoted.unicodeScalars.append(character)
            if character == "\"" { quoted.unicodeScalars.append(character) }
        }
        return quoted + "\""
    }
}

/// Bound values: their types, and their binary forms one after the other in one buffer.
struct Binds: Sendable {
    struct Slot: Sendable {
        let type: PostgresType
        /// The position of `$n` in the statement's text, in UTF-8 bytes.
        let mark: Int
        let offset: Int
        /// Nil for NULL.
        let length: Int?
    }

    var slots: [Slot] = []
    var bytes: [UInt8] = []
    /// The values of each `\(rows:)` that was given one row.
    var singleRows: [Range<Int>] = []

    mutating func append<Value: PostgresValue>(_ type: PostgresType, _ value: Value?, mark: Int) throws(DatabaseError) {
        let offset = bytes.count
        do {
            try value?.encode(into: &bytes)
        } catch {
            slots.append(Slot(type: type, mark: mark, offset: offset, length: nil))
            throw error
        }
        slots.append(Slot(type: type, mark: mark, offset: offset, length: value == nil ? nil : bytes.count - offset))
    }

    mutating func append(_ slot: Slot, of other: Binds, mark: Int) {
        let offset = bytes.count
        if let length = slot.length { bytes.append(contentsOf: other.bytes[slot.offset..<slot.offset + length]) }
        slots.append(Slot(type: slot.type, mark: mark, offset: offset, length: slot.length))
    }
}
