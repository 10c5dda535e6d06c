internal import Bus
internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The numbers of the profile screen, and what else such an app shows. A handful of statements, whatever the number of streaks.
struct GetStats: QueryHandler {
    let writer: StreakWriter
    let work: UnitOfWorkFactory
    let today: Today

    func handle(_: GetStatsRequest, _ context: CallContext) async throws -> UserStats {
        let user = try context.requireUser()
        let database = writer.store.database
        try await settle(user, context)
        let counts = try await StatsRepository.counts(of: user, database)
        let totals = StreakTotals(
            of: user,
            try await LedgerReads.records(.mutual, of: user, database),
            endedBreaks: counts.endedBreaks
        )
        let today = try await today.date(of: user, context)
        let weekdays = Weekdays(
            try await LedgerReads.weekdays(.mutual, of: user, in: today.advanced(by: -364)...today, database)
        )
        return UserStats(
            totalActiveStreaks: Int32(totals.active),
            longestStreak: Int32(totals.longest),
            longestActiveStreak: Int32(totals.longestActive),
            totalPhotos: Int32(counts.photos),
            completedDates: Int32(totals.completedDates),
            totalStreaks: Int32(totals.total),
            brokenStreaks: Int32(totals.broken),
            brokenByYou: Int32(totals.brokenByYou),
            recoveriesUsed: Int32(counts.recoveriesUsed),
            onTimePhotos: Int32(counts.onTimePhotos),
            onTimePercent: percent(counts.onTimePhotos, of: counts.timedPhotos).map { Int32($0) },
            postedDatesInYear: Int32(weekdays.total),
            weekdays: weekdays.counts.enumerated().map { index, count in
                WeekdayCount(weekday: Int32(index + 1), postedDates: Int32(count))
            },
            bestWeekday: weekdays.best.map { Int32($0) }
        )
    }

    /// A streak whose date is over is not counted as running: it is settled before it is read (SD-4).
    private func settle(_ user: UserID, _ context: CallContext) async throws {
        let store = writer.store
        let due = try await store.activeIDs(of: user, kinds: [.mutual], dueBy: work.now(), store.database)
        guard !due.isEmpty else { return }
        _ = try await work.run(context) { [writer] work in
            try await writer.settle(try await writer.store.lock(due, work.sql), urgency: .now, work)
        }
    }
}
