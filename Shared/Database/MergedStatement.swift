/// How statements of one text, each with the values of one transaction, become one statement (`SharedTransactions`).
///
/// - A statement that reads, or locks what it reads, runs once for each row of its values: `FROM unnest(…) … CROSS JOIN LATERAL (…)`.
/// - A change of the row given by `\(rows:)` is one of all their rows; its other values must be equal.
struct MergedStatement: Sendable {
    private enum Form {
        /// Each row of the result ends with the place of its statement, from 1.
        case reading
        /// Changes the row of each. With `isInsert` by an `INSERT` of these rows alone, which changes each once or not, and returns them in
        /// their order; what another has done for one of them is not known.
        case changing(isInsert: Bool)
    }

    private let form: Form
    private let text: String
    /// Which values are bound for all statements, as arrays; the others once.
    private let isColumn: [Bool]

    /// - Returns: nil when statements of this text are sent one by one.
    init?(_ query: Query) {
        let slots = query.binds.slots
        let rows = query.binds.singleRows
        if rows.isEmpty {
            guard !slots.isEmpty, Self.isReading(query.text) else { return nil }
            self.init(reading: query)
        } else {
            let isColumn = slots.indices.map { slot in rows.contains { $0.contains(slot) } }
            self.init(changing: query, rows: rows, isColumn)
        }
        for (slot, isColumn) in zip(slots, isColumn) where isColumn && slot.type.array == nil { return nil }
    }

    private init(reading query: Query) {
        let slots = query.binds.slots
        var text = ""
        var position = query.text.utf8.startIndex
        for (index, slot) in slots.enumerated() {
            let mark = query.text.utf8.index(query.text.utf8.startIndex, offsetBy: slot.mark)
            text += query.text[position..<mark]
            text += "merged_values.v\(index + 1)"
            position = query.text.utf8.index(mark, offsetBy: "$\(index + 1)".utf8.count)
        }
        text += query.text[position...]
        let arrays = slots.indices.map { "$\($0 + 1)" }.joined(separator: ", ")
        let names = slots.indices.map { "v\($0 + 1)" }.joined(separator: ", ")
        form = .reading
        isColumn = Array(repeating: true, count: slots.count)
        // OFFSET 0: planned as it is alone, not as a join.
        self.text = """
            SELECT found.*, merged_values.place FROM unnest(\(arrays)) WITH ORDINALITY AS merged_values (\(names), place)
            CROSS JOIN LATERAL (SELECT * FROM (\(text)) AS one OFFSET 0) AS found
            """
    }

    private init(changing query: Query, rows: [Range<Int>], _ isColumn: [Bool]) {
        let utf8 = query.text.utf8
        var text = ""
        var position = utf8.startIndex
        for row in rows {
            let (first, last) = (query.binds.slots[row.lowerBound], query.binds.slots[row.upperBound - 1])
            let start = utf8.index(utf8.startIndex, offsetBy: first.mark - Query.singleRow.opening.utf8.count)
            let end = utf8.index(utf8.startIndex, offsetBy: last.mark + "$\(row.upperBound)".utf8.count)
            text += query.text[position..<start]
            text += "unnest(" + row.map { "$\($0 + 1)" }.joined(separator: ", ") + ")"
            position = utf8.index(end, offsetBy: Query.singleRow.closing.utf8.count)
        }
        text += query.text[position...]
        let isJoined = query.text.contains("JOIN") || query.text.contains("ORDER BY")
        form = .changing(isInsert: query.text.hasPrefix("INSERT INTO") && !isJoined)
        self.isColumn = isColumn
        self.text = text
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
        binds.slots.reserveCapacity(isColumn.count)
        binds.bytes.reserveCapacity(all.reduce(0) { $0 + $1.bytes.count + 8 * isColumn.count })
        for (index, isColumn) in isColumn.enumerated() {
            let type = all[0].slots[index].type
            for other in all where other.slots[index].type != type { return nil }
            let offset = binds.bytes.count
            if isColumn {
                guard let array = type.array else { return nil }
                binds.bytes.append(arrayOf: index, of: all, type)
                binds.slots.append(Binds.Slot(type: array, mark: 0, offset: offset, length: binds.bytes.count - offset))
            } else {
                for other in all where !other.hasSameValue(as: all[0], at: index) { return nil }
                let length = all[0].slots[index].length
                binds.bytes.appendValue(index, of: all[0])
                binds.slots.append(Binds.Slot(type: type, mark: 0, offset: offset, length: length))
            }
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

extension Binds {
    fileprivate func hasSameValue(as other: Binds, at index: Int) -> Bool {
        let (mine, theirs) = (slots[index], other.slots[index])
        guard let length = mine.length, length == theirs.length else { return mine.length == theirs.length }
        return bytes[mine.offset..<mine.offset + length] == other.bytes[theirs.offset..<theirs.offset + length]
    }
}

extension [UInt8] {
    /// Appends the binary form of a value; nothing for NULL.
    fileprivate mutating func appendValue(_ index: Int, of binds: Binds) {
        let slot = binds.slots[index]
        guard let length = slot.length, length > 0 else { return }
        let range = slot.offset..<slot.offset + length
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
}
