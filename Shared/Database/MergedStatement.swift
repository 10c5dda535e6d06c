/// How statements of one text, each with its own values, become one statement (`SharedTransactions`, `Database.lookup`).
///
/// - A statement that reads, or locks what it reads, runs once for each row of its values: `FROM unnest(…) … CROSS JOIN LATERAL (…)`. A value that
///   is an array is a part of one array of them all.
/// - A change of the row given by one `\(rows:)` is one of all their rows; its other values must be equal.
struct MergedStatement: Sendable {
    private enum Form {
        /// Each row of the result ends with the place of its statement, from 1.
        case reading
        /// Changes the row of each. With `isInsert` by an `INSERT` of these rows alone, which changes each once or not, and returns them in
        /// their order; what another has done for one of them is not known.
        case changing(isInsert: Bool)
    }

    /// How a value of all statements is bound.
    private enum Binding {
        /// As an array of them.
        case column
        /// Once: it must be the same.
        case once
        /// These are arrays: one after the other in one array, of elements of this type, and where each begins and ends in two more.
        case slices(of: PostgresType)
    }

    private let form: Form
    private let text: String
    private let bindings: [Binding]

    /// - Returns: nil when statements of this text are sent one by one.
    init?(_ query: Query) {
        let slots = query.binds.slots
        let rows = query.binds.singleRows
        // The rows of two would be joined each with each, also those of different owners.
        guard rows.count <= 1 else { return nil }
        if rows.isEmpty {
            guard !slots.isEmpty, Self.isReading(query.text) else { return nil }
            var bindings: [Binding] = []
            for slot in slots {
                guard slot.type.array == nil else {
                    bindings.append(.column)
                    continue
                }
                guard let element = slot.type.element else { return nil }
                bindings.append(.slices(of: element))
            }
            self.init(reading: query, bindings)
        } else {
            let isColumn = slots.indices.map { rows[0].contains($0) }
            for (slot, isColumn) in zip(slots, isColumn) where isColumn && slot.type.array == nil { return nil }
            self.init(changing: query, row: rows[0], isColumn.map { $0 ? .column : .once })
        }
    }

    private init(reading query: Query, _ bindings: [Binding]) {
        var text = ""
        var position = query.text.utf8.startIndex
        var arrays: [String] = []
        var names: [String] = []
        // Behind the values: where the slices begin and end.
        var last = bindings.count
        for (index, binding) in bindings.enumerated() {
            let number = index + 1
            let mark = query.text.utf8.index(query.text.utf8.startIndex, offsetBy: query.binds.slots[index].mark)
            text += query.text[position..<mark]
            switch binding {
            case .column, .once:
                text += "merged_values.v\(number)"
                arrays.append("$\(number)")
                names.append("v\(number)")
            case .slices:
                text += "($\(number))[merged_values.first\(number):merged_values.last\(number)]"
                arrays += ["$\(last + 1)", "$\(last + 2)"]
                names += ["first\(number)", "last\(number)"]
                last += 2
            }
            position = query.text.utf8.index(mark, offsetBy: Query.mark(number).utf8.count)
        }
        text += query.text[position...]
        form = .reading
        self.bindings = bindings
        // OFFSET 0: planned as it is alone, not as a join.
        self.text = """
            SELECT found.*, merged_values.place
            FROM unnest(\(arrays.joined(separator: ", "))) WITH ORDINALITY AS merged_values (\(names.joined(separator: ", ")), place)
            CROSS JOIN LATERAL (SELECT * FROM (\(text)) AS one OFFSET 0) AS found
            """
    }

    private init(changing query: Query, row: Range<Int>, _ bindings: [Binding]) {
        let utf8 = query.text.utf8
        let (first, last) = (query.binds.slots[row.lowerBound], query.binds.slots[row.upperBound - 1])
        let start = utf8.index(utf8.startIndex, offsetBy: first.mark - Query.singleRow.opening.utf8.count)
        let end = utf8.index(utf8.startIndex, offsetBy: last.mark + "$\(row.upperBound)".utf8.count)
        let unnested = "unnest(" + row.map { "$\($0 + 1)" }.joined(separator: ", ") + ")"
        let rest = utf8.index(end, offsetBy: Query.singleRow.closing.utf8.count)
        let isJoined = query.text.contains("JOIN") || query.text.contains("ORDER BY")
        form = .changing(isInsert: query.text.hasPrefix("INSERT INTO") && !isJoined)
        self.bindings = bindings
        text = query.text[..<start] + unnested + query.text[rest...]
    }

    /// Whether it may be part of a `FROM`: keywords are written in capitals.
    private static func isReading(_ text: String) -> Bool {
        (text.hasPrefix("SELECT") || text.hasPrefix("WITH"))
            && !["INSERT INTO", "DELETE FROM", " SET "].contains { text.contains($0) }
    }

