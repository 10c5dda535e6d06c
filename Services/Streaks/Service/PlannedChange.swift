internal import Kernel
internal import StreaksDomain

/// What a command makes of a streak, computed and not written yet.
struct PlannedChange: Sendable {
    /// Dates that a ledger is loaded with, at most, before its checkpoint moves on.
    private static let mostDates = 35

    let row: StreakRow
    let change: StreakChange
    /// When it happens. Replicas' clocks differ a little; a streak's time never goes back.
    let now: Instant
    /// The one to store; nil when the present one stays.
    let newCheckpoint: Checkpoint?
    /// What happened lies before the checkpoint: it goes, and the next change folds the ledger from the start.
    let dropsCheckpoint: Bool
    private let posted: (user: UserID, date: CalendarDate)?
    private let newPhotos: Int

    /// - Parameters:
    ///   - isReloaded: the ledger had to be loaded whole although there is a checkpoint.
    ///   - newPhotos: adds to the number of snaps.
    /// - Throws: the domain's refusal.
    init(
        _ command: StreakCommand,
        of stored: StoredStreak,
        isReloaded: Bool = false,
        newPhotos: Int = 0,
        at instant: Instant
    ) throws(ServiceError) {
        row = stored.row
        now = max(instant, row.lookedAt)
        change = try stored.ledger.applying(command, StreakKeeper.policy, at: now, lastLook: row.lookedAt)
        self.newPhotos = newPhotos
        if case .contribute(let user, _, _) = command, let date = change.creditedTo {
            posted = (user, date)
        } else {
            posted = nil
        }
        // It moves on once a month's dates lie behind it. A ledger that had to be loaded whole replaces it.
        let base = change.ledger.base
        let age = base.settledThrough.distance(to: Zone.utc.date(at: now))
        let short = age >= Self.mostDates ? change.ledger.compacted(StreakKeeper.policy, at: now).base : base
        newCheckpoint = short == base ? nil : short
        dropsCheckpoint = short == base && (isReloaded || stored.isCheckpointStale)
    }

    /// What becomes of the row.
    var update: StreakUpdate {
        StreakUpdate(row: row, state: change.state, endedAt: change.ledger.endedAt, posted: posted, newPhotos: newPhotos)
    }

    /// It had stopped and goes on.
    var isRunningAgain: Bool { change.state.status == .active && row.status != .active }
}
