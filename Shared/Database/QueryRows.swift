/// Rows that a statement is given, a column after the other.
extension Query {
    /// What a single row is put between.
    static let singleRow = (opening: "(VALUES (", closing: "))")

    /// One column of the rows that `\(rows:)` puts into a statement.
    public struct Column: Sendable {
        fileprivate let element: PostgresType
        fileprivate let array: PostgresType
        fileprivate let count: Int
        /// The binary form of the only value, or of the array of several.
        fileprivate let bytes: [UInt8]
        /// Of the only value.
        fileprivate let isNull: Bool
        fileprivate let failure: DatabaseError?

        /// The column of all rows, in their order.
        ///
        /// - Parameter values: one for each row; nil is NULL. Not bytes: `[UInt8]` is one value (`bytea`), `[[UInt8]]` is a column of them.
        public static func of<Element: PostgresArrayElement>(_ values: [Element]) -> Column {
            let (element, array) = (Element.postgresElementType, Element.postgresArrayType)
            var bytes: [UInt8] = []
            var isNull = false
            var failure: DatabaseError?
            do throws(DatabaseError) {
                guard array != .bytea else { throw DatabaseError(.invalidValue, detail: "a single value is no column") }
                if values.count == 1 {
                    isNull = try !values[0].encode(elementInto: &bytes)
                } else {
                    try Element.encode(array: values, into: &bytes)
                }
            } catch {
                failure = error
            }
            return Column(element: element, array: array, count: values.count, bytes: bytes, isNull: isNull, failure: failure)
        }

        /// The binary form of the array, also of one value.
        fileprivate var arrayBytes: [UInt8] {
            guard count == 1 else { return bytes }
            var array: [UInt8] = []
            array.appendArrayHead(1, hasNulls: isNull, of: element)
            array.append(bigEndian: isNull ? -1 : Int32(bytes.count))
            return array + bytes
        }
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
        let isSingle = columns.allSatisfy { $0.count == 1 }
        if isSingle { binds.singleRows.append(binds.slots.count..<binds.slots.count + columns.count) }
        text += isSingle ? Query.singleRow.opening : "unnest("
        for (index, column) in columns.enumerated() {
            if index > 0 { text += ", " }
            failure = failure ?? column.failure
            if isSingle {
                binds.append(column.element, column.isNull ? nil : column.bytes, mark: text.utf8.count)
            } else {
                binds.append(column.array, column.arrayBytes, mark: text.utf8.count)
            }
            text += Query.mark(binds.slots.count)
        }
        text += isSingle ? Query.singleRow.closing : ")"
    }
}

extension Binds {
    /// Appends a value by its binary form; nil is NULL.
    fileprivate mutating func append(_ type: PostgresType, _ value: [UInt8]?, mark: Int) {
        let offset = bytes.count
        if let value { bytes.append(contentsOf: value) }
        slots.append(Slot(type: type, mark: mark, offset: offset, length: value?.count))
    }
}
