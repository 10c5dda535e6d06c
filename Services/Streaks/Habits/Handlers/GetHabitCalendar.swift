internal import Bus
internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// A month of a habit.
struct GetHabitCalendar: QueryHandler {
    let habits: HabitStore

    func handle(_ request: GetHabitCalendarRequest, _ context: CallContext) async throws -> HabitMonth {
        let user = try context.requireUser()
        let today = try await habits.refresh(user, context).today
        guard let month = request.month.isEmpty ? CalendarMonth(containing: today) : CalendarMonth(request.month) else {
            throw ServiceError.validation(field: "month", "must be a month, YYYY-MM")
        }
        let rows = try await habits.database.query(together: [
            DetailReads.days(of: request.habitID, user, in: month.dates),
            DetailReads.state(of: request.habitID, user),
        ])
        guard let state = try DetailReads.state(rows[1]) else { throw ServiceError.habitNotFound }
        return HabitMonth(month, try DetailReads.days(rows[0]), today: today, archivedAfter: state.archivedAfter)
    }
}
