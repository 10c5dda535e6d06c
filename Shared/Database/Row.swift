/// One row of a result. Columns are decoded when they are asked for; a row keeps the whole result alive.
public struct Row: Sendable {
    private let result: ResultBox
    private let index: Int

    init(result: ResultBox, index: Int) {
        self.result = result
        self.index = index
    }

    /// The number of columns.
    public var columnCount: Int { result.columnCount }

    /// Reads the columns in the statement's order: `let (id, name) = try row.decode(as: (UserID.self, String?.self))`.
    ///
    /// - Throws: `DatabaseError` `decoding` when there are fewer or more columns, or one of another type, or an unexpected NULL.
    public func decode<each Column: PostgresColumn>(
        as types: (repeat (each Column).Type)
    ) throws(DatabaseError) -> (repeat each Column) {
        var wanted = 0
        for _ in repeat each types { wanted += 1 }
        guard wanted == result.columnCount else {
            throw DatabaseError(.decoding, detail: "\(wanted) columns asked for, \(result.columnCount) there")
        }
        var column = -1
        func next<Value: PostgresColumn>(_ type: Value.Type) throws(DatabaseError) -> Value {
            column += 1
            return try result.read(row: index, column: column, as: type)
        }
        return (repeat try next(each types))
    }

    /// Reads the only column.
    ///
    /// - Throws: `DatabaseError` `decoding` when there is another number of columns, or it is of another type, or NULL unexpectedly.
    public func decode<Column: PostgresColumn>(as type: Column.Type) throws(DatabaseError) -> Column {
        guard result.columnCount == 1 else {
            throw DatabaseError(.decoding, detail: "1 column asked for, \(result.columnCount) there")
        }
        return try result.read(row: index, column: 0, as: type)
    }

    /// Reads one column by its name, exactly as the server spells it.
    ///
    /// - Throws: `DatabaseError` `decoding` when there is no such column, or it is of another type, or NULL unexpectedly.
    public func get<Value: PostgresColumn>(_ column: String, as type: Value.Type = Value.self) throws(DatabaseError) -> Value {
        guard let position = result.column(named: column) else { throw DatabaseError(.decoding, detail: "no column \(column)") }
        return try result.read(row: index, column: position, as: type)
    }

    /// Reads one column by its position, from 0.
    ///
    /// - Throws: `DatabaseError` `decoding` when there is no such column, or it is of another type, or NULL unexpectedly.
    public func get<Value: PostgresColumn>(at column: Int, as type: Value.Type = Value.self) throws(DatabaseError) -> Value {
        guard column >= 0, column < result.columnCount else { throw DatabaseError(.decoding, detail: "no column \(column)") }
        return try result.read(row: index, column: column, as: type)
    }
}

extension ResultBox {
    /// All rows.
    var rows: [Row] { (0..<rowCount).map { Row(result: self, index: $0) } }
}
