package import Database
package import Kernel
package import StreaksDomain

/// A user's solo streak, or one of their habits, that is being locked and loaded: its statements wait in the transaction and are sent with what is waited for next.
package struct QueuedStreak: Sendable {
    let repository: SoloRepository
    let row: QueuedStatement
    let entries: QueuedStatement
    /// Of a habit.
    let habitEntries: QueuedStatement?
}

extension StreakStore {
    /// Queues locking and loading of the streak of a user's solo kind that has not ended.
    ///
    /// - Parameters:
    ///   - key: what identifies it among those of its kind (`NewStreak.key`); nil: the user.
    ///   - condition: where it is false, nothing is locked: `Mutations.once(_:_:loading:_:)` says when.
    package func enqueueLock(
        _ kind: StreakKind,
        of user: UserID,
        key: String? = nil,
        if condition: Query = "true",
        _ sql: Transaction
    ) throws -> QueuedStreak {
        let repository = SoloRepository(
            kind: kind,
            user: user,
            key: key ?? user.description,
            policy: policies.policy(for: kind)
        )
        try sql.enqueue(repository.lock(if: condition))
        return QueuedStreak(
            repository: repository,
            row: try sql.enqueue(repository.row),
            entries: try sql.enqueue(repository.entries),
            habitEntries: kind == .habit ? try sql.enqueue(repository.habitEntries) : nil
        )
    }

    /// What `enqueueLock` has locked; nil when there is none.
    package func locked(_ queued: QueuedStreak, _ sql: Transaction) async throws -> StoredStreak? {
        let rows = (try await queued.row.rows(), try await queued.entries.rows(), try await queued.habitEntries?.rows() ?? [])
        switch try queued.repository.found(rows.0, rows.1, rows.2) {
        case .none: return nil
        // It may have ended since: the key is free again then.
        case .loaded(let stored): return stored.row.status == .ended ? nil : stored
        case .unusable(let row): return row.status == .ended ? nil : try await load([row], isWhole: false, sql).first
        }
    }

    /// The streak of a user's solo kind as it stands, without a lock; nil when there is none.
    ///
    /// - Parameter facts: another statement that reads at the same time.
    /// - Returns: the streak and the rows of `facts`.
    package func solo(_ kind: StreakKind, of user: UserID, with facts: Query? = nil) async throws
        -> (streak: StoredStreak?, facts: [Row])
    {
        let repository = SoloRepository(
            kind: kind,
            user: user,
            key: user.description,
            policy: policies.policy(for: kind)
        )
        let read = try await database.lookup(together: [repository.row, repository.entries] + [facts].compactMap(\.self))
        let rows = read.count > 2 ? read[2] : []
        switch try repository.found(read[0], read[1]) {
        case .none: return (nil, rows)
        case .loaded(let stored): return (stored, rows)
        case .unusable(let row): return (try await load([row.id]).first, rows)
        }
    }
}
