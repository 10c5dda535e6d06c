public import CommonAPI
internal import Database
internal import Kernel
internal import Runtime

/// Exports what a service holds about a user, page by page (D16, AU-10): rows in the order of the declarations and primary keys, so that each
/// page begins where the one before ended, on any replica.
public struct PersonalDataExporter: Sendable {
    private struct Section: Sendable {
        let table: String
        let export: PersonalExport
    }

    /// A row as JSON, and the values of its primary key.
    private struct ExportedRow: Sendable {
        let json: String
        let key: [String]
    }

    /// About how many bytes a page holds. A single larger row makes a page of its own.
    static let pageBytes = 500_000
    /// Rows that one statement reads.
    private static let rowsAtOnce = 500

    private let sections: [Section]
    private let database: Database
    private let settings: Settings
    private let clock: any Clock

    /// - Parameter declared: of all features of the service, `ServiceModule.personalData`.
    public init(_ declared: [PersonalData], _ environment: ServiceEnvironment) {
        self.init(declared, database: environment.database, settings: environment.settings, clock: environment.clock)
    }

    init(_ declared: [PersonalData], database: Database, settings: Settings, clock: any Clock) {
        sections = declared.flatMap(\.tables).flatMap { table in table.exports.map { Section(table: table.name, export: $0) } }
        (self.database, self.settings, self.clock) = (database, settings, clock)
    }

    /// One page. The pages of an export name every key, also those without rows.
    ///
    /// - Throws: `VALIDATION_ERROR` for a key that the service does not have; `DatabaseError`.
    public func page(_ request: ExportPersonalDataRequest) async throws -> ExportPersonalDataReply {
        var index = 0
        if !request.key.isEmpty {
            guard let found = sections.firstIndex(where: { $0.export.key == request.key }) else {
                throw ServiceError.validation(field: "key", "is not a key of this service")
            }
            index = found
        }
        var after = request.after
        var room = Self.pageBytes
        var reply = ExportPersonalDataReply()
        while index < sections.count {
            guard room > 0 else {
                (reply.nextKey, reply.nextAfter) = (sections[index].export.key, after)
                return reply
            }
            let rows = try await rows(of: request.userID, sections[index], after: after)
            var taken: [String] = []
            // A page has at least one row.
            for row in rows where room > 0 {
                room -= row.json.utf8.count + 1
                taken.append(row.json)
                after = row.key
            }
            reply.parts.append(PersonalDataPart(key: sections[index].export.key, rows: taken.joined(separator: ",")))
            guard taken.count == rows.count, rows.count < Self.rowsAtOnce else { continue }
            index += 1
            after = []
        }
        return reply
    }

    private func rows(of user: UserID, _ section: Section, after: [String]) async throws -> [ExportedRow] {
        let primaryKey = try await PrimaryKey(of: section.table, database)
        let now = clock.now()
        var pairs: [Query] = []
        var sources: [Query] = []
        var rules: [(name: String, rule: ExportColumn.Rule)] = []
        for column in section.export.columns {
            let name = column.name
            switch column.source {
            case .column: pairs.append("\(name), \(identifier: section.table).\(identifier: name)")
            case .value(let expression): pairs.append("\(name), \(expression(user))")
            case .made(let expression, let rule):
                sources.append(", (\(expression(user)))::text")
                rules.append((name, try rule(settings, now)))
            }
        }
        let position = after.isEmpty ? "" : "AND \(try primaryKey.isAfter(after))" as Query
        let query: Query = """
            SELECT jsonb_build_object(\(pairs.joined(", ")))::text, \(primaryKey.texts)\(sources.joined(""))
            FROM \(identifier: section.table) \(section.export.join)
            WHERE (\(section.export.rows(user))) \(position) ORDER BY \(primaryKey.columns) LIMIT \(Self.rowsAtOnce)
            """
        return try await database.query(query).map { row in
            var json: String = try row.get(at: 0)
            for (index, made) in rules.enumerated() {
                let source: String? = try row.get(at: 2 + index)
                let value = try source.map { JSONLogHandler.quoted(try made.rule(user, $0)) } ?? "null"
                json.removeLast()
                json += ", \(JSONLogHandler.quoted(made.name)): \(value)}"
            }
            return ExportedRow(json: json, key: try row.get(at: 1))
        }
    }
}
