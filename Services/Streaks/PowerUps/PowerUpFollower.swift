internal import Kernel
package import Outbox
package import StreaksCore
internal import StreaksDomain

/// What becomes of power-ups in the ledger: they protect, are spent, held again, taken back, or back with the user. In the transaction that
/// causes it, so nothing is consumed that did not help (TS-3).
package struct PowerUpFollower: StreakFollower {
    package init() {}

    package func follow(_ changes: [PlannedChange], _: Urgency, _ work: UnitOfWork) async throws {
        // A midnight spends thousands: one statement.
        var spent: [OperationID: CalendarDate] = [:]
        for change in changes where change.row.kind.isSolo {
            // First: what is bought late may be spent by the same change.
            if let user = change.row.members.first {
                for protection in change.protections {
                    try PowerUpRepository.store(StoredPowerUp(protection, of: user, change), work.sql)
                }
            }
            for effect in change.change.lastingEffects {
                switch effect {
                case .protectionSpent(let date, _, let id?): spent[id] = date
                case .protectionReturned(_, _, let id?):
                    spent[id] = nil
                    try await PowerUpRepository.setHeld(id, now: work.now, work.sql)
                case .coverReturned(_, _, _, let id?, _):
                    // What was paid for otherwise is not known here: its feature gives it back.
                    if let (user, good) = try await PowerUpRepository.setReturned(id, now: work.now, work.sql) {
                        try await GoodsStock.give(good, to: user, work.sql)
                    }
                default: break
                }
            }
        }
        try PowerUpRepository.setUsed(spent, work.sql)
    }
}

extension StoredPowerUp {
    /// An insurance or a shield that a change has added to a ledger, or taken back.
    fileprivate init(_ protection: StreakLedger.Protection, of user: UserID, _ change: PlannedChange) {
        let isOver = protection.until.map { $0 <= change.now } ?? false
        self.init(
            id: protection.id,
            user: user,
            good: protection.kind == .shield ? .shield : .insurance,
            kind: change.row.kind,
            state: isOver ? .expired : .active,
            usedAt: protection.at,
            until: protection.until,
            dueAt: protection.until
        )
    }
}
