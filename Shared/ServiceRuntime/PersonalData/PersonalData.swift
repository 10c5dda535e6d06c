public import Database
public import Kernel
public import Outbox
public import Runtime

/// What a feature holds about users (D16): which tables, what of them is exported, and what the erasure does to them.
///
/// The runtime serves the export (AU-10) and the erasure (AU-7) of every service from these declarations. Each table of the schema must be in
/// one of them: `problems(of:in:)`, which a test calls for every service, finds those that are not.
public struct PersonalData: Sendable {
    /// Tables with data of users, in the order of the erasure: what refers to a table comes before it.
    public let tables: [PersonalTable]
    /// Tables without data of users, each with the reason.
    public let impersonal: [String: String]
    let steps: (@Sendable (ServiceEnvironment) throws -> ErasureSteps)?

    /// A declaration.
    ///
    /// - Parameter steps: what the erasure does besides, for what no table can express; nil for nothing. It throws `Settings.Invalid`.
    public init(
        _ tables: [PersonalTable] = [],
        impersonal: [String: String] = [:],
        steps: (@Sendable (ServiceEnvironment) throws -> ErasureSteps)? = nil
    ) {
        self.tables = tables
        self.impersonal = impersonal
        self.steps = steps
    }
}

/// What the erasure of a feature does besides its tables, in the same transaction. A step may run again for a user who is erased already.
public struct ErasureSteps: Sendable {
    /// One step.
    public typealias Step = @Sendable (UserID, UnitOfWork) async throws -> Void
    let before: Step
    let after: Step

    /// - Parameters:
    ///   - before: runs before any table of the service is erased.
    ///   - after: runs when all of them are.
    public init(before: @escaping Step = { _, _ in }, after: @escaping Step = { _, _ in }) {
        self.before = before
        self.after = after
    }
}

/// A table with data of users.
public struct PersonalTable: Sendable {
    /// Its name, in the schema of the service.
    public let name: String
    /// The columns that name a user, and what the erasure of that user does.
    public let users: [(column: String, erasure: Erasure)]
    /// All other columns of ids: what they name is no user.
    public let references: Set<String>
    /// Why one user's rows stay few.
    public let growth: Growth
    /// What of it is in the export.
    public let exports: [PersonalExport]

    /// Declares a table.
    ///
    /// - Parameters:
    ///   - users: columns of type `uuid`; arrays and texts can only be kept or erased by another rule.
    ///   - growth: how its rows of one user are bounded, or how many the service allows (D22).
    ///   - references: other columns of types `uuid` and `uuid[]`.
    ///   - exports: the members of the document that its rows make; empty: nothing of it is exported.
    public init(
        _ name: String,
        users: KeyValuePairs<String, Erasure>,
        growth: Growth,
        references: Set<String> = [],
        exports: [PersonalExport] = []
    ) {
        self.name = name
        self.users = users.map { ($0.key, $0.value) }
        self.growth = growth
        self.references = references
        self.exports = exports
    }
}

/// What the erasure of a user does to the rows that name the user in a column.
public enum Erasure: Sendable {
    /// Deletes them.
    case delete
    /// Sets these columns, so that a row says no more than that there was a user.
    case anonymise([(column: String, value: Query)])
    /// Leaves the bare id, for this reason.
    case keep(_ reason: String)
    /// Another rule erases them: which.
    case erased(by: String)
}

/// Rows of a table as one member of the exported document: an array of objects.
public struct PersonalExport: Sendable {
    let key: String
    let join: Query
    let rows: @Sendable (UserID) -> Query
    let columns: [ExportColumn]

    /// Declares a member of the document. Rows come in the order of the table's primary key.
    ///
    /// - Parameters:
    ///   - key: its name, unique in the service.
    ///   - columns: the fields of each object.
    ///   - join: further tables, `JOIN …`; each row of the table may come only once.
    ///   - rows: the condition for rows of this user. It leaves out what the user may not see (SO-7).
    public init(
        _ key: String,
        _ columns: [ExportColumn],
        join: Query = "",
        rows: @escaping @Sendable (UserID) -> Query
    ) {
        self.key = key
        self.columns = columns
        self.join = join
        self.rows = rows
    }
}

/// A field of an exported row. A literal is a column of the table by its own name.
public struct ExportColumn: Sendable, ExpressibleByStringLiteral {
    /// Makes the exported text of a row from a text of it.
    public typealias Rule = @Sendable (UserID, String) throws -> String

    enum Source: Sendable {
        case column
        case value(@Sendable (UserID) -> Query)
        case made(@Sendable (UserID) -> Query, @Sendable (Settings, Instant) throws -> Rule)
    }

    let name: String
    let source: Source

    /// A column of the table.
    public init(stringLiteral name: String) { self.init(name, .column) }

    private init(_ name: String, _ source: Source) {
        self.name = name
        self.source = source
    }

    /// The value of an expression.
    public static func value(_ name: String, _ expression: Query) -> ExportColumn { value(name) { _ in expression } }

    /// The value of an expression that depends on whose export it is.
    public static func value(_ name: String, _ expression: @escaping @Sendable (UserID) -> Query) -> ExportColumn {
        ExportColumn(name, .value(expression))
    }

    /// A text that SQL cannot make, as a signed link; null where the expression is null.
    ///
    /// - Parameter rule: made once a page, from the settings of the service and the instant of the page.
    public static func made(
        _ name: String,
        from expression: Query,
        _ rule: @escaping @Sendable (Settings, Instant) throws -> Rule
    ) -> ExportColumn {
        made(name, from: { _ in expression }, rule)
    }

    /// The same for an expression that depends on whose export it is.
    public static func made(
        _ name: String,
        from expression: @escaping @Sendable (UserID) -> Query,
        _ rule: @escaping @Sendable (Settings, Instant) throws -> Rule
    ) -> ExportColumn {
        ExportColumn(name, .made(expression, rule))
    }
}

extension ServiceModule {
    /// What all features and the runtime hold about users, each table once.
    public static var personalData: [PersonalData] { features.flatMap(\.personalData).uniqueTables + [.runtime] }
}

extension [PersonalData] {
    /// Two features may keep the same replica of facts.
    fileprivate var uniqueTables: [PersonalData] {
        var known: Set<String> = []
        return map { data in
            PersonalData(
                data.tables.filter { known.insert($0.name).inserted },
                impersonal: data.impersonal,
                steps: data.steps
            )
        }
    }
}
