public import Database

extension PersonalData {
    /// What is wrong with the declarations of a service, for a test: tables and columns of ids that no feature declared, declared ones that
    /// do not exist, tables that no rule bounds, and quotas that cannot be counted fast or allow too much. Empty when all is well.
    ///
    /// - Parameter database: with the tables of the service.
    /// - Throws: `DatabaseError`.
    public static func problems(of declared: [PersonalData], in database: Database) async throws -> [String] {
        let tables = declared.flatMap(\.tables)
        let impersonal = Set(declared.flatMap(\.impersonal.keys))
        let columns = try await columns(database)
        var problems: [String] = []
        for (table, types) in columns.sorted(by: { $0.key < $1.key }) {
            let declarations = tables.filter { $0.name == table }
            switch (declarations.first, impersonal.contains(table)) {
            case (nil, true): continue
            case (nil, false): problems.append("\(table) is not declared")
            case (_?, true): problems.append("\(table) is declared as personal and as impersonal")
            case (let declaration?, false): problems += Self.problems(of: declaration, types)
            }
        }
        for table in tables where columns[table.name] != nil && !table.exports.isEmpty {
            do { try (try await PrimaryKey(of: table.name, database)).check() } catch let error as PrimaryKey.Unusable {
                problems.append("\(table.name) cannot be exported: \(error)")
            }
        }
        problems += try await Self.problems(of: tables.flatMap(\.quotas), database)
        let missing = Set(tables.map(\.name)).union(impersonal).subtracting(columns.keys)
        problems += missing.sorted().map { "\($0) is declared and does not exist" }
        let keys = tables.flatMap(\.exports).map(\.key)
        problems += Set(keys).filter { key in keys.count { $0 == key } > 1 }.sorted().map { "the key \($0) is exported twice" }
        return problems
    }

    private static func problems(of table: PersonalTable, _ types: [String: String]) -> [String] {
        var problems: [String] = []
        if case .bounded(let by) = table.growth, by.isEmpty { problems.append("\(table.name) does not say what bounds it") }
        for case .megabytes(let column) in table.quotas.map(\.measure) where types[column] != "bigint" {
            problems.append("\(table.name).\(column) has a quota and is no bigint")
        }
        let users = Set(table.users.map(\.column))
        for (column, type) in types.sorted(by: { $0.key < $1.key }) where type == "uuid" || type == "uuid[]" {
            if !users.contains(column), !table.references.contains(column) {
                problems.append("\(table.name).\(column) is neither a user nor a reference")
            }
        }
        for column in users.union(table.references).sorted() where types[column] == nil {
            problems.append("\(table.name).\(column) is declared and does not exist")
        }
        problems += users.intersection(table.references).sorted().map { "\(table.name).\($0) is a user and a reference" }
        for (column, erasure) in table.users where types[column] != "uuid" {
            switch erasure {
            case .delete, .anonymise: problems.append("\(table.name).\(column) is no uuid: it cannot be erased by its value")
            case .keep, .erased: break
            }
        }
        return problems
    }

    private static func problems(of quotas: [Quota], _ database: Database) async throws -> [String] {
        let indexed = Set(
            try await database.query(
                """
                SELECT c.relname::text || '.' || a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
                JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
                WHERE c.relnamespace = current_schema()::regnamespace AND i.indpred IS NULL
                """
            ).map { try $0.get(at: 0, as: String.self) }
        )
        return quotas.flatMap { quota in
            var problems: [String] = []
            if !indexed.contains("\(quota.table).\(quota.user)") {
                problems.append("\(quota.table) has a quota and no index by \(quota.user)")
            }
            if case .rows(let rowBytes) = quota.measure {
                let bytes = quota.most.multipliedReportingOverflow(by: rowBytes)
                if bytes.overflow || bytes.partialValue > Quota.mostBytes {
                    problems.append("\(quota.table) may have too many bytes of one user")
                }
            }
            return problems
        }
    }

    /// The columns of every table of the schema, with their types.
    private static func columns(_ database: Database) async throws -> [String: [String: String]] {
        let rows = try await database.query(
            """
            SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL)
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
            """
        )
        var columns: [String: [String: String]] = [:]
        for row in rows {
            let (table, column, type) = try row.decode(as: (String.self, String.self, String.self))
            columns[table, default: [:]][column] = type
        }
        return columns
    }
}
