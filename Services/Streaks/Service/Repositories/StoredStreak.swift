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
    let brokenOff: StreakLedger.BrokenOff?

    /// The one of the two who is not `user`.
    func friend(of user: UserID) -> UserID { user == userA ? userB : userA }
    func hasMember(_ user: UserID) -> Bool { user == userA || user == userB }
    /// Whether a date waits to be settled.
    func isDue(at now: Instant) -> Bool { nextDue.map { $0 <= now } ?? false }

    /// The newest date each has posted for.
    let newestA: CalendarDate?
    let newestB: CalendarDate?

    /// In the order `init` reads them.
    static let columns: Query = """
        id, user_a, user_b, started_at, status, current_count, longest_count, last_completed_date, deadline_at, at_risk_from, next_due,
        broken_by, broken_at, ended_at, photo_count, looked_at, newest_a, newest_b, broken_off_at, broken_off_by
        """
    static let columnCount = 20

    /// - Parameter row: of `columns`, and nothing else.
    init(_ row: Row) throws {
        id = try row.get(at: 0)
        userA = try row.get(at: 1)
        userB = try row.get(at: 2)
        startedAt = try row.get(at: 3)
        status = StreakStatus(rawValue: try row.get(at: 4))
        count = try row.get(at: 5)
        longest = try row.get(at: 6)
        lastCompletedDate = try row.get(at: 7)
        deadlineAt = try row.get(at: 8)
        atRiskFrom = try row.get(at: 9)
        nextDue = try row.get(at: 10)
        brokenBy = try row.get(at: 11)
        brokenAt = try row.get(at: 12)
        endedAt = try row.get(at: 13)
        photoCount = try row.get(at: 14)
        lookedAt = try row.get(at: 15)
        newestA = try row.get(at: 16)
        newestB = try row.get(at: 17)
        let off: (at: Instant?, by: UserID?) = (try row.get(at: 18), try row.get(at: 19))
        if let at = off.at, let by = off.by {
            brokenOff = StreakLedger.BrokenOff(at: at, user: by)
        } else {
            brokenOff = nil
        }
    }

    /// Whether it is the streak of these two.
    func isOf(_ one: UserID, _ two: UserID) -> Bool { userA == min(one, two) && userB == max(one, two) }

    /// The newest date a member has posted for.
    func newestDate(of user: UserID) -> CalendarDate? { user == userA ? newestA : newestB }
}

/// A streak with its ledger, whole or from its checkpoint on.
struct StoredStreak: Sendable {
    let row: StreakRow
    let ledger: StreakLedger
    /// Its checkpoint was passed over, because an outage declared since reaches behind it.
    var isCheckpointStale = false
}

/// What becomes of a streak's row.
struct StreakUpdate: Sendable {
    let row: StreakRow
    /// What its ledger folded to.
    let state: StreakState
    let endedAt: Instant?
    /// The new snap.
    var posted: (user: UserID, date: CalendarDate)?
    /// Adds to the number of snaps.
    var newPhotos = 0

    var postedA: CalendarDate? { posted.flatMap { $0.user == row.userA ? $0.date : nil } }
    var postedB: CalendarDate? { posted.flatMap { $0.user == row.userB ? $0.date : nil } }
}

/// Streaks that were due and could not be settled.
struct Unsettled: Error {
    let streaks: [StreakID]
    let cause: any Error

    /// Whether the streaks have nothing to do with it, and waiting is all there is to do.
    var isPassing: Bool {
        guard let error = cause as? DatabaseError else { return cause is CancellationError }
        return error.isConnectionFailure || error.isRetryable
            || [.overloaded, .stopped, .outcomeUnknown, .transactionAborted].contains(error.code)
    }
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
