/// Is told of every statement; for metrics. Called when the answer arrives: must not block.
public protocol DatabaseObserver: Sendable {
    /// A statement has ended.
    ///
    /// - Parameters:
    ///   - kind: What it was for.
    ///   - error: The code of its failure; nil when it succeeded.
    ///   - duration: From being asked for to its answer, waiting for a connection included.
    func statementEnded(_ kind: StatementKind, error: DatabaseError.Code?, duration: Duration)
}

/// What a statement is for.
public enum StatementKind: String, Sendable, CaseIterable {
    /// One of the service's own.
    case statement
    /// The end of a transaction that stays.
    case commit
    /// The end of a transaction that does not.
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
