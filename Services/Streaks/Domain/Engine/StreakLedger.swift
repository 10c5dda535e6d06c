public import Kernel

/// Everything that ever happened to one streak and that its state follows from (SD-5).
///
/// A service keeps one row per entry. To avoid folding years on every request it may keep a `Checkpoint` and load only the entries
/// after it (`compacted`). Entries carry the instant they were recorded: a fold at an instant uses only what was known then.
public struct StreakLedger: Hashable, Sendable {
    /// A member of the streak, with what the fold needs to know about them.
    public struct Participant: Hashable, Sendable {
        public let user: UserID
        public var zones: ZoneHistory
        /// When the user was on a premium plan; only loaded for kinds whose policy asks (`StreakPolicy.asksForPlans`).
        public var plans: PlanHistory
        /// Teams: when the member was one, in time order, at least one; for other kinds all the time.
        public var stays: [Stay]

        public init(_ user: UserID, zones: ZoneHistory, plans: PlanHistory = PlanHistory(), stays: [Stay] = [Stay()]) {
            self.user = user
            self.zones = zones
            self.plans = plans
            self.stays = stays
        }

        /// A participant whose clock has always followed `zone`.
        public init(_ user: UserID, zone: Zone) { self.init(user, zones: ZoneHistory(zone)) }

        /// Whether they are a member now.
        public var isPresent: Bool { stays.last?.left == nil }

        /// Whether what was received at an instant for a date can be a member's: they had not left yet, or the date is one before they left (TS-4).
        func isMember(on date: CalendarDate, receivedAt: Instant) -> Bool {
            guard let left = stays.last?.left else { return true }
            return receivedAt < left || date < zones.date(at: left)
        }

        /// The participant's first date in a streak that began at `start`, for who is a member from the start.
        func firstDate(since start: Instant) -> CalendarDate { zones.firstDate(at: start) }
    }

    /// A snap, check-in, activity or completion that counts for a date.
    public struct Contribution: Hashable, Sendable {
        public let user: UserID
        /// The author's date it counts for (SD-1, SD-2).
        public let date: CalendarDate
        /// When the server received it.
        public let receivedAt: Instant
        /// When it was written to the ledger; later than `receivedAt` when a crash came between.
        public let recordedAt: Instant
        /// Of a habit: what it is changed and deleted by.
        public let id: CompletionID?
        /// Of a habit: how much was done; nil: it completes its date whatever the target.
        public internal(set) var amount: Amount?

        public init(
            user: UserID,
            date: CalendarDate,
            receivedAt: Instant,
            recordedAt: Instant? = nil,
            id: CompletionID? = nil,
            amount: Amount? = nil
        ) {
            self.user = user
            self.date = date
            self.receivedAt = receivedAt
            self.recordedAt = recordedAt ?? receivedAt
            self.id = id
            self.amount = amount
        }
    }

    /// A time as a member of a team (TS-4). Who joins counts from the next date: the one after the newest that any member's clock had shown.
    /// Who leaves is a member of the dates before the one they leave on, and of those they contributed for.
    public struct Stay: Hashable, Sendable {
        /// nil: from the start.
        public var joined: Instant?
        /// nil: a member now.
        public var left: Instant?

        public init(joined: Instant? = nil, left: Instant? = nil) { (self.joined, self.left) = (joined, left) }
    }

    /// What a member used to keep a streak over missed dates.
    public struct Recovery: Hashable, Sendable {
        public enum Kind: Hashable, Sendable, CaseIterable {
            /// A recovery token: once per run, and returned when it was not needed (RC-2, RC-3, SD-6).
            case token
            /// A cover applied by the service.
            case cover
            /// A repair of a check-in streak or a restore of a typed one (CI-3, TS-3): the dates are kept and do not extend the count.
            case repair
            /// A time machine (TS-3): its one date is kept and extends the count.
            case fill
        }

        public var kind: Kind
        /// What asked for it; nil until it is stored, and for recovery tokens that are not.
        public var id: OperationID?
        /// The member who used it; nil for automatic covers.
        public var user: UserID?
        public var at: Instant
        /// The date it was used for.
        public var from: CalendarDate
        /// The last date it covers.
        public var through: CalendarDate
        /// When it turned out not to be needed; from then on it covers nothing.
        public var returnedAt: Instant?

        public init(
            kind: Kind,
            user: UserID?,
            at: Instant,
            from: CalendarDate,
            through: CalendarDate,
            returnedAt: Instant? = nil,
            id: OperationID? = nil
        ) {
            self.kind = kind
            self.id = id
            self.user = user
            self.at = at
            self.from = from
            self.through = through
            self.returnedAt = returnedAt
        }

        func covers(_ slot: ClosedRange<CalendarDate>, known instant: Instant) -> Bool {
            at <= instant && !isReturned(by: instant) && slot.overlaps(from...max(from, through))
        }

