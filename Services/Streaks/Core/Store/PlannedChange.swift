package import Kernel
package import StreaksDomain

/// What a command makes of a streak: computed first, written then, and shown to what follows (`StreakFollower`).
package struct PlannedChange: Sendable {
    /// Dates that a ledger is loaded with, at most, before its checkpoint moves on.
    private static let mostDates = 35

    /// The row before the change.
    package let row: StreakRow
    package let change: StreakChange
    /// When it happens. Replicas' clocks differ a little; a streak's time never moves back.
    package let now: Instant
    /// The streak has just begun.
    package let isStart: Bool
    /// The user with whose account the streak ended (AU-7); nil when it did not, or ended otherwise.
    package let deletedUser: UserID?
    /// The contribution that it recorded; nil when it recorded none.
    package let contribution: StreakLedger.Contribution?
    /// Whether the contribution came inside its author's window (PW-3); nil where that is not asked.
    package internal(set) var isOnTime: Bool?
    /// Of the start of a solo streak: the level that its user's XP make.
    package internal(set) var userLevel = 1
    /// The operations of the covers that turned out not to be needed, by the instant they were used.
    package internal(set) var returned: [Instant: OperationID] = [:]
    /// Of a habit: whether milestones that it reaches are emitted.
    package internal(set) var reportsMilestones = true
    /// What was added to the ledger.
    var entries: LedgerEntries
    /// The one to store; nil when the present one stays.
    let newCheckpoint: Checkpoint?
    /// What happened lies before the checkpoint: it is deleted, and the next change folds the ledger from the start.
    let dropsCheckpoint: Bool

    /// - Parameters:
    ///   - operation: what asked for it: the id of the entries that it adds.
    ///   - isReloaded: the ledger had to be loaded whole although there is a checkpoint.
    /// - Throws: the domain's refusal.
    init(
        _ command: StreakCommand,
        of stored: StoredStreak,
        _ policy: StreakPolicy,
        operation: OperationID,
        isReloaded: Bool = false,
        at instant: Instant
    ) throws(ServiceError) {
        row = stored.row
        now = max(instant, row.settledAt)
        isStart = false
        change = try stored.ledger.applying(command, policy, at: now, settledAt: row.settledAt)
        deletedUser = if case .endWithAccount(let user, _) = command { user } else { nil }
        entries = LedgerEntries(of: row.id, from: stored.ledger, to: change.ledger, operation: operation)
        contribution = entries.contributions.first
        // It moves on once a month's dates lie behind it. A ledger that had to be loaded whole replaces it.
        let base = change.ledger.base
        let age = base.settledThrough.distance(to: Zone.utc.date(at: now))
        let short = age >= Self.mostDates ? change.ledger.compacted(policy, at: now).base : base
        newCheckpoint = short == base ? nil : short
        dropsCheckpoint = short == base && (isReloaded || stored.isCheckpointStale)
    }

    /// A streak that has just begun.
    init(start stored: StoredStreak, _ state: StreakState, operation: OperationID) {
        (row, now, isStart, deletedUser, contribution) = (stored.row, state.asOf, true, nil, nil)
        change = StreakChange(ledger: stored.ledger, before: state, state: state, effects: [], creditedTo: nil)
        var empty = stored.ledger
        (empty.freezeGrants, empty.pauses) = ([], [])
        entries = LedgerEntries(of: stored.row.id, from: empty, to: stored.ledger, operation: operation)
        (newCheckpoint, dropsCheckpoint) = (nil, false)
    }

    /// Of a habit: the completions that it added, partial ones too.
    package var completions: [StreakLedger.Contribution] { entries.habit?.added ?? [] }
    /// The insurances and shields that it added to the ledger, and those that it took back: they end now.
    package var protections: [StreakLedger.Protection] { entries.protections }
    /// The freezes that it brought into hand, or took out of it.
    package var grants: [StreakLedger.FreezeGrant] { entries.grants }
    /// It runs now and did not before.
    package var runsAgain: Bool { isStart || (change.state.status == .active && row.status != .active) }
    /// It is active, broken or ended, and was not before.
    package var changesStatus: Bool { isStart || change.before.status != change.state.status }
}
