public import Kernel

/// A failure of the database layer: a closed code and the few facts a repository may act on.
///
/// The description is deliberately generic. Values, SQL text and server messages never appear in it, so that it may be logged anywhere.
public struct DatabaseError: Error, Hashable, Sendable {
    /// What failed.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The connection string, schema or a limit is invalid.
        case configuration
        /// No connection was available within `acquireTimeout`; nothing was sent.
        case unavailable
        /// Too many statements or transactions wait already; nothing was sent.
        case overloaded
        /// No connection became free for a transaction or session within `acquireTimeout`; nothing was sent.
        case leaseTimeout
        /// The connection died; nothing was changed.
        case connectionLost
        /// The connection died while a change was in flight, or no answer came in time: the change may or may not have been made.
        /// This module never retries it.
        case outcomeUnknown
        /// The server cancelled the statement because it ran too long, or it is a read that waited too long behind others.
        case statementTimeout
        /// A lock was not available in time (`lock_timeout`, `NOWAIT`).
        case lockTimeout
        /// A unique constraint refused the row; `constraint` names it.
        case uniqueViolation
        /// A foreign key refused the row; `constraint` names it.
        case foreignKeyViolation
        /// A check refused the row; `constraint` names it.
        case checkViolation
        /// NULL in a column that is NOT NULL.
        case notNullViolation
        /// An exclusion constraint refused the row; `constraint` names it.
        case exclusionViolation
        /// The transaction could not be serialised (40001); retry it.
        case serializationFailure
        /// The server broke a deadlock (40P01) by aborting this transaction; retry it.
        case deadlock
        /// An earlier statement of the transaction failed, so this one did not run.
        case transactionAborted
        /// The transaction or session was used after its closure had ended.
        case leaseEnded
        /// The role lacks a privilege.
        case insufficientPrivilege
        /// A Swift value that PostgreSQL cannot hold: NUL in a text, an instant out of range, more than 65,535 values.
        case invalidValue
        /// A column is missing, NULL, or of a type that does not fit the Swift type asked for.
        case decoding
        /// The migrations do not match those that were applied.
        case migration
        /// The database layer was stopped.
        case stopped
        /// Any other server error; see `sqlState`.
        case server
    }

    /// What failed.
    public let code: Code
    /// The server's five-character code; nil for other failures.
    public let sqlState: String?
    /// The constraint that refused the change; nil for anything else.
    public let constraint: String?
    /// Details for developers, without values: only `debugDescription` shows them.
    let detail: String?

    /// An error with this code.
    public init(_ code: Code, sqlState: String? = nil, constraint: String? = nil) {
        self.init(code, sqlState: sqlState, constraint: constraint, detail: nil)
    }

    init(_ code: Code, sqlState: String? = nil, constraint: String? = nil, detail: String?) {
        self.code = code
        self.sqlState = sqlState
        self.constraint = constraint
        self.detail = detail
    }

    /// Whether this is the refusal of the unique constraint or unique index called `name`.
    public func isUniqueViolation(_ name: String) -> Bool { code == .uniqueViolation && constraint == name }

    /// Whether the database could not be reached, so that nothing was changed and a later retry makes sense.
    public var isConnectionFailure: Bool {
        switch code {
        case .unavailable, .connectionLost, .leaseTimeout: true
        default: false
        }
    }

    /// Whether the whole transaction may be run again, without making any effect twice.
    public var isRetryable: Bool {
        switch code {
        case .serializationFailure, .deadlock, .connectionLost: true
        default: sqlState == Self.stalePlanState
        }
    }

    /// Whether the server said that it cannot do it now, whatever the statement: its disk is full, it lacks memory or connections, it starts
    /// up, shuts down or is a standby (PostgreSQL 15 manual, appendix A).
    public var isServerUnable: Bool {
        guard let sqlState else { return false }
        return Self.unableStates.contains(sqlState) || Self.unableClasses.contains { sqlState.hasPrefix($0) }
    }

    /// Connection exceptions, insufficient resources, interventions by the operator or the system.
    private static let unableClasses = ["08", "53", "57P", "58"]
    /// A transaction on a standby that only reads, and one that the server ended for being idle.
    private static let unableStates: Set<String> = ["25006", "25P03"]

    /// Our own code, in PostgreSQL's style: a prepared statement no longer matches its table. The server sends 0A000, which also
    /// has other meanings.
    static let stalePlanState = "0ASTP"
}

extension DatabaseError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The code and the SQLSTATE, nothing else.
    public var description: String {
        guard let sqlState else { return "database error: \(code.rawValue)" }
        return "database error: \(code.rawValue) (\(sqlState))"
    }

    /// The description plus names of schema objects, for developers; still without values.
    public var debugDescription: String {
        var text = description
        if let constraint { text += " constraint \(constraint)" }
        if let detail { text += ": \(detail)" }
        return text
    }
}

extension DatabaseError {
    /// The code for a SQLSTATE (PostgreSQL 15 manual, appendix A).
    static func code(sqlState: String) -> Code {
        switch sqlState {
        case "23505": .uniqueViolation
        case "23503": .foreignKeyViolation
        case "23514": .checkViolation
        case "23502": .notNullViolation
        case "23P01": .exclusionViolation
        case "40001": .serializationFailure
        case "40P01": .deadlock
        case "25P02": .transactionAborted
        case "42501": .insufficientPrivilege
        case "55P03": .lockTimeout
        case "57014": .statementTimeout
        default: .server
        }
    }
}

extension DatabaseError: ServiceErrorConvertible {
    /// `UNAVAILABLE` for whatever passes without a change of the request: the database is away, full, overloaded or in the middle of
    /// something else. Nil for the rest, which is a bug. A change whose outcome is unknown is `UNAVAILABLE` too: a repeat with the same
    /// idempotency key finds out.
    public var serviceError: ServiceError? {
        if isConnectionFailure || isRetryable || isServerUnable { return .unavailable() }
        switch code {
        case .overloaded, .outcomeUnknown, .lockTimeout, .stopped: return .unavailable()
        default: return nil
        }
    }
}
