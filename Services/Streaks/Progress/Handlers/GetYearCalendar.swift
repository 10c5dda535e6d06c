internal import Bus
internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// All the user's streaks together on the dates of the last 365 days, or of a year, from one statement.
struct GetYearCalendar: QueryHandler {
    /// What a heat map shows.
    private static let days: Int32 = 365

    let database: Database
    let today: Today

    func handle(_ request: GetYearCalendarRequest, _ context: CallContext) async throws -> YearCalendar {
        let user = try context.requireUser()
        let dates = try await dates(request, of: user, context)
        let map = HeatMap(dates, try await LedgerReads.days(.mutual, of: user, in: dates, database))
        return YearCalendar(
            year: Int32(dates.upperBound.components.year),
            days: map.days.map { day in
                YearDay(date: day.date, posted: Int32(day.posted), completed: Int32(day.completed))
            },
            postedDates: Int32(map.postedDates),
            completedDates: Int32(map.completedDates),
            mostCompleted: Int32(map.mostCompleted)
        )
    }

    private func dates(_ request: GetYearCalendarRequest, of user: UserID, _ context: CallContext) async throws
        -> ClosedRange<CalendarDate>
    {
        guard let year = request.year else {
            let today = try await today.date(of: user, context)
            return today.advanced(by: 1 - Int(request.days ?? Self.days))...today
        }
        guard request.days == nil else { throw ServiceError.validation(field: "days", "cannot be combined with year") }
        guard let dates = HeatMap.dates(of: Int(year)) else { throw ServiceError.validation(field: "year", "must be a year") }
        return dates
    }
}
