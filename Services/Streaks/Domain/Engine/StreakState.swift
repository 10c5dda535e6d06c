public import Kernel

/// A streak's state at an instant: the fold of its ledger, with everything due by then settled.
public struct StreakState: Hashable, Sendable {
    public enum Status: Hashable, Sendable {
        case active
        case broken
        case ended
    }

    /// What became of a date.
    public enum Mark: Hashable, Sendable, CaseIterable {
        /// Enough contributed.
        case complete
        /// Not over yet for everyone, and not complete.
        case open
        /// Nothing was at stake: the count was 0, or the streak was not running.
        case none
        /// Excused: paused, not scheduled, hardly seen, or lost to an outage.
        case neutral
        /// Kept by a recovery.
        case covered
        /// Kept and extended by a freeze.
        case frozen
        /// Kept and extended by a time machine (TS-3).
        case filled
        /// Broke the streak.
        case missed
    }

    /// A break.
    public struct Break: Hashable, Sendable {
        /// The missed date.
        public var date: CalendarDate
        public var at: Instant
        /// The count that was lost.
        public var count: Int

        public init(date: CalendarDate, at: Instant, count: Int) { (self.date, self.at, self.count) = (date, at, count) }
    }

    public var status: Status
    public var count: Int
    /// Of habits: in the unit that the present schedule counts.
    public var longest: Int
    public var lastCompletedDate: CalendarDate?
    /// The first counted date of the present run.
    public var runStart: CalendarDate?
    /// The date whose miss broke the streak; nil unless broken.
    public var missedDate: CalendarDate?
    /// The instant of the break; nil unless broken.
    public var brokenAt: Instant?
    /// The member who missed; nil when several did, or unless broken (MS-3).
    public var brokenBy: UserID?
    /// The latest break that was not undone, also when a new run has begun since: what a repair is for (CI-3).
    public var lastBreak: Break?
    /// The marks of the dates after the ledger's checkpoint. Use `mark(on:)`.
    public var days: [CalendarDate: Mark]
    /// The earliest date that can still be completed; nil unless active.
    public var openDate: CalendarDate?
    /// When `openDate` is over for everyone (MS-4).
    public var deadlineAt: Instant?
    /// `openDate`, when it is over for everyone and lives on by a grace (TS-4).
    public var graceDate: CalendarDate?
    /// The count is above 0, less than 6 h are left for `openDate`, a contribution is missing, and no recovery, pause or outage keeps it (MS-4).
    public var isAtRisk: Bool
    /// When it becomes at risk if no member contributes; the same condition as `isAtRisk` without the time.
    public var atRiskFrom: Instant?
    /// Freezes in hand, less those set by hand on open dates.
    public var freezesLeft: Int
    /// Freezes in hand, those set by hand on open dates too: what the cap counts. May be above it when one came back.
    public var freezesHeld: Int
    /// What is held and valid, in the order in which it would be spent.
    public var protections: [StreakLedger.Protection]
    /// Free dates left in the calendar month of the open date, or of the present one (`StreakPolicy.freeDatesPerMonth`).
    public var freeDatesLeft: Int
    /// The pause that holds or begins with the present date; nil when there is none.
    public var pause: StreakLedger.Pause?
    /// When something happens that is no deadline: a pause ends, or a grace begins.
    public var wakesAt: Instant?
    /// Recovery tokens given back so far.
    public var tokensReturned: Int
    /// Recovery tokens used in this run and not given back.
    public var tokensInUse: Int
    /// What only habits have: the status of each date since the checkpoint, runs with the reasons they ended, the present week.
    public var habit: HabitState?
    /// The instant it was folded at.
    public var asOf: Instant
    /// Everything noteworthy since the checkpoint, in date order; see `effects(since:)`.
    public var log: [StreakEffect]

    /// When the next date must be settled; nil while nothing can break (SD-8) or the streak does not run.
    public var nextDue: Instant? {
        guard status != .ended else { return nil }
        let deadline = status == .active && count > 0 ? deadlineAt : nil
        return [deadline, wakesAt].compactMap { $0 }.min()
    }

