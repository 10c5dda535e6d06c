internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// A streak's row: the state its ledger folded to at the last look.
struct StreakRow: Sendable {
    let id: StreakID
    let userA: UserID
    let userB: UserID
    let startedAt: Instant
    let status: StreakStatus
    let count: Int32
    let longest: Int32
    let lastCompletedDate: CalendarDate?
    let deadlineAt: Instant?
    let atRiskFrom: Instant?
    let nextDue: Instant?
    let brokenBy: UserID?
    let brokenAt: Instant?
    let endedAt: Instant?
    let photoCount: Int32
    let lookedAt: Instant

    /// The one of the two who is not `user`.
    func friend(of user: UserID) -> UserID { user == userA ? userB : userA }
    /// Whether `user` is one of the two.
    func involves(_ user: UserID) -> Bool { user == userA || user == userB }
    /// Whether a date waits to be settled.
    func isDue(at now: Instant) -> Bool { nextDue.map { $0 <= now } ?? false }

    static let columns: Query = """
        id, user_a, user_b, started_at, status, current_count, longest_count, last_completed_date, deadline_at, at_risk_from, next_due,
        broken_by, broken_at, ended_at, photo_count, looked_at
        """

    init(_ row: Row) throws {
        (
            id, userA, userB, startedAt, status, count, longest, lastCompletedDate, deadlineAt, atRiskFrom, nextDue, brokenBy,
            brokenAt,
            endedAt, photoCount, lookedAt
        ) = try Self.decode(row)
    }

    private static func decode(
        _ row: Row
    ) throws -> (
        StreakID, UserID, UserID, Instant, StreakStatus, Int32, Int32, CalendarDate?, Instant?, Instant?, Instant?, UserID?,
        Instant?,
        Instant?, Int32, Instant
    ) {
        let (id, a, b, started, status, count, longest, last, deadline, risk, due, by, broken, ended, photos, looked) =
            try row.decode(
                as: (
                    StreakID.self, UserID.self, UserID.self, Instant.self, Int32.self, Int32.self, Int32.self, CalendarDate?.self,
                    Instant?.self, Instant?.self, Instant?.self, UserID?.self, Instant?.self, Instant?.self, Int32.self,
                    Instant.self
                )
            )
        return (
            id, a, b, started, StreakStatus(rawValue: status), count, longest, last, deadline, risk, due, by, broken, ended,
            photos, looked
        )
    }
}

/// A streak with its whole ledger, locked in a transaction.
struct StoredStreak: Sendable {
    let row: StreakRow
    let ledger: StreakLedger
}

extension StreakStatus {
    init(_ status: StreakState.Status) {
        switch status {
        case .active: self = .active
        case .broken: self = .broken
        case .ended: self = .ended
        }
    }
}
