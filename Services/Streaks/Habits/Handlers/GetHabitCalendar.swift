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
        let month = try Self.month(request) ?? CalendarMonth(containing: today)
        let rows = try await habits.database.query(together: [
            DetailReads.days(of: request.habitID, user, in: month.dates),
            DetailReads.state(of: request.habitID, user),
        ])
        guard let state = try DetailReads.state(rows[1]) else { throw ServiceError.habitNotFound }
        return HabitMonth(month, try DetailReads.days(rows[0]), today: today, archivedAfter: state.archivedAfter)
    }

    func problems(of request: GetHabitCalendarRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.month(request) }
    }

    /// nil when none is named.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `month`.
    private static func month(_ request: GetHabitCalendarRequest) throws(ServiceError) -> CalendarMonth? {
        guard !request.month.isEmpty else { return nil }
        guard let month = CalendarMonth(request.month) else { throw .validation(field: "month", "must be a month, YYYY-MM") }
        return month
    }
}
