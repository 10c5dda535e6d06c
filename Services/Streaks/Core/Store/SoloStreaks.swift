package import Kernel
package import Outbox
internal import Replicas
package import StreaksDomain

extension StreakWriter {
    /// The streak of a user's solo kind that has not ended, locked; begun when there is none.
    ///
    /// The zone of the user must be known here (`ProfileReplica`). A check-in streak begins with 1 freeze, on the premium plan with 2 (CI-2).
    ///
    /// - Parameters:
    ///   - first: the activity that it is wanted for: a new streak begins with it. nil: it begins now.
    ///   - prepare: sees that the user's zone is known, before a streak begins.
    package func solo(
        _ kind: StreakKind,
        of user: UserID,
        first: FirstActivity? = nil,
        _ work: UnitOfWork,
        preparing prepare: () async throws -> Void = {}
    ) async throws -> StoredStreak {
        if let found = try await lockedSolo(kind, of: user, work) { return found }
        return try await begin(kind, of: user, first: first, work, preparing: prepare)
    }

    /// The same when there was none a moment ago.
    package func begin(
        _ kind: StreakKind,
        of user: UserID,
        first: FirstActivity?,
        _ work: UnitOfWork,
        preparing prepare: () async throws -> Void = {}
    ) async throws -> StoredStreak {
        // Two first activities at once: the second one waits, and finds the streak of the first.
        try await lockBeginning(kind, of: user, work)
        if let found = try await lockedSolo(kind, of: user, work) { return found }
        if let back = try await reopen(of: user, kind: kind, work).first { return back }
        try await prepare()
        var new = NewStreak(kind, of: [user], key: user.description)
        new.first = first
        if kind == .checkIn {
            let isPremium = try await EntitlementReplica().isPremium(user, now: work.now, work.sql)
            new.freezes = FreezePrices.atStart(isPremium: isPremium)
        }
        try await start(new, work)
        guard let begun = try await lockedSolo(kind, of: user, work) else { throw ServiceError.internal }
        return begun
    }

    /// Waits for a streak of a user's solo kind that begins in another transaction, and lets none begin until this one ends.
    func lockBeginning(_ kind: StreakKind, of user: UserID, _ work: UnitOfWork) async throws {
        try await work.sql.lock(named: "solo \(kind.rawValue) \(user)")
    }

    /// Lets streaks that ended with the account of a user go on, because it was restored (AU-7): as if they had never ended. What was missed
    /// meanwhile is settled by the rules of any missed date. Streaks with others have ended for good.
    ///
    /// Called by the event, and before a new streak begins: a restored user may be faster than the event.
    ///
    /// - Parameter kind: nil means all.
    /// - Returns: those that go on, locked.
    @discardableResult
    package func reopen(of user: UserID, kind: StreakKind? = nil, _ work: UnitOfWork) async throws -> [StoredStreak] {
        let ended = try await EndedAccountRepository.streaks(of: user, kind: kind, work.sql)
        guard !ended.isEmpty else { return [] }
        // Who comes second waits here; then the keys have been given back.
        let stored = try await store.lock(ended, work.sql)
        let back = try await EndedAccountRepository.giveKeysBack(to: stored.map(\.row.id), work.sql)
        let orders = stored.filter { back.contains($0.row.id) }.map { Order(.reopen, $0) }
        _ = try await apply(orders, work)
        // With what the change has stored.
        return try await store.lock(back, work.sql)
    }

    /// The streak of a user's solo kind that has not ended, locked; nil when there is none.
    package func lockedSolo(_ kind: StreakKind, of user: UserID, _ work: UnitOfWork) async throws -> StoredStreak? {
        try await store.locked(try store.enqueueLock(kind, of: user, work.sql), work.sql)
    }
}
