internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The Today screen (HA-15).
struct GetHabitsToday: QueryHandler {
    let reader: HabitDayReader

    func handle(_ request: GetHabitsTodayRequest, _ context: CallContext) async throws -> GetHabitsTodayReply {
        let day = try await reader.day(request.date, of: try context.requireUser(), .init(), context)
        return GetHabitsTodayReply(
            date: day.date,
            today: day.clock.today,
            progress: HabitsProgress(day.summary),
            averageStreak: Int32(clamping: day.averageStreak),
            dayNote: day.note,
            sections: day.sections
        )
    }
}
