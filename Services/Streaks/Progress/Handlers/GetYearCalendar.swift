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
        if let dates = try Self.year(request) { return dates }
        let today = try await today.date(of: user, context)
        return today.advanced(by: 1 - Int(request.days ?? Self.days))...today
    }

    func problems(of request: GetYearCalendarRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.year(request) }
    }

    /// nil when no year is named.
    ///
    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    private static func year(_ request: GetYearCalendarRequest) throws -> ClosedRange<CalendarDate>? {
        guard let year = request.year else { return nil }
        let dates = HeatMap.dates(of: Int(year))
        var check = FieldCheck()
        check.require(dates != nil, "year", "must be a year")
        check.require(request.days == nil, "days", "cannot be combined with year")
        try check.finish()
        return dates
    }
}
