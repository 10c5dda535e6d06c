package import Kernel
package import Outbox
internal import Replicas
package import StreaksDomain

extension StreakWriter {
    /// The streak of a user's solo kind that has not ended, locked; begun when there is none.
    ///
    /// The zone of the user must be known here (`ProfileReplica`). A check-in streak begins with 1 freeze, on the premium plan with 2 (CI-2).
    ///
    /// - Parameter first: the activity that it is wanted for: a new streak begins with it. nil: it begins now.
    package func solo(_ kind: StreakKind, of user: UserID, first: FirstActivity? = nil, _ work: UnitOfWork) async throws
        -> StoredStreak
    {
        if let found = try await lockedSolo(kind, of: user, work) { return found }
        // Two first activities at once: the second one waits, and finds the streak of the first.
        try await work.sql.lock(named: "solo \(kind.rawValue) \(user)")
        if let found = try await lockedSolo(kind, of: user, work) { return found }
        var new = NewStreak(kind, of: [user], key: user.description)
        new.first = first
        if kind == .checkIn {
            new.freezes = try await EntitlementReplica().isPremium(user, now: work.now, work.sql) ? 2 : 1
        }
        try await start(new, work)
        guard let begun = try await lockedSolo(kind, of: user, work) else { throw ServiceError.internal }
        return begun
    }

    /// The same, nil when there is none.
    package func lockedSolo(_ kind: StreakKind, of user: UserID, _ work: UnitOfWork) async throws -> StoredStreak? {
        try await store.locked(try store.enqueueLock(kind, of: user, work.sql), work.sql)
    }
}