    /// The one statement.
    ///
    /// - Parameter queries: of the text that this was made for, with values of the same types.
    /// - Returns: nil when they differ in a value that they would have to share.
    func merged(_ queries: [Query]) -> Query? {
        let all = queries.map(\.binds)
        var binds = Binds()
        binds.slots.reserveCapacity(bindings.count)
        binds.bytes.reserveCapacity(all.reduce(0) { $0 + $1.bytes.count + 8 * bindings.count })
        var places: [Slices] = []
        for (index, binding) in bindings.enumerated() {
            let type = all[0].slots[index].type
            for other in all where other.slots[index].type != type { return nil }
            switch binding {
            case .column:
                guard let array = type.array else { return nil }
                binds.append(array) { $0.append(arrayOf: index, of: all, type) }
            case .once:
                for other in all where !other.hasSameValue(as: all[0], at: index) { return nil }
                binds.append(all[0].slots[index], of: all[0], mark: 0)
            case .slices(let element):
                guard let slices = Slices(index, of: all) else { return nil }
                binds.append(type) { $0.append(slices, index, of: all, element) }
                places.append(slices)
            }
        }
        for ends in places.flatMap({ [$0.firsts, $0.lasts] }) {
            guard (try? binds.append([Int32?].postgresType, ends, mark: 0)) != nil else { return nil }
        }
        return Query(text: text, binds: binds)
    }

    /// What the one statement has answered to each.
    ///
    /// - Returns: nil when it cannot be known: some changed nothing, or perhaps more than their row.
    func answers(_ result: ResultBox, for count: Int) -> [ResultBox]? {
        switch form {
        case .changing(let isInsert):
            guard isInsert, result.affectedRows == count else { return nil }
            let hasRows = result.rowCount > 0
            return (0..<count).map { place in
                ResultBox(hasRows ? place..<place + 1 : 0..<0, of: result, columns: result.columnCount, changed: 1)
            }
        case .reading:
            let place = result.columnCount - 1
            var answers: [ResultBox] = []
            var row = 0
            for statement in 1...count {
                let first = row
                while row < result.rowCount, result.number(row: row, column: place) == Int64(statement) { row += 1 }
                answers.append(ResultBox(first..<row, of: result, columns: place))
            }
            // In another order they would be lost.
            return row == result.rowCount ? answers : nil
        }
    }
}

extension ResultBox {
    /// A `bigint` that is not NULL.
    fileprivate func number(row: Int, column: Int) -> Int64? {
        guard let cell = try? cell(row: row, column: column), cell.bytes.count == 8 else { return nil }
        return Int64(bigEndian: cell.bytes.loadUnaligned(as: Int64.self))
    }
}

/// Where each of several arrays lies in one of them all.
private struct Slices {
    /// From 1; nil for NULL. One past the last for an empty one.
    var firsts: [Int32?] = []
    var lasts: [Int32?] = []
    var hasNulls = false
    var count: Int32 = 0

    /// - Returns: nil when one is no array of one dimension.
    init?(_ index: Int, of all: [Binds]) {
        for binds in all {
            guard let length = binds.slots[index].length else {
                firsts.append(nil)
                lasts.append(nil)
                continue
            }
            let head = binds.bytes[binds.slots[index].offset...].prefix(length)
            guard length >= Self.emptyHead, let dimensions = head.number(at: 0), let flag = head.number(at: 4) else { return nil }
            let elements = dimensions == 0 ? 0 : dimensions == 1 ? head.number(at: 12) : nil
            guard let elements, elements >= 0 else { return nil }
            hasNulls = hasNulls || flag != 0
            firsts.append(count + 1)
            count += elements
            lasts.append(count)
        }
    }

    /// Bytes before the elements (`appendArrayHead`).
    static let emptyHead = 12
    static let head = 20
}

extension ArraySlice<UInt8> {
    fileprivate func number(at offset: Int) -> Int32? {
        guard count >= offset + 4 else { return nil }
        return withUnsafeBytes { Int32(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: Int32.self)) }
    }
}

extension Binds {
    /// Appends a value that is not NULL.
    fileprivate mutating func append(_ type: PostgresType, _ write: (inout [UInt8]) -> Void) {
        let offset = bytes.count
        write(&bytes)
        slots.append(Slot(type: type, mark: 0, offset: offset, length: bytes.count - offset))
    }

    fileprivate func hasSameValue(as other: Binds, at index: Int) -> Bool {
        let (mine, theirs) = (slots[index], other.slots[index])
        guard let length = mine.length, length == theirs.length else { return mine.length == theirs.length }
        return bytes[mine.offset..<mine.offset + length] == other.bytes[theirs.offset..<theirs.offset + length]
    }
}

extension [UInt8] {
    /// Appends the binary form of a value from an offset on; nothing for NULL.
    fileprivate mutating func appendValue(_ index: Int, of binds: Binds, from offset: Int = 0) {
        let slot = binds.slots[index]
        guard let length = slot.length, length > offset else { return }
        let range = slot.offset + offset..<slot.offset + length
        binds.bytes.withUnsafeBytes { append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// Appends the binary form of an array of values that are in theirs (`PostgresArray`).
    fileprivate mutating func append(arrayOf index: Int, of all: [Binds], _ type: PostgresType) {
        appendArrayHead(all.count, hasNulls: all.contains { $0.slots[index].length == nil }, of: type)
        for binds in all {
            append(bigEndian: Int32(binds.slots[index].length ?? -1))
            appendValue(index, of: binds)
        }
    }

    /// Appends the binary form of the array that all these arrays are slices of.
    fileprivate mutating func append(_ slices: Slices, _ index: Int, of all: [Binds], _ element: PostgresType) {
        appendArrayHead(Int(slices.count), hasNulls: slices.hasNulls, of: element)
        for binds in all { appendValue(index, of: binds, from: Slices.head) }
    }
}
