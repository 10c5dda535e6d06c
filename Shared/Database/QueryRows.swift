/// Rows that a statement is given, a column after the other.
extension Query {
    /// What a single row is put between.
    static let singleRow = (opening: "(VALUES (", closing: "))")

    /// One column of the rows that `\(rows:)` puts into a statement.
    public struct Column: Sendable {
        /// Of the array.
        fileprivate let type: PostgresType
        fileprivate let count: Int
        /// The binary form of the array.
        fileprivate let bytes: [UInt8]
        fileprivate let failure: DatabaseError?

        /// The column of all rows, in their order.
        ///
        /// - Parameter values: one for each row; nil is NULL. Not bytes: `[UInt8]` is one value (`bytea`), `[[UInt8]]` is a column of them.
        public static func of<Element: PostgresArrayElement>(_ values: [Element]) -> Column {
            var bytes: [UInt8] = []
            var failure: DatabaseError?
            do throws(DatabaseError) {
                guard Element.postgresArrayType != .bytea else {
                    throw DatabaseError(.invalidValue, detail: "a single value is no column")
                }
                try Element.encode(array: values, into: &bytes)
            } catch {
                failure = error
            }
            return Column(type: Element.postgresArrayType, count: values.count, bytes: bytes, failure: failure)
        }

        /// Where the only element lies in `bytes`; nil when it is NULL. The head of an array: dimensions, a flag, the element's type, then
        /// count and lowest index of its dimension, and before each element its length.
        fileprivate var onlyElement: Range<Int>? {
            let length = Int(Int32(bitPattern: number(at: 20)))
            return length < 0 ? nil : 24..<24 + length
        }

        /// The type of the elements.
        fileprivate var elementType: PostgresType { PostgresType(oid: number(at: 8)) }

        private func number(at offset: Int) -> UInt32 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    }
}

extension Query.StringInterpolation {
    /// Inserts rows, for a `FROM` with an alias: `FROM \(rows: .of(ids), .of(dates)) AS new (id, on_date)`.
    ///
    /// Several rows are bound as arrays (`unnest($1, $2)`), a single one as its values (`(VALUES ($1, $2))`). The second form makes the
    /// statement much cheaper: the server needs no function scan for each column, and finds the row by its key without a join. So a
    /// statement that is written for many rows costs little more for one than a statement for one row would.
    ///
    /// - Parameter columns: all of one length.
    public mutating func appendInterpolation(rows columns: Query.Column...) {
        let isSingle = columns.allSatisfy { $0.count == 1 && $0.failure == nil }
        if isSingle { binds.singleRows.append(binds.slots.count..<binds.slots.count + columns.count) }
        text += isSingle ? Query.singleRow.opening : "unnest("
        for (index, column) in columns.enumerated() {
            if index > 0 { text += ", " }
            failure = failure ?? column.failure
            if isSingle {
                binds.append(column.elementType, column.onlyElement.map { column.bytes[$0] }, mark: text.utf8.count)
            } else {
                binds.append(column.type, column.bytes[...], mark: text.utf8.count)
            }
            text += "$\(binds.slots.count)"
        }
        text += isSingle ? Query.singleRow.closing : ")"
    }
}

extension Binds {
    /// Appends a value by its binary form; nil is NULL.
    fileprivate mutating func append(_ type: PostgresType, _ value: ArraySlice<UInt8>?, mark: Int) {
        let offset = bytes.count
        if let value { bytes.append(contentsOf: value) }
        slots.append(Slot(type: type, mark: mark, offset: offset, length: value?.count))
    }
}
