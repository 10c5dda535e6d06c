import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Figures of packed marks against a count date by date (HA-16): rates, trend, points, weekdays, calendar.
@Suite struct HabitChartTests {
    /// Habits of a random person, all seen on one date.
    private static func habits(_ seed: UInt64) -> (
        today: CalendarDate, start: CalendarDate, [[(date: CalendarDate, day: HabitDay)]]
    ) {
        var random = Seeded(seed)
        let today = CalendarDate(dayNumber: 20_000 + Int32.random(in: 0..<2_000, using: &random))
        let starts = (0..<Int.random(in: 1...5, using: &random)).map { _ in
            today.advanced(by: -random.pick([0, 3, 6, 7, 20, 59, 60, 400, 800, 1_500]))
        }
        return (today, starts.min() ?? today, starts.map { RandomMarks.days(&random, from: $0, until: today) })
    }

    @Test(arguments: TestDepth.seeds(quick: 60, full: 1_000))
    func `Rates and trend are those of the days`(seed: UInt64) {
        let (today, start, habits) = Self.habits(seed)
        for window in HabitWindow.allCases {
            var figures = HabitFigures(window, until: today, since: start)
            let parts = habits.map { figures.add(HabitMarks($0)) }
            let all = HabitStatistics(habits.flatMap(\.self), window, until: today)
            #expect(figures.total.rate == all.rate && figures.trend == all.trend && figures.total.datesDone == all.datesDone)
            for (days, part) in zip(habits, parts) {
                let own = HabitStatistics(days, window, until: today)
                #expect(part.rate == own.rate && part.datesDone == own.datesDone)
                #expect(part.rate.trend(since: part.before) == own.trend)
            }
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 60, full: 1_000))
    func `Points are the slots and dates of their buckets, and come to the whole`(seed: UInt64) {
        let (today, start, habits) = Self.habits(seed)
        for window in HabitWindow.allCases {
            var figures = HabitFigures(window, until: today, since: start, weekStart: Int(seed % 7))
            for days in habits { figures.add(HabitMarks(days)) }
            let days = habits.flatMap(\.self)
            #expect(figures.points == slow(figures.points, days, until: today))
            #expect(figures.points.reduce(HabitRate()) { $0 + $1.rate } == figures.total.rate)
            #expect(figures.pointsBefore == slow(figures.pointsBefore, days.filter { $0.date <= today }, until: today))
            if !figures.pointsBefore.isEmpty {
                #expect(figures.pointsBefore.reduce(HabitRate()) { $0 + $1.rate } == figures.total.before)
            }
        }
    }

    private func slow(
        _ points: [HabitPoint],
        _ days: [(date: CalendarDate, day: HabitDay)],
        until today: CalendarDate
    ) -> [HabitPoint] {
        points.map { point in
            let inside = days.filter { point.dates.contains($0.date) }
            let ahead = point.dates.upperBound == today ? days.filter { $0.date > today && $0.day.outcome == .done } : []
            return HabitPoint(
                point.dates,
                rate: (inside + ahead).reduce(HabitRate()) { $0 + $1.day.rate },
                datesDone: inside.count { [.done, .extra].contains($0.day.status) }
            )
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 60, full: 1_000))
    func `Days of the week count the dates that could be done`(seed: UInt64) {
        let (today, start, habits) = Self.habits(seed)
        for window in HabitWindow.allCases {
            var figures = HabitFigures(window, until: today, since: start)
            for days in habits { figures.add(HabitMarks(days)) }
            let dates = window.dates(until: today, since: start)
            let inside = habits.flatMap(\.self).filter { dates.contains($0.date) }
            let expected = (0..<7).map { weekday in
                let own = inside.filter { $0.date.weekday == weekday }
                return HabitWeekday(
                    done: own.count { $0.day.status == .done },
                    dates: own.count {
                        $0.day.status == .done || ($0.date < today && [.missed, .partial, .free].contains($0.day.status))
                    }
                )
            }
            #expect(figures.weekdays == expected)
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 60, full: 1_000))
    func `A calendar of several habits counts what is due on each date`(seed: UInt64) {
        let (today, start, habits) = Self.habits(seed)
        var heat = HabitHeat(start.advanced(by: -3)...today)
        for days in habits { heat.add(HabitMarks(days)) }
        for (date, cell) in zip(heat.dates, heat.cells) {
            let days = habits.flatMap(\.self).filter { $0.date == date }.map(\.day)
            let due = days.filter {
                [.done, .missed].contains($0.status) || ([.open, .partial].contains($0.status) && $0.outcome != nil)
            }
            #expect(cell.due == due.count && cell.done == due.count { $0.status == .done })
            #expect(cell.partial == due.count { $0.status == .partial } && cell.extra == days.count { $0.status == .extra })
        }
    }

    @Test func `Points of a week and a month are dates, of a year weeks from the first day of the week, of all time months`() {
        let today = day("2026-05-31")
        func buckets(_ window: HabitWindow, _ weekStart: Int = 1) -> [ClosedRange<CalendarDate>] {
            window.buckets(until: today, since: day("2025-11-20"), weekStart: weekStart)
        }
        #expect(buckets(.week).map(\.lowerBound) == (25...31).map { day("2026-05-\($0)") })
        #expect(buckets(.month).count == 30 && buckets(.month).allSatisfy { $0.count == 1 })
        let year = buckets(.year)
        #expect(year.first == day("2025-06-01")...day("2025-06-01") && year.last == day("2026-05-25")...today && year.count == 53)
        #expect(buckets(.year, 0).map(\.lowerBound.weekday) == Array(repeating: 0, count: 53))
        #expect(buckets(.allTime).map(\.lowerBound.components.month) == [11, 12, 1, 2, 3, 4, 5])
        #expect(buckets(.allTime).first?.lowerBound == day("2025-11-20"))
        for window in HabitWindow.allCases {
            let dates = buckets(window).flatMap { Array($0) }
            #expect(dates == Array(window.dates(until: today, since: day("2025-11-20"))))
        }
    }

    @Test func `Marks are one byte each, and bytes that are none are refused`() {
        for status in HabitDay.Status.allCases {
            for outcome in HabitDay.Outcome.allCases.map(Optional.some) + [nil] {
                let mark = HabitMark(status, outcome)
                #expect(HabitMark(code: mark.code) == mark && mark.code > 0 && mark.code < 128)
            }
        }
        let codes = Set(HabitDay.Status.allCases.flatMap { status in (0...4).map { UInt8(status.rawValue) + 16 * $0 } })
        for code in UInt8.min...UInt8.max {
            #expect((HabitMark(code: code) == nil) == !codes.contains(code))
            #expect((HabitMarks(from: day("2026-01-01"), codes: [code]) == nil) == !(codes.contains(code) || code == 0))
        }
        let marks = HabitMarks(from: day("2026-01-01"), codes: [1, 0, 3])
        #expect(marks?[day("2026-01-01")]?.status == .done && marks?[day("2026-01-02")] == nil)
        #expect(
            marks?[day("2026-01-03")]?.status == .missed && marks?[day("2026-01-04")] == nil && marks?[day("2025-12-31")] == nil
        )
    }
}
