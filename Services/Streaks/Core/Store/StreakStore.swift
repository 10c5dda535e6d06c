package import Database
package import Kernel
package import StreaksDomain

/// Streaks of every kind and their ledgers (D15): locks and loads them. What changes them is `StreakWriter`.
package struct StreakStore: Sendable {
    package let database: Database
    package let policies: StreakPolicies

    /// The store in the service's schema.
    package init(database: Database, policies: StreakPolicies = .standard) {
        self.database = database
        self.policies = policies
    }

    private var ledgers: LedgerRepository { LedgerRepository(policies: policies) }

    /// Locks streaks in the order of their ids, so that no two transactions wait for each other, and loads their ledgers.
    package func lock(_ ids: some Sequence<StreakID>, _ sql: Transaction) async throws -> [StoredStreak] {
        try await ledgers.load(try await StreakRepository.lock(Array(Set(ids)), sql), sql)
    }

    /// Locks up to `limit` streaks of a kind whose next date is due; those that another replica has locked are skipped (D7).
    ///
    /// - Throws: `Unsettled` with their ids when they cannot be read.
    func lockDue(_ kind: StreakKind, at now: Instant, limit: Int, _ sql: Transaction) async throws -> [StoredStreak] {
        let found = try await sql.query(StreakRepository.dueQuery(kind, at: now, limit: limit))
        let ids = try found.map { try $0.get(at: 0, as: StreakID.self) }
        do { return try await ledgers.load(try await found.mapInSlices(StreakRow.init), sql) } catch {
            throw Unsettled(streaks: ids, cause: error)
        }
    }

    /// A locked streak with every entry its ledger ever had.
    func whole(_ row: StreakRow, _ sql: some QueryExecutor) async throws -> StoredStreak {
        guard let stored = try await ledgers.load([row], isWhole: true, sql).first else { throw ServiceError.internal }
        return stored
    }

    /// Streaks with their ledgers as they stand, without locks.
    ///
    /// - Parameter isWhole: with every entry their ledgers ever had; otherwise from their checkpoints on.
    package func load(_ rows: [StreakRow], isWhole: Bool, _ sql: some QueryExecutor) async throws -> [StoredStreak] {
        try await ledgers.load(rows, isWhole: isWhole, sql)
    }

    /// The same by their ids; unknown ones are absent.
    package func load(_ ids: some Sequence<StreakID>, isWhole: Bool = false) async throws -> [StoredStreak] {
        try await load(ids, isWhole: isWhole, database)
    }

    /// The same in a transaction, for one.
    package func load(_ ids: some Sequence<StreakID>, isWhole: Bool, _ sql: some QueryExecutor) async throws -> [StoredStreak] {
        try await ledgers.load(try await StreakRepository.find(Array(Set(ids)), sql), isWhole: isWhole, sql)
    }

    /// A streak's row; nil when there is none.
    package func row(_ id: StreakID) async throws -> StreakRow? { try await StreakRepository.find([id], database).first }

    /// What identifies a streak among those of its kind (`NewStreak.key`); nil when it has ended.
    package func key(of id: StreakID) async throws -> String? { try await StreakRepository.key(of: id, database) }

    /// The running streaks of a user.
    package func activeIDs(of user: UserID, kinds: [StreakKind]? = nil, _ sql: some QueryExecutor) async throws -> [StreakID] {
        try await MemberRepository.streaks(of: user, kinds: kinds, [.active], sql)
    }

    /// The running streaks of a kind of a user, and when each began.
    package func startsOfActive(of user: UserID, kind: StreakKind, _ sql: some QueryExecutor) async throws
        -> [(id: StreakID, startedAt: Instant)]
    {
        try await MemberRepository.starts(of: user, kind: kind, [.active], sql)
    }

    /// The streaks of a kind of a user that stopped at a break for which this date, or a later one, was missed: they were active on it.
    package func brokenIDs(of user: UserID, kind: StreakKind, missing date: CalendarDate, _ sql: some QueryExecutor) async throws
        -> [StreakID]
    {
        try await MemberRepository.broken(of: user, kind: kind, missing: date, sql)
    }

    /// The streaks of a kind that users have left since an instant, by the user.
    package func leftIDs(_ kind: StreakKind, by users: [UserID], since instant: Instant, _ sql: some QueryExecutor) async throws
        -> [UserID: [StreakID]]
    {
        try await MemberRepository.left(kind, by: users, since: instant, sql)
    }

    /// Those of them whose date is due.
    package func activeIDs(of user: UserID, kinds: [StreakKind], dueBy now: Instant, _ sql: some QueryExecutor) async throws
        -> [StreakID]
    {
        try await MemberRepository.streaks(of: user, kinds: kinds, [.active], dueBy: now, sql)
    }

    /// The streaks of a kind that all of these users share, ended ones too.
    package func streaks(_ kind: StreakKind, of users: [UserID], _ sql: some QueryExecutor) async throws -> [StreakID] {
        try await MemberRepository.shared(kind, by: users, sql)
    }

    /// The streaks of a user that have not ended.
    package func unendedIDs(of user: UserID, kinds: [StreakKind]? = nil, _ sql: some QueryExecutor) async throws -> [StreakID] {
        try await MemberRepository.streaks(of: user, kinds: kinds, [.active, .broken], sql)
    }

    /// The streak of a kind with this key that has not ended (`NewStreak.key`).
    package func streak(_ kind: StreakKind, key: String, _ sql: some QueryExecutor) async throws -> StreakID? {
        try await StreakRepository.find(kind, key: key, sql)
    }

    /// Whether a streak of any kind waits for the settlement job.
    package func isAnySettlementDue(at now: Instant) async throws -> Bool {
        guard let due = try await StreakRepository.oldestDue(StreakKind.allCases, database) else { return false }
        return due <= now - SettlementJob.wait
    }
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
