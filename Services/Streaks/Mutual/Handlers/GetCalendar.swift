internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// A month of the calendar (MS-5). From the whole ledger: a checkpoint would hide the months before it.
struct GetCalendar: QueryHandler {
    let views: MutualViews

    func handle(_ request: GetCalendarRequest, _ context: CallContext) async throws -> MonthCalendar {
        let user = try context.requireUser()
        let id = request.streakID
        let asked = try Self.month(request)
        guard let (stored, state) = try await views.whole(id, seenBy: user), let reader = stored.ledger.participant(user) else {
            throw ServiceError.notFound("streak")
        }
        let month = asked ?? CalendarMonth(containing: reader.zones.date(at: state.asOf))
        let days = MutualView.days(month.dates, stored.ledger, state, reader: user)
        return MonthCalendar(
            streakID: id,
            month: month.description,
            days: days.map { CalendarDay($0) },
            completedDays: Int32(days.count { $0.mark == .both })
        )
    }

    func problems(of request: GetCalendarRequest) -> [ServiceError.Detail] { FieldCheck.problems { _ = try Self.month(request) } }

    /// nil when none is named.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `month`.
    private static func month(_ request: GetCalendarRequest) throws(ServiceError) -> CalendarMonth? {
        guard let text = request.month else { return nil }
        guard let month = CalendarMonth(text) else { throw .validation(field: "month", "must be a month, YYYY-MM") }
        return month
    }
}
