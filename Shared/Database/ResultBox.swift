internal import CPostgres

/// Owner of one `PGresult`: handed from the loop's thread to the caller's task, freed when the last row is gone.
///
/// `@unchecked Sendable`: libpq never changes a result once it is complete, and everything here only reads it.
@usableFromInline
final class ResultBox: @unchecked Sendable {
    private let result: OpaquePointer

    init(owning result: OpaquePointer) { self.result = result }

    deinit { PQclear(result) }

    /// The result of a statement that did not have to be sent.
    static func empty() -> ResultBox? { PQmakeEmptyPGresult(nil, PGRES_COMMAND_OK).map(ResultBox.init(owning:)) }

    var rowCount: Int { Int(PQntuples(result)) }
    var columnCount: Int { Int(PQnfields(result)) }

    /// Rows changed, or returned by a `SELECT`.
    var affectedRows: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    /// What the server says it did: `UPDATE 1`, `ROLLBACK`.
    var commandTag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    func column(named name: String) -> Int? {
        (0..<PQnfields(result)).first { index in
            PQfname(result, index).map { String(cString: $0) == name } ?? false
        }.map(Int.init)
    }

    /// - Throws: `DatabaseError` `decoding` when there are fewer or more.
    @usableFromInline
    func require(columns wanted: Int) throws(DatabaseError) {
        guard wanted == columnCount else {
            throw DatabaseError(.decoding, detail: "\(wanted) columns asked for, \(columnCount) there")
        }
    }

    /// One value; nil for NULL. It points into the result: whoever reads it keeps the box. `row` must exist.
    ///
    /// - Throws: `DatabaseError` `decoding` when there is no such column.
    @usableFromInline
    func cell(row: Int, column: Int) throws(DatabaseError) -> PostgresCell? {
        guard column >= 0, column < columnCount else { throw DatabaseError(.decoding, detail: "no column \(column)") }
        let (row, column) = (Int32(row), Int32(column))
        guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else { return nil }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
        return PostgresCell(type: PostgresType(oid: PQftype(result, column)), bytes: bytes)
    }
}
