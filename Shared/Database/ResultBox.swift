internal import CPostgres

/// Owner of one `PGresult`: handed from the loop's thread to the caller's task, freed when the last row is gone.
///
/// `@unchecked Sendable`: libpq never changes a result once it is complete, and everything here only reads it.
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

    /// Reads one value; `row` and `column` must exist.
    func read<Value: PostgresColumn>(row: Int, column: Int, as _: Value.Type) throws(DatabaseError) -> Value {
        let (row, column) = (Int32(row), Int32(column))
        guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else {
            return try Value.read(nil)
        }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
        return try Value.read(PostgresCell(type: PostgresType(oid: PQftype(result, column)), bytes: bytes))
    }
}
