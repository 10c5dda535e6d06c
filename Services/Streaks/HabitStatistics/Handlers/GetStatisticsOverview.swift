internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Everything of the Statistics screen: of the habits that are not in the archive.
struct GetStatisticsOverview: QueryHandler {
    let reader: StatisticsReader

    func handle(_ request: GetStatisticsOverviewRequest, _ context: CallContext) async throws -> GetStatisticsOverviewReply {
        let window = HabitWindow(named: request.period)
        let scene = try await reader.open(context, .all([]), needsPremium: window.needsPremium)
        try await reader.check(request.categoryID, of: scene.user)
        let active = scene.records.filter { record in
            !record.isArchived
                && (request.categoryID.isEmpty || record.details.category.map { request.categoryID.contains($0) } ?? false)
        }
        let start = active.map { scene.start(of: $0) }.min() ?? scene.today
        let dates = window.dates(until: scene.today, since: start)
        let from = window.datesBefore(scene.today)?.lowerBound ?? dates.lowerBound
        let (streaks, database) = (active.map(\.streak), reader.habits.database)
        let marked = try await reader.cache.marks(of: streaks, in: from...scene.today, sums: dates.lowerBound, database)
        let times = try await reader.cache.times(of: streaks, in: dates, scene.account, database).values.reduce(HabitTimes(), +)
        var figures = HabitFigures(window, until: scene.today, since: start, weekStart: scene.weekStart)
        let results = active.map { record in
            let found = marked[record.streak]
            let part = found.map { figures.add($0.marks) } ?? HabitFigures.Part()
            return HabitResult(record, part, found, window, until: scene.today)
        }
        let order = HabitOrder(rawValue: request.sort) ?? .name
        return GetStatisticsOverviewReply(
            period: window.name,
            chart: RateChart(figures),
            currentStreak: StreakFigure.longest(of: active) { ($0.count, $0.unit) },
            longestStreak: StreakFigure.longest(of: active) { $0.longestOfBoth },
            averageStreak: Int32(clamping: averageStreak(active.map { ($0.count, $0.unit) })),
            habitsTotal: Int32(scene.records.count),
            habitsActive: Int32(scene.records.count { !$0.isArchived }),
            habitsArchived: Int32(scene.records.count(where: \.isArchived)),
            completions: marked.values.reduce(0) { $0 + $1.completions },
            daysDone: Int32(clamping: figures.total.datesDone),
            habits: results.sorted(by: order) { $0.performance },
            weekdays: WeekdayFigure.all(figures),
            times: DayPartFigures(times)
        )
    }
}

extension HabitRecord {
    /// The longest run of either unit, weeks as 7 dates.
    fileprivate var longestOfBoth: (count: Int, unit: Schedule.Unit) {
        longestWeeks * Schedule.Unit.weeks.dates > longestDates ? (longestWeeks, .weeks) : (longestDates, .dates)
    }
}

extension StreakFigure {
    /// The longest of habits, of equal ones the first; nil when none has one.
    fileprivate static func longest(
        of records: [HabitRecord],
        _ streak: (HabitRecord) -> (count: Int, unit: Schedule.Unit)
    ) -> Self? {
        var best: (record: HabitRecord, count: Int, unit: Schedule.Unit)?
        for record in records {
            let (count, unit) = streak(record)
            if count * unit.dates > best.map({ $0.count * $0.unit.dates }) ?? 0 { best = (record, count, unit) }
        }
        return best.map { found in
            Self(
                count: Int32(clamping: found.count),
                unit: HabitRunUnit(found.unit),
                habitID: found.record.id,
                habitName: found.record.details.name
            )
        }
    }
}

extension HabitResult {
    fileprivate init(
        _ record: HabitRecord,
        _ part: HabitFigures.Part,
        _ found: MarkRepository.Marked?,
        _ window: HabitWindow,
        until today: CalendarDate
    ) {
        let squares = today.advanced(by: 1 - window.squares)...today
        self.init(
            habitID: record.id,
            name: record.details.name,
            color: record.details.color,
            icon: record.details.icon,
            categoryID: record.details.category,
            rate: SuccessRate(part.rate),
            trend: window == .allTime ? nil : part.rate.trend(since: part.before).map(Int32.init),
            currentStreak: Int32(clamping: record.count),
            longestStreak: Int32(clamping: record.longest),
            streakUnit: HabitRunUnit(record.unit),
            completions: Int32(clamping: found?.completions ?? 0),
            daysDone: Int32(clamping: part.datesDone),
            value: found?.value.value ?? 0,
            unit: record.details.unit,
            squares: squares.map { HabitSquare(found?.marks[$0]) }
        )
    }

    fileprivate var performance: HabitPerformance {
        HabitPerformance(
            name: name,
            rate: HabitRate(done: Int(rate?.done ?? 0), counted: Int(rate?.due ?? 0)),
            count: Int(currentStreak),
            unit: streakUnit == .weeks ? .weeks : .dates
        )
    }
}
