package import Database
package import Kernel
package import Outbox
internal import StreaksDomain

/// A change of a user's habits that is about to begin: its statements wait in the transaction and are sent with what is waited for next.
struct QueuedBook: Sendable {
    let user: UserID
    let account: QueuedStatement
    let zones: QueuedStatement
    let isPremium: QueuedStatement

    /// The account comes first: its lock orders the changes.
    ///
    /// - Parameter lock: without it nothing is locked.
    init(_ user: UserID, holding lock: AdvisoryLock = .none, _ work: UnitOfWork) throws {
        self.user = user
        account = try HabitAccountRepository.queueOpen(user, at: work.now, holding: lock, work.sql)
        zones = try work.sql.enqueue(ZoneRepository.query(of: user))
        isPremium = try work.sql.enqueue(HabitAccountRepository.isPremium(user, now: work.now))
    }
}

/// A change of one habit that is about to begin: everything that it reads and locks, in one round trip (`HabitStore.enqueueOpen`).
package struct QueuedHabit: Sendable {
    let book: QueuedBook
    let id: HabitID
    let record: QueuedStatement
    let streak: QueuedStreak
}

extension HabitStore {
    /// Queues what `open` and `HabitBook.lock` do for a change of one habit.
    ///
    /// - Parameter lock: without it nothing is locked: `KeyCondition` says why.
    package func enqueueOpen(_ user: UserID, habit: HabitID, holding lock: AdvisoryLock = .none, _ work: UnitOfWork) throws
        -> QueuedHabit
    {
        let book = try QueuedBook(user, holding: lock, work)
        let streak = try writer.store.enqueueLock(
            .habit,
            of: user,
            key: HabitBook.key(habit, of: user),
            if: lock.isHeld,
            work.sql
        )
        let record = try work.sql.enqueue(HabitRepository.details(of: habit, user))
        return QueuedHabit(book: book, id: habit, record: record, streak: streak)
    }

    /// The book, and the habit, locked, or why it cannot be: `HABIT_NOT_FOUND`.
    ///
    /// - Throws: as `open`.
    package func opened(_ queued: QueuedHabit, _ work: UnitOfWork) async throws
        -> (book: HabitBook, habit: Result<HabitBook.Locked, ServiceError>)
    {
        let book = try await opened(queued.book, work)
        guard let row = try await queued.record.rows().first else { return (book, .failure(.habitNotFound)) }
        var record = try HabitRecord(row)
        guard let stored = try await writer.store.locked(queued.streak, work.sql), let entries = stored.ledger.habit,
            record.asOf != HabitDays.stale
        else {
            // Its rows are to be made again first, or its streak has ended.
            guard let habit = try await book.lock([queued.id])[queued.id] else { return (book, .failure(.habitNotFound)) }
            return (book, .success(habit))
        }
        record.versions = entries.versions
        record.pauses = stored.ledger.pauses.filter { $0.from < $0.until }.sorted { $0.from < $1.from }
        return (book, .success(HabitBook.Locked(record: record, stored: stored)))
    }
}
