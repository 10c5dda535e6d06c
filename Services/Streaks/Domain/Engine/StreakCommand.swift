public import Kernel

/// What can happen to a streak.
public enum StreakCommand: Hashable, Sendable {
    /// A snap, check-in or activity. `receivedAt` decides the date (SD-1), `capturedAt` is the client's claim (SD-2): one that is too far ahead or too
    /// old is ignored.
    case contribute(UserID, receivedAt: Instant, capturedAt: Instant?)
    /// A recovery token, after the break or in advance (RC-2, RC-3). Whether there is a token is billing's to say. `receivedAt` decides
    /// whether it was in time, however late it is done; nil: now.
    case recover(UserID, receivedAt: Instant? = nil)
    /// An operator declares an outage (SD-7).
    case declareOutage(from: Instant, until: Instant)
    /// A participant's clock follows another zone (SD-3), since `since`; nil: from now on. One that comes late opens again what was settled
    /// without it (SD-6).
    case changeZone(UserID, Zone, since: Instant? = nil)
    /// Nothing is expected until `until`, the first date that counts again (CI-4). `receivedAt`: see `happenedAt`.
    case pause(until: CalendarDate, receivedAt: Instant? = nil)
    /// The pause ends early: today counts again.
    case resume
    /// A freeze is used by hand for yesterday or today (CI-2). On a date that broke the streak it undoes the break, for 24 h.
    case freeze(CalendarDate)
    /// So many bought freezes come into hand (CI-2). Refused with `MAX_FREEZES_REACHED` when more than the cap would be now; nothing
    /// happens when the ledger has this id already. `obtainedAt`: when they were paid for: they serve dates that were not over then,
    /// also those that are settled; nil: now.
    case grantFreezes(Int, id: OperationID, obtainedAt: Instant? = nil)
    /// So many bought freezes leave the hand again, because their purchase was refunded (BI-5). Refused with `NO_FREEZES_AVAILABLE` when fewer
    /// are left; nothing happens when the ledger has this id already.
    case takeFreezes(Int, id: OperationID)
    /// A repair of a check-in streak or a restore of a typed one (CI-3, TS-3): covers the latest break from the missed date through the
    /// present one, also when a new run has begun since. `receivedAt` decides whether it was in time; nil: now. Nothing happens when the
    /// ledger has this id already.
    case repair(UserID, receivedAt: Instant? = nil, id: OperationID)
    /// A time machine fills one missed date of the last 7 (TS-3), refused unless the runs on both sides join. Nothing happens when the ledger
    /// has this id already.
    case fill(CalendarDate, by: UserID, id: OperationID)
    /// An insurance or a shield is held from now on, until `until` (excluded; nil: until it is spent). Nothing happens when the ledger has
    /// this id already. `receivedAt`: see `happenedAt`.
    case protect(StreakLedger.Protection.Kind, until: Instant?, id: OperationID, receivedAt: Instant? = nil)
    /// So many shields that are held leave, because their purchase was refunded (BI-5): from now on they protect nothing. Spent ones stay
    /// spent; when fewer are unspent, those leave.
    case takeShields(Int)
    /// A user becomes a member of a team, from the next date on (TS-4). Nothing happens when they are one. `at`: when they joined the
    /// circle; see `happenedAt`.
    case join(UserID, ZoneHistory, at: Instant? = nil)
    /// A member leaves a team. Nothing happens when they have left. `at`: when they left the circle; see `happenedAt`.
    case leave(UserID, at: Instant? = nil)
    /// A user's plan is another since `since`; nil: from now on. One that comes late opens again what was settled without it (SD-6).
    case changePlan(UserID, isPremium: Bool, until: Instant? = nil, since: Instant? = nil)
    /// Completions and skips of a habit, in order (HA-2). What is refused changes nothing and is reported by its place
    /// (`StreakChange.refused`), so that one bad change of a sync fails alone. `earliest` is the first date that takes completions and
    /// skips: nil: 7 dates before today (HA-12); for sync `earliestDate(lastSync:)`; for import and restore any. `room` is what of the
    /// account's limit is left.
    case edit([HabitEdit], earliest: CalendarDate? = nil, room: HabitRoom = .unlimited)
    /// Another schedule, target or week start of a habit, from today on, or from tomorrow if today is done (HA-10). The first date of
    /// `Schedule.everyNthDate` is set by the version.
    case changeHabit(Schedule, target: Amount?, weekStart: Int)
    /// A habit expects nothing from `from`, today or later, to `until` (excluded), at most 90 dates (HA-13).
    case pauseHabit(from: CalendarDate, until: CalendarDate)
    /// The habit's pause ends early: today counts again; one that has not begun is taken back.
    case resumeHabit
    /// The habit expects nothing from today on (HA-13). Nothing happens when it is in the archive.
    case archive
    /// Today counts again. Nothing happens when it is not in the archive.
    case unarchive
    /// The friendship has ended (SO-4).
    case end
    /// The account of a participant was deleted, at an instant (AU-7); see `happenedAt`.
    case endWithAccount(of: UserID, at: Instant)
    /// The account that the streak has ended with is restored (AU-7): the streak goes on as if it had not ended, and what was missed
    /// meanwhile is settled. Nothing happens when it has not ended.
    case reopen
    /// A moderator has shut a participant's account: the streak breaks by them (SO-9).
    case breakOff(by: UserID)
    /// Nothing but settling what is due.
    case settle
}

