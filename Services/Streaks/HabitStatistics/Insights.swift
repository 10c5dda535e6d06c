internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What insights read besides, and how replies have it.
enum Insights {
    /// What premium is needed for (HA-17).
    static let name = "Insights"
}

extension StatisticsReader {
    /// The marks of the last ten years, for habits that go together.
    func longMarks(_ scene: Scene) async throws -> [StreakID: MarkRepository.Marked] {
        let start = scene.records.map { scene.start(of: $0) }.min() ?? scene.today
        let from = min(scene.today, max(start, scene.today.advanced(by: -HabitPairs.reach)))
        let streaks = scene.records.map(\.streak)
        return try await cache.marks(of: streaks, in: from...scene.today, sums: scene.today, habits.database)
    }

    /// The parts of the day of the last 365 dates.
    func timesOfYear(_ scene: Scene) async throws -> [StreakID: HabitTimes] {
        let dates = HabitWindow.year.dates(until: scene.today, since: scene.today)
        return try await cache.times(of: scene.records.map(\.streak), in: dates, scene.account, habits.database)
    }

    /// The consistency of a habit over its last 90 dates.
    func consistency(of record: HabitRecord, _ scene: Scene) async throws -> HabitConsistency? {
        let recent = try await MarkRepository.recent([record.streak], until: scene.lastDate(of: record), habits.database)
        return recent[record.streak]?.consistency(of: record, scene)
    }
}

extension StatisticsReader.Scene {
    /// The same of other habits.
    func with(_ records: [HabitRecord]) -> Self {
        Self(user: user, date: date, isPremium: isPremium, account: account, records: records)
    }
}

extension MarkRepository.Recent {
    func consistency(of record: HabitRecord, _ scene: StatisticsReader.Scene) -> HabitConsistency? {
        let dates = HabitConsistency.dates(until: scene.lastDate(of: record), since: scene.start(of: record))
        return dates.flatMap { HabitConsistency(pace.rate, dueDates: pace.dueDates, datesDone: datesDone, of: $0.count) }
    }
}

extension HabitMarks {
    /// Of a habit without rows.
    static let none = HabitMarks([])
}

extension HabitsTogether {
    init(_ pair: HabitPair, _ records: [HabitRecord]) {
        let (first, second) = (records[pair.first], records[pair.second])
        let percent = pair.percentMoreLikely
        self.init(
            habitID: first.id,
            habitName: first.details.name,
            otherHabitID: second.id,
            otherHabitName: second.details.name,
            days: Int32(pair.dates),
            daysTogether: Int32(pair.together),
            support: pair.support,
            confidence: pair.confidence,
            lift: pair.lift,
            percentMoreLikely: Int32(percent),
            text: "When you complete '\(first.details.name)', you're \(percent)% more likely to complete '\(second.details.name)'"
        )
    }
}

extension HabitForecast {
    /// nil after the last milestone.
    init?(_ record: HabitRecord, _ recent: MarkRepository.Recent?, _ marks: HabitMarks?, _ scene: StatisticsReader.Scene) {
        guard let newest = record.versions.last else { return nil }
        let none = HabitProjection.Pace(rate: HabitRate(), dueDates: 0, skipped: 0)
        let ahead = HabitProjection.Ahead(
            newest.schedule,
            weekStart: newest.weekStart,
            from: record.nextDate(marks?[scene.today], scene.today),
            pauses: record.pauses.filter { scene.today < $0.until }.map { $0.from...$0.until.advanced(by: -1) }
        )
        guard let projection = HabitProjection(record.milestones, count: record.count, recent?.pace ?? none, ahead) else {
            return nil
        }
        self.init(
            habitID: record.id,
            name: record.details.name,
            icon: record.details.icon,
            currentStreak: Int32(clamping: record.count),
            milestone: Int32(clamping: projection.milestone),
            streakUnit: HabitRunUnit(projection.unit),
            remaining: Int32(clamping: projection.remaining),
            progressPercent: Int32(record.count * 100 / projection.milestone),
            date: projection.date,
            assumption: projection.assumption,
            chancePercent: projection.chance.map(Int32.init),
            obstacle: projection.obstacle?.rawValue,
            text: projection.text
        )
    }
}

extension HabitRecord {
    /// The first date that may still extend the run: today while it is open, of a weekly habit while its week is; else the next date or week.
    fileprivate func nextDate(_ mark: HabitMark?, _ today: CalendarDate) -> CalendarDate {
        if unit == .weeks, let week { return week.missing > 0 ? today : week.dates.upperBound.advanced(by: 1) }
        switch mark?.status {
        case .open, .partial: return today
        default: return today.advanced(by: 1)
        }
    }
}
