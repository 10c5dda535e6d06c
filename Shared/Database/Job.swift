/// One statement, from the caller to the server and back.
///
/// `@unchecked Sendable`: the caller fills it before submitting it; from then on only the loop's thread changes it.
final class Job: @unchecked Sendable {
    /// The purpose of a job.
    enum Role {
        case statement
        /// Several statements without values, in the simple protocol; on a leased connection only.
        case script
        /// `COMMIT` or `ROLLBACK`: the lease ends with it. A rollback is sent only when a transaction is open.
        case commit
        case rollback
        /// Rolls back what a session left open; sent only then.
        case leaveTransaction
        /// Cleans a connection after a session; if it fails, the connection is closed.
        case cleanUp
        /// The last of the clean-up jobs; the lease ends with it.
        case lastCleanUp
        /// Sent by the loop itself, without a waiting caller. If it fails, later statements fail too.
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

    /// The place of a job.
    enum Place {
        case new
        /// In the loop's queue for a shared connection.
        case pending
        /// In its lease, which waits for a connection, or at the lease's connection, which is not ready.
        case held
        /// In a connection's pipeline, or running as its script.
        case inFlight(slot: Int)
        case over
    }

    let text: String
    let binds: Binds
    let role: Role
    /// Nil when any shared connection will do.
    let lease: Lease?
    /// Whether it may be sent together with others of its text (`Database.lookup`).
    let isLookup: Bool
    /// The lookups that it is sent for; empty: it is none of several.
    let lookups: [Job]

    var continuation: UnsafeContinuation<ResultBox, any Error>?
    /// Who gets the answer of a queued statement, for which no caller need wait.
    var queued: QueuedStatement?
    var statement: Statement?
    /// Its name on the connection it was sent on; nil when it was sent unprepared.
    var statementName: String?
    var place = Place.new
    var isCancelled = false
    /// A repeat: sent alone in its sync, and unprepared.
    var isRetry = false
    /// When the loop received it, in nanoseconds of its clock.
    var submitted: UInt64 = 0
    /// Its index in the loop's list of unanswered jobs; negative when no caller waits for it.
    var position = -1

    init(
        text: String,
        binds: Binds = Binds(),
        role: Role = .statement,
        lease: Lease? = nil,
        isLookup: Bool = false,
        lookups: [Job] = []
    ) {
        self.text = text
        self.binds = binds
        self.role = role
        self.lease = lease
        self.isLookup = isLookup
        self.lookups = lookups
    }

    /// Whether its answer is still to be given to a caller.
    var isUnanswered: Bool { continuation != nil || queued != nil }

    /// Whether it may be withdrawn; the end of a lease may not.
    var isCancellable: Bool {
        switch role {
        case .statement, .script: true
        case .commit, .rollback, .leaveTransaction, .cleanUp, .lastCleanUp, .housekeeping: false
        }
    }

    /// Whether it only reads.
    var isRead: Bool { statement?.isRead ?? false }

    /// Resumes the caller, once. For jobs that never reached the loop; all others end by `Reactor.finish`.
    func answer(_ result: Result<ResultBox, any Error>) {
        place = .over
        if let queued {
            self.queued = nil
            queued.end(with: result)
        }
        guard let continuation else { return }
        self.continuation = nil
        continuation.resume(with: result)
    }
}

/// The lease of a connection for one transaction or session. It begins with the first statement.
///
/// `@unchecked Sendable`: only the loop's thread changes it.
final class Lease: @unchecked Sendable {
    enum State {
        case idle
        case waiting
        case held(slot: Int)
        /// The connection died, or none was available.
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
    /// Time limit of one statement, in nanoseconds, for the loop's check for a silent server.
    let statementLimit: UInt64

    var state = State.idle
    /// The job that ends it was submitted.
    var isEnding = false
    /// A queued statement failed, on the server or on the way: nothing more may run, and nothing may be committed.
    var hasFailed = false
    /// Statements that wait for the connection.
    var parked: [Job] = []
    var deadline: UInt64 = 0

    init(_ kind: Kind, prologue: String?, statementLimit: UInt64) {
        self.kind = kind
        self.prologue = prologue
        self.statementLimit = statementLimit
    }
}
