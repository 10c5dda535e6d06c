internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What stands out of all habits that are not in the archive.
struct GetInsightsOverview: QueryHandler {
    let reader: StatisticsReader

    static let mostPairs = 20
    static let mostForecasts = 10

    func handle(_: GetInsightsOverviewRequest, _ context: CallContext) async throws -> GetInsightsOverviewReply {
        let scene = try await reader.open(context, .active, needsPremium: Insights.name)
        let marked = try await reader.longMarks(scene)
        let recent = try await MarkRepository.recent(scene.records.map(\.streak), until: scene.today, reader.habits.database)
        let times = try await reader.timesOfYear(scene)
        let pairs = HabitPairs(scene.records.map { marked[$0.streak]?.marks ?? .none }, until: scene.today).all()
        let forecasts = scene.records.compactMap { record in
            HabitForecast(record, recent[record.streak], marked[record.streak]?.marks, scene)
        }
        return GetInsightsOverviewReply(
            times: DayPartFigures(times.values.reduce(HabitTimes(), +)),
            timesByHabit: Self.byHabit(times, scene.records),
            together: pairs.prefix(Self.mostPairs).map { HabitsTogether($0, scene.records) },
            forecasts: Array(Self.soonest(forecasts).prefix(Self.mostForecasts)),
            week: try await week(scene, marked, recent)
        )
    }

    /// Those with a date, the soonest first.
    private static func soonest(_ forecasts: [HabitForecast]) -> [HabitForecast] {
        let dated = forecasts.compactMap { forecast in forecast.date.map { (date: $0, forecast: forecast) } }
        return dated.sorted { ($0.date, $1.forecast.milestone) < ($1.date, $0.forecast.milestone) }.map(\.forecast)
    }

    private static func byHabit(_ times: [StreakID: HabitTimes], _ records: [HabitRecord]) -> [HabitDayParts] {
        let known = records.compactMap { record in times[record.streak].map { (record: record, times: $0) } }
        let order = known.indices.sorted { (known[$1].times.total, $0) < (known[$0].times.total, $1) }
        return order.map { place in
            HabitDayParts(
                habitID: known[place].record.id,
                name: known[place].record.details.name,
                times: DayPartFigures(known[place].times)
            )
        }
    }

    private func week(
        _ scene: StatisticsReader.Scene,
        _ marked: [StreakID: MarkRepository.Marked],
        _ recent: [StreakID: MarkRepository.Recent]
    ) async throws -> WeekComparison {
        let (streaks, database) = (scene.records.map(\.streak), reader.habits.database)
        var figures = HabitFigures(.week, until: scene.today, since: scene.today)
        for record in scene.records { if let found = marked[record.streak] { figures.add(found.marks) } }
        let dates = HabitWindow.week.dates(until: scene.today, since: scene.today)
        let before = dates.lowerBound.advanced(by: -7)...dates.lowerBound.advanced(by: -1)
        let now = try await MarkRepository.completions(of: streaks, in: dates, database)
        let past = try await MarkRepository.completions(of: streaks, in: before, database)
        let scores = scene.records.map { recent[$0.streak]?.consistency(of: $0, scene) }
        return WeekComparison(
            thisWeek: WeekFigures(
                completions: Int32(clamping: now),
                rate: SuccessRate(figures.total.rate),
                points: figures.points.map { RatePoint($0) }
            ),
            lastWeek: WeekFigures(
                completions: Int32(clamping: past),
                rate: SuccessRate(figures.total.before),
                points: figures.pointsBefore.map { RatePoint($0) }
            ),
            completionsChange: Int32(clamping: now - past),
            rateChange: figures.trend.map(Int32.init),
            mostConsistent: scores.mostConsistent.flatMap { place in
                scores[place].map { score in
                    let record = scene.records[place]
                    return ConsistentHabit(
                        habitID: record.id,
                        name: record.details.name,
                        icon: record.details.icon,
                        consistency: HabitScore(score)
                    )
                }
            }
        )
    }
}