extension StreakCommand {
    /// When a contribution, a pause or a protection was received, a circle was joined or left, or an account deleted. It is written as of then, unless the
    /// streak was settled later: what has come before midnight and is written after it must not show a break that never was (SD-1,
    /// SD-4). Where one was shown already it is undone (SD-6). nil: it is written as of now.
    public var happenedAt: Instant? {
        switch self {
        case .contribute(_, let receivedAt, _): receivedAt
        case .pause(_, let receivedAt): receivedAt
        case .protect(_, _, _, let receivedAt): receivedAt
        case .join(_, _, let joinedAt): joinedAt
        case .leave(_, let leftAt): leftAt
        case .endWithAccount(_, let deletedAt): deletedAt
        default: nil
        }
    }
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
    /// `edit`: what was refused, by its place in the list.
    public var refused: [Int: ServiceError]
    /// `edit`: completions that changed one that was there, or found nothing left to add (HA-14): the id of that one, by their place.
    public var merged: [Int: CompletionID]
    /// `edit`: the room that it has left.
    public var room: HabitRoom

    public init(
        ledger: StreakLedger,
        before: StreakState,
        state: StreakState,
        effects: [StreakEffect],
        creditedTo: CalendarDate? = nil,
        refused: [Int: ServiceError] = [:],
        merged: [Int: CompletionID] = [:],
        room: HabitRoom = .unlimited
    ) {
        (self.ledger, self.before, self.state) = (ledger, before, state)
        (self.effects, self.creditedTo) = (effects, creditedTo)
        (self.refused, self.merged, self.room) = (refused, merged, room)
    }
}

extension StreakChange {
    /// What the streak counted when this change ended it; 0 when it did not end it, and when a break had ended the run before.
    public var endedCount: Int {
        guard before.status != .ended, state.status == .ended else { return 0 }
        let isRunning = effects.reduce(before.status == .active) { isRunning, effect in
            switch effect {
            case .broken: false
            case .restored: true
            default: isRunning
            }
        }
        return isRunning ? state.count : 0
    }

    /// The effects without what this change itself takes back. A late contribution that is the first look after midnight spends a
    /// freeze or a protection on its date and gives it back at once: where uses are kept, there was none. Events say both.
    public var lastingEffects: [StreakEffect] {
        var lasting: [StreakEffect] = []
        for effect in effects {
            if let place = lasting.lastIndex(where: effect.takesBack) {
                lasting.remove(at: place)
            } else {
                lasting.append(effect)
            }
        }
        return lasting
    }
}

