internal import Bus
internal import Database
internal import Kernel
internal import Outbox
internal import Replicas
internal import StreaksCore
internal import StreaksDomain

/// The check-in streak of a user: found, or started by the first call that needs it (CI-1, CI-2).
struct CheckInStreaks: Sendable {
    let writer: StreakWriter
    let profiles: ProfileReplica
    let entitlements: EntitlementReplica
    let work: UnitOfWorkFactory
    private var store: StreakStore { writer.store }

    init(
        writer: StreakWriter,
        profiles: ProfileReplica,
        entitlements: EntitlementReplica = EntitlementReplica(),
        work: UnitOfWorkFactory
    ) {
        (self.writer, self.profiles, self.entitlements, self.work) = (writer, profiles, entitlements, work)
    }

    /// Locks the streak of a user; starts it when there is none.
    ///
    /// - Throws: `UNAVAILABLE` when nothing is known of the user yet (`prepare`).
    func lock(_ user: UserID, _ work: UnitOfWork) async throws -> StoredStreak {
        try await locked(try store.enqueueLock(.checkIn, of: user, work.sql), of: user, first: nil, work)
    }

    /// The streak that is being locked; starts it when there is none.
    ///
    /// - Parameter first: the activity that it is wanted for: a new streak begins with it. nil: it begins now.
    /// - Throws: `ServiceError.unknownUser` when nothing is known of the user yet (`prepare`).
    func locked(_ queued: QueuedStreak, of user: UserID, first: StreakWriter.FirstActivity?, _ work: UnitOfWork) async throws
        -> StoredStreak
    {
        if let stored = try await store.locked(queued, work.sql) { return stored }
        return try await writer.begin(.checkIn, of: user, first: first, work) {
            guard let profile = try await profiles.knownHere([user], work.sql)[user], profile.status != .deleted else {
                throw ServiceError.unknownUser
            }
            _ = try await ZoneRepository.add(profile.zone, of: user, since: profile.zoneSince, work.sql)
        }
    }

    /// Locks the streak of a user; nil when there is none yet.
    func lockExisting(_ user: UserID, _ work: UnitOfWork) async throws -> StoredStreak? {
        try await store.locked(try store.enqueueLock(.checkIn, of: user, work.sql), work.sql)
    }

    /// Runs `body`; once more when nothing was known of the user here, and they have been asked for (`ProfileReplica.knowing`).
    func knowing<Result>(_ user: UserID, _ context: CallContext, _ body: () async throws -> Result) async throws -> Result {
        try await profiles.knowing(user, or: .unknownUser, context: context, body)
    }

    /// Sees that a streak can be started: a user of whom no event has come yet is asked for.
    func prepare(_ user: UserID, _ context: CallContext) async throws {
        if try await store.streak(.checkIn, key: Self.key(user), store.database) != nil { return }
        _ = try await profiles.profile(user, context: context)
    }

    /// The streak of a user as it stands now, with what is due settled; nil when there is none yet.
    ///
    /// - Parameter isWhole: with every entry its ledger ever had.
    func read(_ user: UserID, isWhole: Bool = false, _ context: CallContext) async throws -> SettledCheckIns? {
        let settled = try await read(user, with: nil, context).streak
        guard isWhole, let settled else { return settled }
        let whole = try await store.load([settled.row.id], isWhole: true).first
        return whole.map { SettledCheckIns($0, policy, at: work.now()) }
    }

    /// The same with another statement that reads at the same time.
    ///
    /// - Parameter facts: read again when something was due: settling may change it.
    func read(_ user: UserID, with facts: Query?, _ context: CallContext) async throws -> (streak: SettledCheckIns?, facts: [Row])
    {
        var (stored, rows) = try await store.solo(.checkIn, of: user, with: facts)
        if let row = stored?.row, row.isDue(at: work.now()) {
            try await settle(row.id, context)
            (stored, rows) = try await store.solo(.checkIn, of: user, with: facts)
        }
        return (stored.map { SettledCheckIns($0, policy, at: work.now()) }, rows)
    }

    /// Settles what is due and stores it.
    func settle(_ id: StreakID, _ context: CallContext) async throws {
        _ = try await work.run(context) { [writer] work in
            try await writer.settle(try await writer.store.lock([id], work.sql), urgency: .now, work)
        }
    }

    /// The same as a transaction sees it, which has locked it. What is due is not written.
    func settled(_ stored: StoredStreak, at now: Instant) -> SettledCheckIns { SettledCheckIns(stored, policy, at: now) }

    var policy: StreakPolicy { writer.policy(for: .checkIn) }

    /// At most one that has not ended.
    static func key(_ user: UserID) -> String { user.description }
}

/// A check-in streak folded at an instant.
struct SettledCheckIns: Sendable {
    let row: StreakRow
    let ledger: StreakLedger
    let state: StreakState

    init(_ stored: StoredStreak, _ policy: StreakPolicy, at now: Instant) {
        (row, ledger) = (stored.row, stored.ledger)
        state = fold(stored.ledger, policy, at: max(now, stored.row.settledAt))
    }

    init(_ written: PlannedChange) { (row, ledger, state) = (written.row, written.change.ledger, written.change.state) }

    private var zones: ZoneHistory { ledger.participants.first?.zones ?? ZoneHistory(.utc) }
    /// What the user's clock shows.
    var today: CalendarDate { zones.date(at: state.asOf) }
    var zone: Zone { zones.zone(at: state.asOf) }
    /// The first instant of the user's next date.
    var nextDate: Instant { zones.end(of: today) }

    /// What a report claims by its times (SD-1, SD-2).
    func claim(receivedAt: Instant, capturedAt: Instant?, _ policy: StreakPolicy) -> CaptureClaim {
        zones.claim(receivedAt: receivedAt, capturedAt: capturedAt, policy)
    }

    /// Whether a date would not break the streak if nothing was done: by what the fold says of its end, whatever keeps it then.
    func isSafe(at date: CalendarDate, _ policy: StreakPolicy) -> Bool {
        ledger.outlook(on: date, policy, at: state.asOf) != .breaks
    }

    /// The latest break that still stands and what a repair would bring back.
    var broken: RepairRules.Break? {
        state.lastBreak.map { RepairRules.Break(count: $0.count, at: $0.at) }
    }

    /// The dates from the break to yesterday that nothing was done on.
    func missedDates(of user: UserID) -> [CalendarDate] {
        guard let broken = state.lastBreak else { return [] }
        var (dates, date): ([CalendarDate], CalendarDate) = ([], broken.date)
        while date < today, dates.count < 30 {
            if !ledger.hasContributed(user, on: date, known: state.asOf) { dates.append(date) }
            date = date.advanced(by: 1)
        }
        return dates
    }
}

extension ServiceError {
    /// Nothing has come of the user yet, by whose clock their dates would be.
    static let unknownUser = ServiceError.unavailable("Your profile is not known here yet.")
}
