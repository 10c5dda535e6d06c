internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// What was read of habits lately, in this replica. After a change only the habit that has changed is read again.
///
/// What became of dates is written together with the row of the habit (`HabitDays.store`): that row's transaction and place are the version of
/// its dates. Completions change with the number of the account's newest change. A version is read before what it stands for, so that something
/// newer may lie under an old version, which is not asked for again, and never something older under a new one.
final class MarkCache: Sendable {
    private struct MarksKey: Hashable {
        let streak: StreakID
        let version: String
        let dates: ClosedRange<CalendarDate>
        let sums: CalendarDate
        let includesAhead: Bool
    }

    private struct TimesKey: Hashable {
        let user: UserID
        let epoch: Int
        let sequence: Int64
        let streaks: [StreakID]
        let dates: ClosedRange<CalendarDate>
    }

    /// At most 4 kB each, of ten years.
    private let marks = RecentlyUsed<MarksKey, MarkRepository.Marked>(capacity: 6_000)
    private let times = RecentlyUsed<TimesKey, [StreakID: HabitTimes]>(capacity: 400)

    /// As `MarkRepository.marks`.
    func marks(
        of streaks: [StreakID],
        in dates: ClosedRange<CalendarDate>,
        sums: CalendarDate,
        includesAhead: Bool = true,
        _ database: Database
    ) async throws -> [StreakID: MarkRepository.Marked] {
        guard !streaks.isEmpty else { return [:] }
        let keys = try await MarkRepository.versions(of: streaks, database).mapValuesWithKeys { streak, version in
            MarksKey(streak: streak, version: version, dates: dates, sums: sums, includesAhead: includesAhead)
        }
        var found = keys.compactMapValues { marks[$0] }
        let missing = streaks.filter { found[$0] == nil }
        let read = try await MarkRepository.marks(
            of: missing,
            in: dates,
            sums: sums,
            includesAhead: includesAhead,
            database
        )
        for streak in missing {
            let marked = read[streak] ?? MarkRepository.Marked(marks: .none, completions: 0, value: .zero)
            found[streak] = marked
            if let key = keys[streak] { marks[key] = marked }
        }
        return found
    }

    /// As `MarkRepository.times`.
    ///
    /// - Parameter account: read before.
    func times(
        of streaks: [StreakID],
        in dates: ClosedRange<CalendarDate>,
        _ account: HabitAccount,
        _ database: Database
    ) async throws -> [StreakID: HabitTimes] {
        let key = TimesKey(
            user: account.user,
            epoch: account.epoch,
            sequence: account.sequence,
            streaks: streaks,
            dates: dates
        )
        if let known = times[key] { return known }
        let read = try await MarkRepository.times(of: streaks, in: dates, database)
        times[key] = read
        return read
    }
}

extension [StreakID: String] {
    fileprivate func mapValuesWithKeys<Result>(_ transform: (StreakID, String) -> Result) -> [StreakID: Result] {
        Dictionary<StreakID, Result>(uniqueKeysWithValues: map { ($0.key, transform($0.key, $0.value)) })
    }
}