extension StreakLedger {
    /// Settles what is due at `now`, then does what the command says.
    ///
    /// - Parameters:
    ///   - now: when it is written to the ledger; never earlier than any earlier command's.
    ///   - settledAt: when effects were last emitted; nil: the start. What was due since then is among the effects.
    /// - Throws: the refusal: `NOT_A_MEMBER`, `ALREADY_POSTED`, `STREAK_NOT_ACTIVE`, `STREAK_NOT_BROKEN`,
    ///   `RECOVERY_ALREADY_USED`, `RECOVERY_WINDOW_EXPIRED`, `PAUSE_NOT_ALLOWED`, `ALREADY_PAUSED`, `PAUSE_TOO_LONG`,
    ///   `PAUSE_NEEDS_CHECK_IN`, `NOT_PAUSED`, `NO_FREEZES_AVAILABLE`, `FREEZE_NOT_NEEDED`, `FREEZE_TOO_LATE`, `MAX_FREEZES_REACHED`,
    ///   `STREAK_TOO_SHORT`, `REPAIR_WINDOW_EXPIRED`, `REPAIR_COOLDOWN_ACTIVE`, `DATE_NOT_MISSED`, `RUNS_DO_NOT_JOIN`,
    ///   `PROTECTION_NOT_ALLOWED`, `NO_HABIT`, `VALIDATION_ERROR`; or `ServiceError.ledgerTooShort` when the
    ///   command touches what the checkpoint hides.
    public func applying(
        _ command: StreakCommand,
        _ policy: StreakPolicy,
        at now: Instant,
        settledAt: Instant? = nil
    ) throws(ServiceError) -> StreakChange {
        let before = fold(self, policy, at: min(settledAt ?? start, now))
        let settled = fold(self, policy, at: now)
        var next = self
        guard command != .settle else {
            let effects = next.reporting(settled.effects(since: before), settled)
            return StreakChange(ledger: next, before: before, state: settled, effects: effects)
        }
        var edited = HabitEdited()
        var creditedTo: CalendarDate?
        if case .edit(let edits, let earliest, let room) = command {
            edited = try next.edit(edits, earliest: earliest, room: room, policy, settled)
        } else {
            creditedTo = try next.apply(command, policy, settled)
        }
        let state = fold(next, policy, at: now)
        // What was due is emitted before what the command caused: a break is emitted even when it is undone at once.
        let effects = next.reporting(settled.effects(since: before) + state.effects(since: settled), state)
        return StreakChange(
            ledger: next,
            before: before,
            state: state,
            effects: effects,
            creditedTo: creditedTo,
            refused: edited.refused,
            merged: edited.merged,
            room: edited.room
        )
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
        case .changeZone(let user, let zone, let since):
            try changeZone(of: user, to: zone, since: since ?? now, policy, settled)
        case .pause(let until, let receivedAt): try pause(until: until, receivedAt: receivedAt ?? now, policy, settled)
        case .resume: try resume(policy, settled)
        case .freeze(let date): try freeze(date, policy, settled)
        case .grantFreezes(let count, let id, let obtainedAt):
            try grantFreezes(count, id, obtainedAt: obtainedAt, policy, settled)
        case .takeFreezes(let count, let id): try takeFreezes(count, id, policy, settled)
        case .repair(let user, let receivedAt, let id):
            try repair(user, receivedAt: receivedAt ?? now, id, policy, settled)
        case .fill(let date, let user, let id): try fill(date, user, id, policy, settled)
        case .protect(let kind, let until, let id, let receivedAt):
            try protect(kind, until: until, id, receivedAt: receivedAt ?? now, policy, settled)
        case .takeShields(let count): try takeShields(count, settled)
        case .join(let user, let zones, let joinedAt): try join(user, zones, at: joinedAt ?? now, policy, settled)
        case .leave(let user, let leftAt): try leave(user, at: leftAt ?? now, policy, settled)
        case .changePlan(let user, let isPremium, let until, let since):
            try changePlan(of: user, isPremium: isPremium, until: until, since: since ?? now, policy, settled)
        case .breakOff(let user): try breakOff(by: user, settled)
        case .changeHabit(let schedule, let target, let weekStart):
            try changeHabit(schedule, target: target, weekStart: weekStart, policy, settled)
        case .pauseHabit(let from, let until): try pauseHabit(from: from, until: until, policy, settled)
        case .resumeHabit: try resumeHabit(policy, settled)
        case .archive: try archive(policy, settled)
        case .unarchive: try unarchive(policy, settled)
        case .edit: break
        case .end, .endWithAccount: if endedAt == nil { endedAt = now }
        case .reopen: endedAt = nil
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
