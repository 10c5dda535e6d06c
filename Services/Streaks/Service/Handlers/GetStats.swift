internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// The numbers of the profile screen, and what else such an app shows. A handful of statements, whatever the number of streaks.
    func getStats(_: GetStatsRequest, context: CallContext) async throws -> UserStats {
        let user = try context.requireUser()
        // Looking settles (SD-4): a streak whose date is over is not counted as running.
        _ = try await views(.running, of: user, withFriends: false, context)
        let counts = try await StatsRepository.counts(of: user, streaks.database)
        let totals = StreakTotals(
            of: user,
            try await StatsRepository.records(of: user, streaks.database),
            endedBreaks: counts.endedBreaks
        )
        let today = try await today(of: user, context)
        let weekdays = Weekdays(
            try await StatsRepository.postedDates(of: user, in: today.advanced(by: -364)...today, streaks.database)
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
}