        func isReturned(by instant: Instant) -> Bool { returnedAt.map { $0 <= instant } ?? false }
    }

    /// Dates on which nothing is expected (CI-4, HA-13).
    public struct Pause: Hashable, Sendable {
        public var at: Instant
        public var from: CalendarDate
        /// The first date that counts again.
        public var until: CalendarDate

        public init(at: Instant, from: CalendarDate, until: CalendarDate) {
            self.at = at
            self.from = from
            self.until = until
        }
    }

    /// A time in which our service could not be reached, as an operator declared it (SD-7). The same for all streaks.
    public struct Outage: Hashable, Sendable {
        public var from: Instant
        public var until: Instant
        public var declaredAt: Instant

        public init(from: Instant, until: Instant, declaredAt: Instant) {
            self.from = from
            self.until = until
            self.declaredAt = declaredAt
        }
    }

    /// Freezes that came into hand (CI-2): those of the sign-up at the start, and bought ones. They serve only dates that are over later.
    /// What runs and milestones earn follows from the fold.
    public struct FreezeGrant: Hashable, Sendable {
        public var at: Instant
        public var count: Int
        /// What they were bought by; nil for those of the sign-up.
        public var id: OperationID?

        public init(at: Instant, count: Int, id: OperationID? = nil) {
            self.at = at
            self.count = count
            self.id = id
        }
    }

    /// What is held against the next break (TS-3). The fold spends it last, after pause, neutral dates and freezes, on a date that is over
    /// inside its validity; which one follows from the fold.
    public struct Protection: Hashable, Sendable {
        /// The raw value is the one in SQL.
        public enum Kind: Int32, Hashable, Sendable, CaseIterable {
            /// A typed streak's, bought for 7 days; premium has one without buying it.
            case insurance = 1
            /// A check-in streak's.
            case shield = 2
        }

        public var kind: Kind
        public var at: Instant
        /// The end of its validity, excluded; nil: until it is spent.
        public var until: Instant?
        /// What asked for it.
        public var id: OperationID

        public init(kind: Kind, at: Instant, until: Instant?, id: OperationID) {
            (self.kind, self.at, self.until, self.id) = (kind, at, until, id)
        }
    }

    /// A freeze used by hand for a date (CI-2).
    public struct ManualFreeze: Hashable, Sendable {
        public var at: Instant
        public var date: CalendarDate

        public init(at: Instant, date: CalendarDate) {
            self.at = at
            self.date = date
        }
    }

    /// When the streak began, with count 0. It moves back when an earlier activity is recorded later (`StreakPolicy.beginsWithActivity`).
    public internal(set) var start: Instant
    /// In a fixed order.
    public var participants: [Participant]
    /// What happened up to the checkpoint's date, folded.
    public internal(set) var base: Checkpoint
    public internal(set) var contributions: [CalendarDate: [Contribution]]
    /// In the order they were used; kept through compaction.
    public var recoveries: [Recovery]
    public var pauses: [Pause]
    /// The declared outages that can touch dates after the checkpoint.
    public var outages: [Outage]
    public var freezeGrants: [FreezeGrant]
    public var manualFreezes: [ManualFreeze]
    /// All that were ever held, the spent ones too.
    public var protections: [Protection]
    /// When the streak ended for good, with the friendship or an account (SO-4, AU-7).
    public var endedAt: Instant?
    /// When it was broken off, and for which member; nil when it was not. The latest, for kinds that begin anew.
    public var brokenOff: BrokenOff?
    /// Those before it.
    public var earlierBreakOffs: [BrokenOff]
    /// The longest count ever shown. An outage declared afterwards may turn a frozen date, which extended the count, into a neutral
    /// one; what was reached stays reached (SD-8). Store `StreakState.longest` and give it back here.
    public var longestShown: Int
    /// What only habits have; nil for other kinds.
    public internal(set) var habit: HabitEntries?

    /// A ledger from its rows.
    ///
    /// - Parameters:
    ///   - base: nil to fold from the start; then every entry ever made must be given.
    ///   - contributions: in any order; those up to the checkpoint's date are left out.
    public init(
        start: Instant,
        participants: [Participant],
        base: Checkpoint? = nil,
        contributions: [Contribution] = [],
        recoveries: [Recovery] = [],
        pauses: [Pause] = [],
        outages: [Outage] = [],
        freezeGrants: [FreezeGrant] = [],
        manualFreezes: [ManualFreeze] = [],
        protections: [Protection] = [],
        endedAt: Instant? = nil,
        brokenOff: BrokenOff? = nil,
        earlierBreakOffs: [BrokenOff] = [],
        longestShown: Int = 0,
        habit: HabitEntries? = nil
    ) {
        self.start = start
        self.participants = participants
        var habit = habit
        if base == nil { habit?.startsOn = contributions.lazy.map(\.date).min() }
        self.habit = habit
        let created = Self.firstDate(of: participants, start)
        let first = min(created, habit?.startsOn ?? created)
        let base = base ?? Checkpoint(settledThrough: first.advanced(by: -1))
        self.base = base
        let present = contributions.filter { $0.date > base.settledThrough || $0.date < first }
        self.contributions = Dictionary(grouping: present, by: \.date)
        self.recoveries = recoveries.sorted { $0.at < $1.at }
        self.pauses = pauses
        self.outages = outages
        self.freezeGrants = freezeGrants
        self.manualFreezes = manualFreezes
        self.protections = protections
        self.endedAt = endedAt
        self.brokenOff = brokenOff
        self.earlierBreakOffs = earlierBreakOffs
        self.longestShown = longestShown
    }