    /// What became of `date`; `none` outside the dates since the ledger's checkpoint.
    public func mark(on date: CalendarDate) -> Mark { days[date] ?? .none }

    /// Whether nothing was expected on `date`: it is neutral, or an outage that was declared afterwards has given back the freeze that had kept
    /// it (SD-7). So whenever an outage is declared, a perfect week is the same (CI-6). `false` up to the ledger's checkpoint.
    public func isExcused(on date: CalendarDate) -> Bool {
        switch mark(on: date) {
        case .neutral: true
        case .frozen:
            !log.contains { effect in
                if case .freezeSpent(let spent, _, _, _) = effect { spent == date } else { false }
            }
        default: false
        }
    }
}

/// Something that a service emits. Each has a key that is the same in whichever process and however often it is found (SD-5).
public enum StreakEffect: Hashable, Sendable {
    /// A date was completed by contributions and the count is now `count`. Dates that extend it otherwise: `freezeSpent`, `filled`.
    case completed(date: CalendarDate, count: Int, run: CalendarDate)
    /// A celebrated count was reached (MS-6), once per run; `isFirst`: the first time in the life of the streak, which is what CI-5
    /// rewards.
    case milestone(count: Int, date: CalendarDate, run: CalendarDate, isFirst: Bool)
    /// A count that earns every participant a recovery token was reached (RC-1).
    case tokenEarned(count: Int, date: CalendarDate, run: CalendarDate)
    /// A date was missed and the streak broke with `count`.
    case broken(date: CalendarDate, at: Instant, by: UserID?, count: Int)
    /// A break was undone (SD-6, SD-7, RC-2).
    case restored(date: CalendarDate)
    /// A freeze was spent on a missed date, and the count is now `count`; `left` are still in hand.
    case freezeSpent(date: CalendarDate, count: Int, left: Int, byHand: Bool)
    /// A freeze spent on a date came back (SD-6).
    case freezeReturned(date: CalendarDate)
    /// A count that earns freezes was reached (CI-2), by the run or as a milestone. `granted` came into hand: fewer than `freezes` when it was
    /// full.
    case freezeEarned(count: Int, date: CalendarDate, run: CalendarDate, isMilestone: Bool, freezes: Int, granted: Int)
    /// A missed date is neutral as one of the month's free ones (TS-3); `left` in that month.
    case freeDateUsed(date: CalendarDate, left: Int)
    /// It was not needed after all.
    case freeDateReturned(date: CalendarDate)
    /// A recovery was used for a date and the dates after it.
    case recovered(date: CalendarDate, through: CalendarDate, by: UserID?, at: Instant)
    /// A recovery token was not needed and came back to its user (RC-3, SD-6).
    case tokenReturned(date: CalendarDate, to: UserID?, usedAt: Instant)
    /// A repair covers these dates (CI-3, TS-3).
    case repaired(date: CalendarDate, through: CalendarDate, by: UserID?, id: OperationID?, at: Instant)
    /// A time machine filled a date (TS-3), and the count there is `count`.
    case filled(date: CalendarDate, count: Int, id: OperationID?)
    /// A repair or a time machine was not needed and came back to its user (CI-3).
    case coverReturned(date: CalendarDate, kind: StreakLedger.Recovery.Kind, to: UserID?, id: OperationID?, usedAt: Instant)
    /// An insurance or a shield kept a missed date (TS-3); `id` is nil for the insurance of a premium plan.
    case protectionSpent(date: CalendarDate, kind: StreakLedger.Protection.Kind, id: OperationID?)
    /// It was not needed after all, and is held again.
    case protectionReturned(date: CalendarDate, kind: StreakLedger.Protection.Kind, id: OperationID?)
    /// A pause begins; `until` is the first date that counts again (CI-4).
    case paused(from: CalendarDate, until: CalendarDate, at: Instant)
    /// A pause is over, by itself or by hand: `date` counts again.
    case pauseEnded(date: CalendarDate, pausedAt: Instant)
    /// A date is over without being complete and lives on until then (TS-4).
    case graceStarted(date: CalendarDate, until: Instant)
    /// The streak ended for good.
    case ended(at: Instant)

