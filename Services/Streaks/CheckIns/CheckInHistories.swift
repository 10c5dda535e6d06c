internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// Dates of the check-in streak as their owner sees them.
struct CheckInHistories: Sendable {
    let streaks: CheckInStreaks
    let clock: any Clock

    /// The last `days` dates, the newest first.
    func history(of user: UserID, days: Int, _ context: CallContext) async throws -> CheckInHistory {
        let database = streaks.writer.store.database
        guard let streak = try await streaks.read(user, isWhole: true, context) else {
            return try await empty(user, days, context)
        }
        let range = streak.today.advanced(by: 1 - days)...streak.today
        let calendar = CheckInCalendar(streak.state, first: streak.ledger.firstDate, in: range)
        let entries = Dictionary(
            try await TrackingRepository.entries(of: user, in: range, database).map { ($0.trackingDate, $0) }
        ) { first, _ in first }
        let dates = calendar.days.reversed().map { HistoryDate($0, entries[$0.date]) }
        let reached = try await CheckInRepository.reached(by: user, database)
        return CheckInHistory(
            history: dates,
            summary: Self.summary(dates, count: streak.state.count),
            milestonesAchieved: reached.filter { range.contains($0.value) }.sorted { $0.key > $1.key }.compactMap { days, date in
                CelebratedCheckIn.of(days).map { HistoryMilestone(date: date, milestoneType: $0.type, title: $0.title) }
            }
        )
    }

    /// Of who has never checked in.
    private func empty(_ user: UserID, _ days: Int, _ context: CallContext) async throws -> CheckInHistory {
        let today = (try await streaks.profiles.profile(user, context: context)?.zone ?? .utc).date(at: clock.now())
        let dates = (0..<days).map { back in
            HistoryDate(date: today.advanced(by: -back), status: StreakState.Mark.none.historyStatus)
        }
        return CheckInHistory(history: dates, summary: Self.summary(dates, count: 0))
    }

    private static func summary(_ dates: [HistoryDate], count: Int) -> HistorySummary {
        let checked = dates.count(where: \.checkedIn)
        return HistorySummary(
            totalDays: Int32(dates.count),
            daysWithCheckIns: Int32(checked),
            freezesUsed: Int32(dates.count(where: \.freezeUsed)),
            checkInRate: dates.isEmpty ? 0 : Double((checked * 2000 + dates.count) / (2 * dates.count)) / 10,
            currentStreak: Int32(count),
            longestStreakInPeriod: dates.map(\.streakOnDate).max() ?? 0
        )
    }

    /// RFC 4180: one line a date, the newest first.
    static func csv(_ dates: [HistoryDate]) -> String {
        let header = "date,status,checked_in,freeze_used,streak_on_date,activities,check_in_time,mood_score,energy_level"
        let lines = dates.map { date in
            let fields = [
                "\(date.date)", date.status, "\(date.checkedIn)", "\(date.freezeUsed)", "\(date.streakOnDate)",
                date.activities.joined(separator: " "), date.checkInTime?.description ?? "",
                date.moodScore.map(String.init) ?? "", date.energyLevel.map(String.init) ?? "",
            ]
            return fields.joined(separator: ",")
        }
        return ([header] + lines).joined(separator: "\r\n") + "\r\n"
    }
}

extension HistoryDate {
    init(_ day: CheckInCalendar.Day, _ entry: TrackingEntry?) {
        self.init(
            date: day.date,
            checkedIn: day.mark == .complete || entry?.isStreakCheckIn ?? false,
            freezeUsed: day.mark == .frozen,
            activities: entry?.activities ?? [],
            streakOnDate: Int32(day.count),
            status: entry?.isStreakCheckIn ?? false ? StreakState.Mark.complete.historyStatus : day.mark.historyStatus,
            checkInTime: entry?.checkInTimestamp,
            moodScore: entry?.moodScore,
            energyLevel: entry?.energyLevel
        )
    }
}
