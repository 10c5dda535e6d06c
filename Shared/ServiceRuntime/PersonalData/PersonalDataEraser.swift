internal import Database
public import Kernel
public import Outbox

/// Erases a user from the schema of a service, as its features declare it (D16, AU-7).
public struct PersonalDataEraser: Sendable {
    private let tables: [PersonalTable]
    private let steps: [ErasureSteps]

    /// - Parameter declared: of all features of the service, `ServiceModule.personalData`.
    /// - Throws: `Settings.Invalid`, from what the steps need.
    public init(_ declared: [PersonalData], _ environment: ServiceEnvironment) throws {
        self.init(declared.flatMap(\.tables), try declared.compactMap { try $0.steps?(environment) })
    }

    init(_ tables: [PersonalTable], _ steps: [ErasureSteps]) {
        self.tables = tables
        self.steps = steps
    }

    /// Erases a user within one transaction. A repeat changes nothing.
    ///
    /// - Throws: `DatabaseError`, and what the features' steps throw.
    public func erase(_ user: UserID, _ work: UnitOfWork) async throws {
        for step in steps { try await step.before(user, work) }
        for table in tables {
            for statement in Self.statements(table, user) { _ = try await work.sql.execute(statement) }
        }
        for step in steps { try await step.after(user, work) }
    }

    private static func statements(_ table: PersonalTable, _ user: UserID) -> [Query] {
        var deleted: [Query] = []
        var statements: [Query] = []
        for (column, erasure) in table.users {
            switch erasure {
            case .delete: deleted.append("\(identifier: column) = \(user)")
            case .anonymise(let changes):
                let set = changes.map { "\(identifier: $0.column) = \($0.value)" as Query }.joined(", ")
                statements.append("UPDATE \(identifier: table.name) SET \(set) WHERE \(identifier: column) = \(user)")
            case .keep, .erased: break
            }
        }
        if !deleted.isEmpty { statements.append("DELETE FROM \(identifier: table.name) WHERE \(deleted.joined(" OR "))") }
        return statements
    }
}

extension [Query] {
    /// The queries one after the other.
    func joined(_ separator: StaticString) -> Query {
        guard let first else { return "" }
        return dropFirst().reduce(first) { "\($0)\(raw: separator)\($1)" }
    }
}
