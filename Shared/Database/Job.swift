/// One statement on its way from a caller to the server and back.
///
/// `@unchecked Sendable`: the caller fills it before it submits it; from then on only the loop's thread touches what can change.
final class Job: @unchecked Sendable {
    /// What a job is for.
    enum Role {
        case statement
        /// Several statements without values, in the simple protocol; on a leased connection only.
        case script
        /// `COMMIT` or `ROLLBACK`: the lease ends with it. A rollback is sent only when a transaction is open.
        case commit
        case rollback
        /// Rolls back what a session left open; sent only then.
        case leaveTransaction
        /// Cleans a connection after a session; its failure costs the connection.
        case cleanUp
        /// The last of those; the lease ends with it.
        case lastCleanUp
        /// Sent by the loop itself; nobody waits for it, and its failure shows in what follows.
        case housekeeping

        var endsLease: Bool {
            switch self {
            case .commit, .rollback, .lastCleanUp: true
            case .statement, .script, .leaveTransaction, .cleanUp, .housekeeping: false
            }
        }

        /// Whether it is a `ROLLBACK`: outside a transaction the server would answer with a warning, which it logs.
        var isRollback: Bool { self == .rollback || self == .leaveTransaction }

        /// Whether it cleans a connection after a session.
        var isCleanUp: Bool { self == .leaveTransaction || self == .cleanUp || self == .lastCleanUp }
    }

    /// Where a job is.
    enum Place {
        case new
        /// In the loop's queue for a shared connection.
        case pending
        /// With its lease, which waits for a connection, or with the lease's connection, which is not ready.
        case held
        /// In a connection's pipeline, or the script it runs.
        case inFlight(slot: Int)
        case over
    }

    let text: String
    let binds: Binds
    let role: Role
    /// Nil when any shared connection will do.
    let lease: Lease?

    var continuation: UnsafeContinuation<ResultBox, any Error>?
    var statement: Statement?
    /// What it was called on the connection it was sent on; nil when it went unprepared.
    var statementName: String?
    var place = Place.new
    var isCancelled = false
    /// Sent a second time, or about to be: alone in its sync, and without relying on a preparation.
    var isRetry = false
    /// When the loop was given it, in nanoseconds of its clock.
    var submitted: UInt64 = 0
    /// Where it is in the loop's list of unanswered jobs; negative when nobody waits for it.
    var position = -1

    init(text: String, binds: Binds = Binds(), role: Role = .statement, lease: Lease? = nil) {
        self.text = text
        self.binds = binds
        self.role = role
        self.lease = lease
    }

    /// What may be withdrawn; the end of a lease may not.
    var isCancellable: Bool {
        switch role {
        case .statement, .script: true
        case .commit, .rollback, .leaveTransaction, .cleanUp, .lastCleanUp, .housekeeping: false
        }
    }

    /// Whether it only reads.
    var isRead: Bool { statement?.isRead ?? false }

    /// Tells the caller, once. For jobs the loop never saw; all others end by `Reactor.finish`.
    func answer(_ result: Result<ResultBox, any Error>) {
        place = .over
        guard let continuation else { return }
        self.continuation = nil
        continuation.resume(with: result)
    }
}

/// A connection's loan to one transaction or session. It begins with the first statement, not before.
///
/// `@unchecked Sendable`: only the loop's thread touches what can change.
final class Lease: @unchecked Sendable {
    enum State {
        case idle
        case waiting
        case held(slot: Int)
        /// The connection died, or none was to be had.
        case lost(DatabaseError)
        case ended
    }

    enum Kind {
        case transaction
        case session
    }

    let kind: Kind
    /// Sent before the first statement: `BEGIN …`.
    let prologue: String?
    /// How long one statement may take, in nanoseconds, for the loop's own watch over a silent server.
    let statementLimit: UInt64

    var state = State.idle
    /// The statement that ends it was asked for.
    var isEnding = false
    /// Statements that wait for the connection.
    var parked: [Job] = []
    var deadline: UInt64 = 0

    init(_ kind: Kind, prologue: String?, statementLimit: UInt64) {
        self.kind = kind
        self.prologue = prologue
        self.statementLimit = statementLimit
    }
}
