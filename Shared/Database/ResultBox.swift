internal import CPostgres

/// Owns one `PGresult`: passed from the loop's thread to the caller's task, freed with the last row.
///
/// `@unchecked Sendable`: libpq never changes a result once it is complete, and everything here only reads it.
@usableFromInline
final class ResultBox: @unchecked Sendable {
    private let result: OpaquePointer
    /// Whose rows these are some of; nil: the owner of the result.
    private let whole: ResultBox?
    private let firstRow: Int
    let rowCount: Int
    let columnCount: Int
    /// Rows changed; nil: as the server says.
    private let changed: Int?

    init(owning result: OpaquePointer) {
        (self.result, whole, firstRow, changed) = (result, nil, 0, nil)
        (rowCount, columnCount) = (Int(PQntuples(result)), Int(PQnfields(result)))
    }

    /// Some rows of another result, with its first columns only.
    ///
    /// - Parameter changed: what `affectedRows` says; nil: as many as there are rows.
    init(_ rows: Range<Int>, of whole: ResultBox, columns: Int, changed: Int? = nil) {
        (result, self.whole, firstRow, rowCount) = (whole.result, whole, rows.lowerBound, rows.count)
        (columnCount, self.changed) = (columns, changed ?? rows.count)
    }

    deinit { if whole == nil { PQclear(result) } }

    /// The result of a statement that was not sent.
    static func empty() -> ResultBox? { PQmakeEmptyPGresult(nil, PGRES_COMMAND_OK).map(ResultBox.init(owning:)) }

    /// Rows changed, or returned by a `SELECT`.
    var affectedRows: Int { changed ?? PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    /// The server's command tag: `UPDATE 1`, `ROLLBACK`.
    var commandTag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    func column(named name: String) -> Int? {
        (0..<columnCount).first { index in
            PQfname(result, Int32(index)).map { String(cString: $0) == name } ?? false
        }
    }

    /// - Throws: `DatabaseError` `decoding` when there are fewer or more.
    @usableFromInline
    func require(columns wanted: Int) throws(DatabaseError) {
        guard wanted == columnCount else {
            throw DatabaseError(.decoding, detail: "\(wanted) columns requested, \(columnCount) found")
        }
    }

    /// One value; nil for NULL. It points into the result, so the reader must keep the box. `row` must exist.
    ///
    /// - Throws: `DatabaseError` `decoding` when there is no such column.
    @usableFromInline
    func cell(row: Int, column: Int) throws(DatabaseError) -> PostgresCell? {
        guard column >= 0, column < columnCount else { throw DatabaseError(.decoding, detail: "no column \(column)") }
        let (row, column) = (Int32(firstRow + row), Int32(column))
        guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else { return nil }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
        return PostgresCell(type: PostgresType(oid: PQftype(result, column)), bytes: bytes)
    }
}