    /// Unique within a streak: `milestone:2026-05-01:7`.
    public var key: String {
        switch self {
        case .completed(let date, _, _): "completed:\(date)"
        case .milestone(let count, _, let run, _): "milestone:\(run):\(count)"
        case .tokenEarned(let count, _, let run): "token-earned:\(run):\(count)"
        case .broken(let date, _, _, _): "broken:\(date)"
        case .restored(let date): "restored:\(date)"
        case .freezeSpent(let date, _, _, _): "freeze-spent:\(date)"
        case .freezeReturned(let date): "freeze-returned:\(date)"
        case .freezeEarned(let count, _, let run, let isMilestone, _, _):
            "freeze-earned:\(run):\(count)" + (isMilestone ? ":milestone" : "")
        case .freeDateUsed(let date, _): "free-date-used:\(date)"
        case .freeDateReturned(let date): "free-date-returned:\(date)"
        case .recovered(let date, _, _, let at): "recovered:\(date):\(at.microseconds)"
        case .tokenReturned(let date, _, let usedAt): "token-returned:\(date):\(usedAt.microseconds)"
        case .repaired(let date, _, _, _, let at): "repaired:\(date):\(at.microseconds)"
        case .filled(let date, _, _): "filled:\(date)"
        case .coverReturned(let date, _, _, _, let usedAt): "cover-returned:\(date):\(usedAt.microseconds)"
        case .protectionSpent(let date, let kind, let id): "\(kind)-spent:\(date):\(id?.description ?? "premium")"
        case .protectionReturned(let date, let kind, let id): "\(kind)-returned:\(date):\(id?.description ?? "premium")"
        case .paused(_, _, let at): "paused:\(at.microseconds)"
        case .pauseEnded(_, let pausedAt): "pause-ended:\(pausedAt.microseconds)"
        case .graceStarted(let date, _): "grace-started:\(date)"
        case .ended: "ended"
        }
    }
}

extension StreakEffect {
    /// Whether it says that what an earlier effect spent has come back.
    func takesBack(_ earlier: StreakEffect) -> Bool {
        switch (self, earlier) {
        case (.freezeReturned(let date), .freezeSpent(let spent, _, _, _)): date == spent
        case (.freeDateReturned(let date), .freeDateUsed(let spent, _)): date == spent
        case (.protectionReturned(let date, let kind, let id), .protectionSpent(let spent, let held, let used)):
            date == spent && kind == held && id == used
        default: false
        }
    }
}

extension StreakState {
    /// What happened between an earlier fold and this one, in date order. Both must be folds from the same checkpoint.
    ///
    /// A service that stores the instant of its last fold calls it with `fold(ledger before, at: that instant)`. Emitted in the
    /// transaction that stores the new state, with the key as the outbox row's identity, each effect is emitted once. The key is needed:
    /// where freezes extend the count, an outage declared afterwards may lower it, and the same milestone is reached again.
    public func effects(since earlier: StreakState) -> [StreakEffect] {
        // What both begin with has the same keys, each once: it is in neither difference. Mostly that is all but the last entry.
        let shared = zip(log, earlier.log).prefix { $0 == $1 }.count
        let (fresh, old) = (log.dropFirst(shared), earlier.log.dropFirst(shared))
        guard !fresh.isEmpty || !old.isEmpty else { return [] }
        let known = Set(old.map(\.key))
        let present = Set(fresh.map(\.key))
        var effects: [StreakEffect] = []
        for undone in old where !present.contains(undone.key) {
            switch undone {
            case .broken(let date, _, _, _): effects.append(.restored(date: date))
            case .freezeSpent(let date, _, _, _): effects.append(.freezeReturned(date: date))
            case .freeDateUsed(let date, _): effects.append(.freeDateReturned(date: date))
            case .protectionSpent(let date, let kind, let id): effects.append(.protectionReturned(date: date, kind: kind, id: id))
            default: break
            }
        }
        return effects + fresh.filter { !known.contains($0.key) }
    }
}
