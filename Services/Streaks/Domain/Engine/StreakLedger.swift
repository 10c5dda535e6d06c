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
        /// Teams: when the member joined; nil: from the start.
        public var joined: Instant?
        /// Teams: when the member left.
        public var left: Instant?

        public init(_ user: UserID, zones: ZoneHistory, joined: Instant? = nil, left: Instant? = nil) {
            self.user = user
            self.zones = zones
            self.joined = joined
            self.left = left
        }

        /// A participant whose clock has always followed `zone`.
        public init(_ user: UserID, zone: Zone) { self.init(user, zones: ZoneHistory(zone)) }

        /// The participant's first date in a streak that began at `start`.
        func firstDate(since start: Instant) -> CalendarDate { zones.firstDate(at: max(start, joined ?? start)) }
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

        public init(user: UserID, date: CalendarDate, receivedAt: Instant, recordedAt: Instant? = nil) {
            self.user = user
            self.date = date
            self.receivedAt = receivedAt
            self.recordedAt = recordedAt ?? receivedAt
        }
    }

    /// What keeps a streak over missed dates without extending it.
    public struct Recovery: Hashable, Sendable {
        public enum Kind: Hashable, Sendable {
            /// A recovery token: once per run, and returned when it was not needed (RC-2, RC-3, SD-6).
            case token
            /// Insurance, shield, repair or restore, applied by the service (CI-3, TS-3).
            case cover
        }

        public var kind: Kind
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
            returnedAt: Instant? = nil
        ) {
            self.kind = kind
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

    /// Dates on which nothing is expected (CI-4; a skipped habit date is a pause of one date).
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

    /// Freezes that came into hand (CI-2); those of the sign-up are granted at the start.
    public struct FreezeGrant: Hashable, Sendable {
        public var at: Instant
        public var count: Int

        public init(at: Instant, count: Int) {
            self.at = at
            self.count = count
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

    /// When the streak began, with count 0.
    public let start: Instant
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
    /// When the streak ended for good, with the friendship or an account (SO-4, AU-7).
    public var endedAt: Instant?
    /// When it was broken off, and for which member; nil when it was not.
    public var brokenOff: BrokenOff?
    /// The longest count ever shown. An outage declared afterwards may turn a frozen date, which extended the count, into a neutral
    /// one; what was reached stays reached (SD-8). Store `StreakState.longest` and give it back here.
    public var longestShown: Int

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
        endedAt: Instant? = nil,
        brokenOff: BrokenOff? = nil,
        longestShown: Int = 0
    ) {
        self.start = start
        self.participants = participants
        let first = participants.map { $0.zones.firstDate(at: start) }.min() ?? Zone.utc.date(at: start)
        let base = base ?? Checkpoint(settledThrough: first.advanced(by: -1))
        self.base = base
        let present = contributions.filter { $0.date > base.settledThrough || $0.date < first }
        self.contributions = Dictionary(grouping: present, by: \.date)
        self.recoveries = recoveries.sorted { $0.at < $1.at }
        self.pauses = pauses
        self.outages = outages
        self.freezeGrants = freezeGrants
        self.manualFreezes = manualFreezes
        self.endedAt = endedAt
        self.brokenOff = brokenOff
        self.longestShown = longestShown
    }

    /// The earliest date any participant's clock showed at the start. Members who joined later do not move it.
    public var firstDate: CalendarDate {
        participants.map { $0.zones.firstDate(at: start) }.min() ?? Zone.utc.date(at: start)
    }

    /// The earliest date that is not over for the streak at `instant`: not over for all members (SD-4). Only clocks decide it, so it
    /// holds for a streak that has broken or ended too.
    public func openFrom(at instant: Instant) -> CalendarDate {
        participants.map { $0.zones.openFrom(at: instant) }.min() ?? Zone.utc.date(at: instant)
    }

    /// The participant of that id.
    public func participant(_ user: UserID) -> Participant? { participants.first { $0.user == user } }

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
    /// The latest times in which the streak counted as broken until something undid the break.
    public var closures: [Closure]

    /// A checkpoint before anything happened.
    public init(settledThrough: CalendarDate) {
        self.settledThrough = settledThrough
        count = 0
        longest = 0
        freezes = 0
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
