internal import Database
internal import Kernel

/// The primary key of a table as the catalogue has it: what pages of its rows are ordered by.
struct PrimaryKey: Sendable {
    private struct Column: Sendable {
        let name: String
        let type: String
    }

    /// A table whose rows cannot be exported page by page.
    struct Unusable: Error, CustomStringConvertible {
        let description: String
    }

    private let table: String
    private let parts: [Column]

    /// - Throws: `Unusable` when the table has none, `DatabaseError`.
    init(of table: String, _ database: Database) async throws {
        self.table = table
        parts = try await database.query(
            """
            SELECT a.attname::text, format_type(a.atttypid, NULL)
            FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS part (number, place)
            JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = part.number
            WHERE i.indisprimary AND i.indrelid = to_regclass(quote_ident(\(table))) ORDER BY part.place
            """
        ).map { row in
            let (name, type) = try row.decode(as: (String.self, String.self))
            return Column(name: name, type: type)
        }
        guard !parts.isEmpty else { throw Unusable(description: "\(table) has no primary key") }
    }

    /// Its columns, in order.
    var columns: Query { parts.map { name($0) }.joined(", ") }

    /// One column of the result: the values of a row as texts.
    var texts: Query { "ARRAY[\(parts.map { "\(name($0))::text" as Query }.joined(", "))]" }

    /// A condition: rows after this one.
    ///
    /// - Throws: `VALIDATION_ERROR` when these are not the values of such a key.
    func isAfter(_ values: [String]) throws -> Query {
        guard values.count == parts.count else { throw ServiceError.validation(field: "after", "is not a key of this table") }
        let bound = try zip(parts, values).map { try Self.cast($1, to: $0.type) }
        return "(\(columns)) > (\(bound.joined(", ")))"
    }

    private func name(_ column: Column) -> Query { "\(identifier: table).\(identifier: column.name)" }

    /// - Throws: `Unusable` when pages cannot be ordered by it.
    func check() throws { _ = try isAfter(parts.map { _ in "" }) }

    private static func cast(_ value: String, to type: String) throws -> Query {
        switch type {
        case "uuid": "CAST(\(value) AS uuid)"
        case "text": "\(value)"
        case "date": "CAST(\(value) AS date)"
        case "timestamp with time zone": "CAST(\(value) AS timestamptz)"
        case "smallint": "CAST(\(value) AS smallint)"
        case "integer": "CAST(\(value) AS integer)"
        case "bigint": "CAST(\(value) AS bigint)"
        default: throw Unusable(description: "pages cannot be ordered by the type \(type)")
        }
    }
}
