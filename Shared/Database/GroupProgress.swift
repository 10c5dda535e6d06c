/// How far a group of transactions that run as one has come, and who may still end it. Events in, decisions out, no I/O.
///
/// Every decision is made by one call, under the group's lock, and is final: from the moment the commit is decided nothing but its own answer
/// ends the group. What follows from a decision is done outside of the lock; the rollback is sent behind all that was decided to be sent
/// before, also when another thread is still about to send that.
struct GroupProgress: Equatable, Sendable {
    private enum Phase {
        case open
        /// Statements are in flight, or about to be.
        case sending
        /// The commit is in flight, or about to be.
        case committing
        case over
    }

    /// What ends a group.
    enum End: CaseIterable {
        /// A member was cancelled, or has thrown.
        case withdrawal
        /// What was to be sent cannot be sent, or a statement has failed.
        case failure
        /// The commit's answer is known: what it was is another question.
        case commit
    }

    /// What who has ended it must do.
    struct Ending: Equatable, Sendable {
        /// What is in flight is stopped: it is of no use any more.
        let stopsStatements: Bool
        /// Sends the rollback. Otherwise who is about to send statements does so behind these.
        let rollsBack: Bool
    }

    private var phase = Phase.open
    /// How many threads are about to send what was decided: two, when an answer comes before the one that has sent its question goes on.
    private var handingOver = 0
    private var owesRollback = false

    var isOpen: Bool { phase == .open }
    var isSending: Bool { phase == .sending }
    /// Whether members may still add statements.
    var takesStatements: Bool { phase == .open || phase == .sending }

    /// All members wait: their statements, or their last ones and the commit, are sent next, until `handedOver`.
    mutating func begin(isLast: Bool) {
        assert(phase == .open)
        phase = isLast ? .committing : .sending
        handingOver += 1
    }

    /// A thread has sent what it was about to send.
    ///
    /// - Returns: whether the rollback must be sent now, because the group was ended meanwhile.
    mutating func handedOver() -> Bool {
        handingOver -= 1
        guard handingOver == 0 else { return false }
        defer { owesRollback = false }
        return owesRollback
    }

    /// All statements have succeeded: the members go on.
    mutating func answered() { if phase == .sending { phase = .open } }

    /// The end, if this may end it now.
    ///
    /// - Parameter needsRollback: false after a commit that has succeeded.
    /// - Returns: nil when it was over before, or when its commit decides.
    mutating func end(_ cause: End, needsRollback: Bool = true) -> Ending? {
        let stopsStatements = phase == .sending
        switch (phase, cause) {
        case (.over, _), (.committing, .withdrawal): return nil
        case (.open, _), (.sending, _), (.committing, _): phase = .over
        }
        owesRollback = needsRollback && handingOver > 0
        return Ending(stopsStatements: stopsStatements, rollsBack: needsRollback && handingOver == 0)
    }
}
