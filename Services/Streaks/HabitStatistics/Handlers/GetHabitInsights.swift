internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What stands out of one habit, also of one in the archive. The pairs are those of `GetInsightsOverview` that have it.
struct GetHabitInsights: QueryHandler {
    let reader: StatisticsReader

    func handle(_ request: GetHabitInsightsRequest, _ context: CallContext) async throws -> GetHabitInsightsReply {
        let scene = try await reader.open(context, .all([]), needsPremium: Insights.name)
        guard let record = scene.records.first(where: { $0.id == request.habitID }) else { throw ServiceError.habitNotFound }
        let times = try await reader.timesOfYear(scene.with([record]))[record.streak]
        let recent = try await MarkRepository.recent([record.streak], until: scene.lastDate(of: record), reader.habits.database)
        let score = recent[record.streak]?.consistency(of: record, scene)
        var reply = GetHabitInsightsReply(
            habitID: record.id,
            times: DayPartFigures(times ?? HabitTimes()),
            timesText: times?.usual.map { "You usually complete this habit in the \($0.rawValue)" },
            consistency: score.map { HabitScore($0) }
        )
        if record.isArchived { return reply }
        let active = scene.with(scene.records.filter { !$0.isArchived })
        let marked = try await reader.longMarks(active)
        if let place = active.records.firstIndex(where: { $0.id == record.id }) {
            let pairs = HabitPairs(active.records.map { marked[$0.streak]?.marks ?? .none }, until: scene.today).of(place)
            reply.together = pairs.map { HabitsTogether($0, active.records) }
        }
        reply.forecast = HabitForecast(record, recent[record.streak], marked[record.streak]?.marks, scene)
        return reply
    }
}
