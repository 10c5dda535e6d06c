internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The statistics of a habit's detail screen.
struct GetHabitStatistics: QueryHandler {
    let reader: StatisticsReader

    /// How many runs the timeline shows.
    static let mostRuns = 100
    /// How many other habits of the category are shown.
    static let mostRelated = 10

    func handle(_ request: GetHabitStatisticsRequest, _ context: CallContext) async throws -> GetHabitStatisticsReply {
        let window = HabitWindow(named: request.period ?? "")
        let scene = try await reader.open(context, .one(request.habitID), needsPremium: window.needsPremium)
        guard let record = scene.records.first else { throw ServiceError.habitNotFound }
        let (today, database) = (scene.lastDate(of: record), reader.habits.database)
        let start = min(today, scene.start(of: record))
        let dates = window.dates(until: today, since: start)
        let streaks = [record.streak]
        let from = min(start, dates.lowerBound)
        let period = try await reader.cache.marks(of: streaks, in: from...today, sums: dates.lowerBound, database)[
            record.streak
        ]
        let totals = try await MarkRepository.totals(of: record.streak, until: today, database)
        let runs = try await MarkRepository.runs(of: record.streak, database)
        let times = try await reader.cache.times(of: streaks, in: dates, scene.account, database)[record.streak]
        var figures = HabitFigures(window, until: today, since: start, weekStart: scene.weekStart)
        if let period { figures.add(period.marks) }
        return GetHabitStatisticsReply(
            habitID: record.id,
            period: window.name,
            chart: RateChart(figures),
            currentStreak: Int32(clamping: record.count),
            longestStreak: Int32(clamping: record.longest),
            streakUnit: HabitRunUnit(record.unit),
            longestStreakDays: Int32(clamping: record.longestDates),
            longestStreakWeeks: Int32(clamping: record.longestWeeks),
            bestRun: bestRun(runs).map { HabitStreakRun($0, longest: record.longest(of: $0.unit)) },
            timeline: runs.suffix(Self.mostRuns).reversed().map { HabitStreakRun($0, longest: record.longest(of: $0.unit)) },
            periodTotals: HabitTotals(
                completions: period?.completions ?? 0,
                daysDone: Int32(clamping: figures.total.datesDone),
                value: period?.value.value ?? 0,
                unit: record.details.unit
            ),
            allTimeTotals: HabitTotals(
                completions: totals.completions,
                daysDone: Int32(clamping: totals.datesDone),
                value: totals.value.value,
                unit: record.details.unit
            ),
            weekdays: WeekdayFigure.all(figures),
            times: DayPartFigures(times ?? HabitTimes()),
            consistency: scene.isPremium ? try await reader.consistency(of: record, scene).map { HabitScore($0) } : nil,
            heatMap: try await heatMap(of: record, period?.marks, until: today),
            milestones: HabitMilestone.list(record.milestones, count: record.count, longest: record.longest).map {
                HabitMilestoneMark(count: Int32(clamping: $0.count), reached: $0.isReached, reachedBefore: $0.wasReached)
            },
            related: try await related(to: record, scene.user)
        )
    }

    private func heatMap(of record: HabitRecord, _ marks: HabitMarks?, until today: CalendarDate) async throws -> HabitHeatMap {
        let dates = HabitWindow.year.dates(until: today, since: today)
        let partial = try await MarkRepository.partialPercents(of: record.streak, in: dates, reader.habits.database)
        let all = dates.map { (date: $0, mark: marks?[$0]) }
        return HabitHeatMap(
            from: dates.lowerBound,
            to: dates.upperBound,
            squares: all.map { HabitSquare($0.mark) },
            percents: all.map { date, mark in mark?.isDone ?? false ? 100 : Int32(partial[date] ?? 0) }
        )
    }

    private func related(to record: HabitRecord, _ user: UserID) async throws -> [RelatedHabit] {
        guard let category = record.details.category else { return [] }
        let which = HabitSelection.related(category, except: record.id)
        let others = try await HabitRepository.records(of: user, where: which.condition, reader.habits.database)
        return others.prefix(Self.mostRelated).map { other in
            RelatedHabit(
                habitID: other.id,
                name: other.details.name,
                color: other.details.color,
                icon: other.details.icon,
                currentStreak: Int32(clamping: other.count),
                streakUnit: HabitRunUnit(other.unit)
            )
        }
    }
}

extension HabitRecord {
    fileprivate func longest(of unit: Schedule.Unit) -> Int { unit == .weeks ? longestWeeks : longestDates }
}
