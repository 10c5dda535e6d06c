/// Notified of every statement; for metrics. Called when the answer arrives: must not block.
public protocol DatabaseObserver: Sendable {
    /// A statement has ended.
    ///
    /// - Parameters:
    ///   - kind: The kind of statement.
    ///   - error: The code of its failure; nil when it succeeded.
    ///   - duration: From the call to the answer, with the wait for a connection.
    func statementEnded(_ kind: StatementKind, error: DatabaseError.Code?, duration: Duration)
}

/// The kind of a statement.
public enum StatementKind: String, Sendable, CaseIterable {
    /// One of the service's own.
    case statement
    /// The commit of a transaction.
    case commit
    /// The rollback of a transaction.
    case rollback
    /// A migration.
    case script

    init?(_ role: Job.Role) {
        switch role {
        case .statement: self = .statement
        case .commit: self = .commit
        case .rollback: self = .rollback
        case .script: self = .script
        case .leaveTransaction, .cleanUp, .lastCleanUp, .housekeeping: return nil
        }
    }
}
