internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// A calendar of all habits together. Those in the archive are in it with the dates that they had.
struct GetHabitsCalendar: QueryHandler {
    let reader: StatisticsReader

    func handle(_ request: GetHabitsCalendarRequest, _ context: CallContext) async throws -> GetHabitsCalendarReply {
        let asked = try Self.dates(request)
        let scene = try await reader.open(context, .all(request.categoryID))
        try await reader.check(request.categoryID, of: scene.user)
        let dates = asked ?? CalendarMonth(containing: scene.today).dates
        var heat = HabitHeat(dates)
        if dates.lowerBound <= scene.today {
            let seen = dates.lowerBound...min(dates.upperBound, scene.today)
            let streaks = scene.records.map(\.streak)
            let marked = try await reader.cache.marks(
                of: streaks,
                in: seen,
                sums: seen.upperBound,
                includesAhead: false,
                reader.habits.database
            )
            for found in marked.values { heat.add(found.marks) }
        }
        return GetHabitsCalendarReply(
            from: dates.lowerBound,
            to: dates.upperBound,
            today: scene.today,
            days: zip(dates, heat.cells).map { HabitsDay($0, $1) },
            firstDayOfWeek: Int32(scene.weekStart)
        )
    }

    func problems(of request: GetHabitsCalendarRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.dates(request) }
    }

    /// nil when neither a month nor a year is named.
    ///
    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    private static func dates(_ request: GetHabitsCalendarRequest) throws -> ClosedRange<CalendarDate>? {
        let year = request.year.flatMap { HeatMap.dates(of: Int($0)) }
        let month = CalendarMonth(request.month)
        var check = FieldCheck()
        check.require(request.month.isEmpty || month != nil, "month", "must be a month, YYYY-MM")
        check.require(request.month.isEmpty || request.year == nil, "year", "must not be given together with month")
        check.require(request.year == nil || year != nil, "year", "must be a year")
        try check.finish()
        return year ?? month?.dates
    }
}

extension HabitsDay {
    fileprivate init(_ date: CalendarDate, _ cell: HabitHeat.Cell) {
        self.init(
            date: date,
            done: Int32(cell.done),
            due: Int32(cell.due),
            percent: cell.percent.map(Int32.init),
            partial: Int32(cell.partial),
            extra: Int32(cell.extra)
        )
    }
}
