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

    /// nil when neither a month nor a year is named.
    ///
    /// - Throws: `VALIDATION_ERROR`.
    private static func dates(_ request: GetHabitsCalendarRequest) throws(ServiceError) -> ClosedRange<CalendarDate>? {
        if let year = request.year {
            guard request.month.isEmpty else { throw .validation(field: "year", "must not be given together with month") }
            guard let first = CalendarDate(year: Int(year), month: 1, day: 1),
                let last = CalendarDate(year: Int(year), month: 12, day: 31)
            else { throw .validation(field: "year", "must be a year") }
            return first...last
        }
        guard !request.month.isEmpty else { return nil }
        guard let month = CalendarMonth(request.month) else { throw .validation(field: "month", "must be a month, YYYY-MM") }
        return month.dates
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
