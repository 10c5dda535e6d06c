/// One row of a result. Columns are decoded on access; a row keeps the whole result alive.
public struct Row: Sendable {
    @usableFromInline let result: ResultBox
    @usableFromInline let index: Int

    init(result: ResultBox, index: Int) {
        self.result = result
        self.index = index
    }

    /// The number of columns.
    public var columnCount: Int { result.columnCount }

    /// Reads the columns in the statement's order: `let (id, name) = try row.decode(as: (UserID.self, String?.self))`.
    ///
    /// - Throws: `DatabaseError` `decoding` when there are fewer or more columns, or one of another type, or an unexpected NULL.
    @inlinable
    public func decode<each Column: PostgresColumn>(
        as types: (repeat (each Column).Type)
    ) throws(DatabaseError) -> (repeat each Column) {
        var wanted = 0
        for _ in repeat each types { wanted += 1 }
        try result.require(columns: wanted)
        defer { extendLifetime(result) }
        var column = -1
        func next<Value: PostgresColumn>(_ type: Value.Type) throws(DatabaseError) -> Value {
            column += 1
            return try Value.read(try result.cell(row: index, column: column))
        }
        return (repeat try next(each types))
    }

    /// Reads the only column.
    ///
    /// - Throws: `DatabaseError` `decoding` when there is another number of columns, or it is of another type, or NULL unexpectedly.
    @inlinable
    public func decode<Column: PostgresColumn>(as type: Column.Type) throws(DatabaseError) -> Column {
        try result.require(columns: 1)
        defer { extendLifetime(result) }
        return try Column.read(try result.cell(row: index, column: 0))
    }

    /// Reads one column by its name, exactly as the server spells it.
    ///
    /// - Throws: `DatabaseError` `decoding` when there is no such column, or it is of another type, or NULL unexpectedly.
    public func get<Value: PostgresColumn>(_ column: String, as type: Value.Type = Value.self) throws(DatabaseError) -> Value {
        guard let position = result.column(named: column) else { throw DatabaseError(.decoding, detail: "no column \(column)") }
        defer { extendLifetime(result) }
        return try Value.read(try result.cell(row: index, column: position))
    }

    /// Reads one column by its position, from 0.
    ///
    /// - Throws: `DatabaseError` `decoding` when there is no such column, or it is of another type, or NULL unexpectedly.
    @inlinable
    public func get<Value: PostgresColumn>(at column: Int, as type: Value.Type = Value.self) throws(DatabaseError) -> Value {
        // The cell points into the result.
        defer { extendLifetime(result) }
        return try Value.read(try result.cell(row: index, column: column))
    }
}

extension ResultBox {
    /// All rows.
    var rows: [Row] { (0..<rowCount).map { Row(result: self, index: $0) } }
}