    /// The earliest date any participant's clock showed at the start. Members who joined later do not move it.
    /// Habits: or that of the earliest completion (HA-11).
    public var firstDate: CalendarDate {
        let created = Self.firstDate(of: participants, start)
        return min(created, habit?.startsOn ?? created)
    }

    private static func firstDate(of participants: [Participant], _ start: Instant) -> CalendarDate {
        let founders = participants.filter { $0.stays.first?.joined.map { $0 <= start } ?? true }
        let clocks = founders.isEmpty ? participants : founders
        return clocks.map { $0.zones.firstDate(at: start) }.min() ?? Zone.utc.date(at: start)
    }

    /// The earliest date that is not over for the streak at `instant`: not over for all members (SD-4). Only clocks decide it, so it
    /// holds for a streak that has broken or ended too.
    public func openFrom(at instant: Instant) -> CalendarDate {
        participants.map { $0.zones.openFrom(at: instant) }.min() ?? Zone.utc.date(at: instant)
    }

    /// The participant of that id.
    public func participant(_ user: UserID) -> Participant? { participants.first { $0.user == user } }

    /// The contributions to `date`, as known at `instant`.
    func contributions(to date: CalendarDate, known instant: Instant) -> [Contribution] {
        (contributions[date] ?? []).filter { $0.recordedAt <= instant }
    }

    /// Whether `user` has contributed for `date`, as known at `instant`.
    public func hasContributed(_ user: UserID, on date: CalendarDate, known instant: Instant) -> Bool {
        contributions[date]?.contains { $0.user == user && $0.recordedAt <= instant } ?? false
    }

    /// Whether everything that happened from `instant` on is in this ledger; otherwise it must be loaded from the start.
    public func reaches(_ instant: Instant) -> Bool {
        base.settledThrough < firstDate || participants.allSatisfy { $0.zones.date(at: instant) > base.settledThrough }
    }
}

/// The fold of a ledger up to a date that nothing ordinary can re-open: what a service stores so as not to fold from the start.
public struct Checkpoint: Hashable, Sendable {
    /// Everything up to this date is included; the fold continues with the next.
    public var settledThrough: CalendarDate
    public var count: Int
    public var longest: Int
    /// Of habits: the longest run of weeks; `longest` is that of dates (HA-10).
    public var longestWeeks: Int
    public var lastCompletedDate: CalendarDate?
    /// The first date of the present run: names the run in effect keys.
    public var runStart: CalendarDate?
    /// The break that stands, for kinds that begin anew.
    public var brokenOn: CalendarDate?
    public var brokenAt: Instant?
    public var brokenBy: UserID?
    /// Freezes in hand.
    public var freezes: Int
    /// Grants up to this instant are in `freezes`.
    public var grantsThrough: Instant?
    /// The last date that had a grace.
    public var lastGrace: CalendarDate?
    /// The latest break, also when a new run has begun since: what a repair is for (CI-3).
    public var lastBreak: StreakState.Break?
    /// The protections that were spent.
    public var spentProtections: Set<OperationID>
    /// The last date that a premium plan's own insurance kept.
    public var lastPremiumInsurance: CalendarDate?
    /// The free dates used in a calendar month (`StreakPolicy.freeDatesPerMonth`): any date of that month, and how many.
    public var freeDatesMonth: CalendarDate?
    public var freeDatesUsed: Int
    /// The latest times in which the streak counted as broken until something undid the break.
    public var closures: [Closure]

    /// A checkpoint before anything happened.
    public init(settledThrough: CalendarDate) {
        self.settledThrough = settledThrough
        count = 0
        longest = 0
        longestWeeks = 0
        freezes = 0
        spentProtections = []
        freeDatesUsed = 0
        closures = []
    }

    /// A time in which the streak accepted no contribution because it counted as broken; at its end something undid the break.
    public struct Closure: Hashable, Sendable {
        public var from: Instant
        public var until: Instant

        public init(from: Instant, until: Instant) {
            self.from = from
            self.until = until
        }
    }
}
