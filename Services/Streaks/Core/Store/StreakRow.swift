package import Database
package import Kernel
package import StreaksDomain

/// A streak's row: the state its ledger folded to when it was last settled.
package struct StreakRow: Sendable {
    package let id: StreakID
    package let kind: StreakKind
    /// Whose it is now, in the order of their ids.
    package let members: [UserID]
    package let startedAt: Instant
    package let status: StreakState.Status
    package let count: Int32
    package let longest: Int32
    package let lastCompletedDate: CalendarDate?
    /// The earliest date that can still be completed; nil unless active.
    package let openDate: CalendarDate?
    package let deadlineAt: Instant?
    package let atRiskFrom: Instant?
    package let nextDue: Instant?
    package let brokenBy: UserID?
    package let brokenAt: Instant?
    package let endedAt: Instant?
    package let contributionCount: Int32
    package let settledAt: Instant
    package let brokenOff: StreakLedger.BrokenOff?
    /// Those before it, of kinds that begin anew.
    package let earlierBreakOffs: [StreakLedger.BrokenOff]

    /// Whether a date waits to be settled.
    package func isDue(at now: Instant) -> Bool { nextDue.map { $0 <= now } ?? false }

    /// The member of a pair who is not `user`; nil when there is none.
    package func partner(of user: UserID) -> UserID? { members.first { $0 != user } }

    /// In the order `init` reads them.
    package static let columns: Query = """
        id, kind, members, started_at, status, current_count, longest_count, last_completed_date, open_date, deadline_at, at_risk_from,
        next_due, broken_by, broken_at, ended_at, contribution_count, settled_at, broken_off_at, broken_off_by,
        earlier_break_offs
        """
    package static let columnCount = 20

    /// - Parameter row: begins with `columns`.
    /// - Throws: `DatabaseError`; `INTERNAL` for a kind that this build does not know.
    package init(_ row: Row) throws {
        id = try row.get(at: 0)
        guard let kind = StreakKind(rawValue: try row.get(at: 1)) else { throw ServiceError.internal }
        self.kind = kind
        members = try row.get(at: 2)
        startedAt = try row.get(at: 3)
        status = try StreakState.Status(stored: try row.get(at: 4))
        count = try row.get(at: 5)
        longest = try row.get(at: 6)
        lastCompletedDate = try row.get(at: 7)
        openDate = try row.get(at: 8)
        deadlineAt = try row.get(at: 9)
        atRiskFrom = try row.get(at: 10)
        nextDue = try row.get(at: 11)
        brokenBy = try row.get(at: 12)
        brokenAt = try row.get(at: 13)
        endedAt = try row.get(at: 14)
        contributionCount = try row.get(at: 15)
        settledAt = try row.get(at: 16)
        let off: (at: Instant?, by: UserID?) = (try row.get(at: 17), try row.get(at: 18))
        brokenOff = off.at.flatMap { at in off.by.map { StreakLedger.BrokenOff(at: at, user: $0) } }
        // They are streaks of one.
        earlierBreakOffs = try row.get(at: 19, as: [Instant].self).map { at in
            StreakLedger.BrokenOff(at: at, user: off.by ?? UserID(high: 0, low: 0))
        }
    }
}

extension StreakState.Status {
    /// The value in `streak.status`: 1 active, 2 broken, 3 ended.
    package var stored: Int32 {
        switch self {
        case .active: 1
        case .broken: 2
        case .ended: 3
        }
    }

    package init(stored value: Int32) throws {
        switch value {
        case 1: self = .active
        case 2: self = .broken
        case 3: self = .ended
        default: throw ServiceError.internal
        }
    }
}

/// A streak with its ledger, whole or from its checkpoint on.
package struct StoredStreak: Sendable {
    package let row: StreakRow
    package let ledger: StreakLedger
    /// Its checkpoint was not used, because an outage that was declared since reaches behind it.
    package var isCheckpointStale = false

    /// Whether `user` may contribute.
    package func hasMember(_ user: UserID) -> Bool { row.members.contains(user) }
}
