internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// A year of all the user's streaks together, from one statement.
    func getYearCalendar(_ request: GetYearCalendarRequest, context: CallContext) async throws -> YearCalendar {
        let user = try context.requireUser()
        let dates = try await dates(request, of: user, context)
        let map = HeatMap(dates, try await StatsRepository.days(of: user, in: dates, streaks.database))
        return YearCalendar(
            year: Int32(dates.upperBound.components.year),
            days: map.days.map { day in
                YearDay(date: day.date.description, posted: Int32(day.posted), completed: Int32(day.completed))
            },
            postedDates: Int32(map.postedDates),
            completedDates: Int32(map.completedDates),
            mostCompleted: Int32(map.mostCompleted)
        )
    }

    private func dates(_ request: GetYearCalendarRequest, of user: UserID, _ context: CallContext) async throws
        -> ClosedRange<CalendarDate>
    {
        if let days = request.days {
            guard request.year == nil else { throw ServiceError.validation(field: "days", "cannot be combined with year") }
            let today = try await today(of: user, context)
            return today.advanced(by: 1 - Int(days))...today
        }
        var year = request.year.map(Int.init)
        if year == nil { year = try await today(of: user, context).components.year }
        guard let dates = year.flatMap({ HeatMap.dates(of: $0) }) else {
            throw ServiceError.validation(field: "year", "must be a year")
        }
        return dates
    }

    /// The date a person's own clock shows.
    func today(of user: UserID, _ context: CallContext) async throws -> CalendarDate {
        (try await profiles.profile(user, context: context)?.zone ?? .utc).date(at: clock.now())
    }
}
