public import Kernel

/// What can happen to a streak.
public enum StreakCommand: Hashable, Sendable {
    /// A snap, check-in or activity. `receivedAt` decides the date (SD-1), `capturedAt` is the client's claim (SD-2).
    case contribute(UserID, receivedAt: Instant, capturedAt: Instant?)
    /// A recovery token, after the break or in advance (RC-2, RC-3). Whether there is a token is billing's to say. `receivedAt` decides
    /// whether it was in time, however late it is done; nil: now.
    case recover(UserID, receivedAt: Instant? = nil)
    /// An operator declares an outage (SD-7).
    case declareOutage(from: Instant, until: Instant)
    /// A participant's clock follows another zone from now on (SD-3).
    case changeZone(UserID, Zone)
    /// Nothing is expected until `until`, the first date that counts again (CI-4).
    case pause(until: CalendarDate)
    /// The pause ends early: today counts again.
    case resume
    /// A freeze is used by hand for yesterday or today (CI-2).
    case freeze(CalendarDate)
    /// The friendship or an account has ended (SO-4, AU-7).
    case end
    /// A moderator has shut a participant's account: the streak breaks by them (SO-9).
    case breakOff(by: UserID)
    /// Nothing but settling what is due.
    case settle
}

/// What a command came to.
public struct StreakChange: Hashable, Sendable {
    /// The ledger with the new entries.
    public var ledger: StreakLedger
    /// The state before the command, as it was last folded.
    public var before: StreakState
    /// The state after it.
    public var state: StreakState
    /// What is to be emitted, each once by its key: what was due, and what the command caused.
    public var effects: [StreakEffect]
    /// `contribute`: the date it counts for.
    public var creditedTo: CalendarDate?

    public init(
        ledger: StreakLedger,
        before: StreakState,
        state: StreakState,
        effects: [StreakEffect],
        creditedTo: CalendarDate? = nil
    ) {
        (self.ledger, self.before, self.state) = (ledger, before, state)
        (self.effects, self.creditedTo) = (effects, creditedTo)
    }
}

extension StreakLedger {
    /// Settles what is due at `now`, then does what the command says.
    ///
    /// - Parameters:
    ///   - now: when it is written to the ledger; never earlier than any earlier command's.
    ///   - settledAt: when effects were last emitted; nil: the start. What was due since then is among the effects.
    /// - Throws: the refusal: `NOT_A_MEMBER`, `CAPTURED_IN_FUTURE`, `ALREADY_POSTED`, `STREAK_NOT_ACTIVE`, `STREAK_NOT_BROKEN`,
    ///   `RECOVERY_ALREADY_USED`, `RECOVERY_WINDOW_EXPIRED`, `PAUSE_NOT_ALLOWED`, `ALREADY_PAUSED`, `PAUSE_TOO_LONG`,
    ///   `NOT_PAUSED`, `NO_FREEZES_AVAILABLE`, `FREEZE_NOT_NEEDED`, `VALIDATION_ERROR`; or `ServiceError.ledgerTooShort` when the
    ///   command touches what the checkpoint hides.
    public func applying(
        _ command: StreakCommand,
        _ policy: StreakPolicy,
        at now: Instant,
        settledAt: Instant? = nil
    ) throws(ServiceError) -> StreakChange {
        let before = fold(self, policy, at: min(settledAt ?? start, now))
        let settled = fold(self, policy, at: now)
        guard command != .settle else {
            return StreakChange(ledger: self, before: before, state: settled, effects: settled.effects(since: before))
        }
        var next = self
        let creditedTo = try next.apply(command, policy, settled)
        let state = fold(next, policy, at: now)
        // What was due is emitted before what the command caused: a break is emitted even when it is undone at once.
        let effects = settled.effects(since: before) + state.effects(since: settled)
        return StreakChange(ledger: next, before: before, state: state, effects: effects, creditedTo: creditedTo)
    }

    private mutating func apply(
        _ command: StreakCommand,
        _ policy: StreakPolicy,
        _ settled: StreakState
    ) throws(ServiceError) -> CalendarDate? {
        let now = settled.asOf
        switch command {
        case .contribute(let user, let receivedAt, let capturedAt):
            return try contribute(user, receivedAt: receivedAt, capturedAt: capturedAt, policy, settled)
        case .recover(let user, let receivedAt): try recover(user, receivedAt: receivedAt ?? now, policy, settled)
        case .declareOutage(let from, let until):
            guard from < until else { throw .validation(field: "until", "must be after from") }
            guard reaches(from) else { throw .ledgerTooShort }
            longestShown = settled.longest
            outages.append(Outage(from: from, until: until, declaredAt: now))
        case .changeZone(let user, let zone):
            guard let index = participants.firstIndex(where: { $0.user == user }) else { throw .notAMember }
            participants[index].zones.change(to: zone, at: now)
        case .pause(let until): try pause(until: until, policy, settled)
        case .resume: try resume(policy, settled)
        case .freeze(let date): try freeze(date, policy, settled)
        case .breakOff(let user): try breakOff(by: user, settled)
        case .end: if endedAt == nil { endedAt = now }
        case .settle: break
        }
        return nil
    }
}

extension ServiceError {
    /// The checkpoint hides a date the command touches: load the ledger from the start and try again. Never shown to callers.
    public static let ledgerTooShort = ServiceError(
        .outOfRange,
        "LEDGER_TOO_SHORT",
        "This date is settled for good."
    )

    static let notAMember = ServiceError(.permissionDenied, "NOT_A_MEMBER", "You are not part of this streak.")
    static let notActive = ServiceError(.failedPrecondition, "STREAK_NOT_ACTIVE", "This streak is not active.")
    static let alreadyPosted = ServiceError(.alreadyExists, "ALREADY_POSTED", "You have already posted for this date.")
    static let capturedInFuture = ServiceError(
        .invalidArgument,
        "CAPTURED_IN_FUTURE",
        "The capture time lies in the future; check the device's clock."
    )
    static let notBroken = ServiceError(
        .failedPrecondition,
        "STREAK_NOT_BROKEN",
        "This streak is neither broken nor at risk."
    )
    static let recoveryUsed = ServiceError(
        .failedPrecondition,
        "RECOVERY_ALREADY_USED",
        "A recovery token was already used in this run."
    )
    static let recoveryExpired = ServiceError(
        .failedPrecondition,
        "RECOVERY_WINDOW_EXPIRED",
        "The time to recover this streak is over."
    )
}
