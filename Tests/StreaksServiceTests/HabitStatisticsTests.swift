import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksHabitStatistics

/// The Statistics screen, a habit's statistics and the calendar from what is stored (HA-4, HA-16, HA-17).
@Suite(.timeLimit(.minutes(10))) struct HabitStatisticsTests {
    @Test func `without habits everything is empty`() async throws {
        try await withHabitStatistics { world in
            let reply = try await world.overview("year")
            #expect(reply.habits.isEmpty && reply.habitsTotal == 0 && reply.currentStreak == nil && reply.longestStreak == nil)
            #expect(reply.chart?.rate?.percent == nil && reply.chart?.trend == nil && reply.chart?.points.count == 53)
            #expect(try await world.calendar().days.allSatisfy { $0.due == 0 && $0.percent == nil })
            let insights = try await world.insights()
            #expect(insights.together.isEmpty && insights.forecasts.isEmpty && insights.week?.mostConsistent == nil)
        }
    }

    @Test func `a free plan has the week, its calendar and its counts`() async throws {
        try await withHabitStatistics(premium: false) { world in
            let habit = try await world.create("Read")
            try await world.complete(habit, on: world.last(20))
            #expect(try await world.overview().chart?.rate == SuccessRate(done: 7, due: 7, percent: 100))
            let own = try await world.statistics(habit)
            #expect(own.period == "week" && own.currentStreak == 20 && own.allTimeTotals?.daysDone == 20)
            #expect(own.heatMap?.squares.suffix(20) == Array(repeating: .done, count: 20)[...] && own.consistency == nil)
            #expect(try await world.calendar().days.count { $0.done == 1 } == 20)
            for period in ["month", "year", "all"] {
                #expect(await world.refusal { _ = try await world.overview(period) } == "PREMIUM_REQUIRED")
                #expect(await world.refusal { _ = try await world.statistics(habit, period) } == "PREMIUM_REQUIRED")
            }
            #expect(await world.refusal { _ = try await world.insights() } == "PREMIUM_REQUIRED")
            #expect(await world.refusal { _ = try await world.insights(habit) } == "PREMIUM_REQUIRED")
            try await world.base.premium(world.user)
            #expect(try await world.statistics(habit, "year").consistency?.grade == "A")
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 2, full: 12))
    func `every figure is that of a count over the stored dates`(seed: UInt64) async throws {
        try await withHabitStatistics { world in
            var random = Seeded(seed)
            let schedules: [Schedule] = [
                .daily, .timesPerWeek(3), .weekdays([1, 3, 5]), .everyNthDate(3, from: world.today), .timesPerWeek(1),
                .daysOfMonth([1, 15, 31]),
            ]
            var habits: [HabitID] = []
            for (number, schedule) in schedules.enumerated() {
                let habit = try await world.create("Habit \(number)", schedule, target: random.chance(50) ? 10 : nil)
                let reach = random.pick([3, 40, 100, 500])
                let dates = world.last(reach).filter { _ in random.chance(60) }
                for date in dates where random.chance(40) {
                    let minute = random.chance(70) ? Int.random(in: 0..<1_440, using: &random) : nil
                    try await world.complete(habit, on: [date], Int64.random(in: 1...10, using: &random), minute: minute)
                }
                try await world.complete(habit, on: dates.filter { _ in random.chance(40) }, minute: 600)
                habits.append(habit)
            }
            var days: [HabitID: [(date: CalendarDate, day: HabitDay)]] = [:]
            for habit in habits { days[habit] = try await world.days(habit) }
            for (window, name) in zip(HabitWindow.allCases, ["week", "month", "year", "all"]) {
                let reply = try await world.overview(name)
                let all = HabitStatistics(days.values.flatMap(\.self), window, until: world.today)
                #expect(reply.chart?.rate == SuccessRate(all.rate) && reply.chart?.trend == all.trend.map(Int32.init), "\(name)")
                #expect(reply.daysDone == Int32(all.datesDone) && reply.completions == Int64(all.completions))
                #expect(reply.habits.count == habits.count)
                for result in reply.habits {
                    let own = HabitStatistics(days[result.habitID] ?? [], window, until: world.today)
                    #expect(result.rate == SuccessRate(own.rate) && result.trend == own.trend.map(Int32.init))
                    #expect(result.value == own.value.value && result.completions == Int32(own.completions))
                    let detail = try await world.statistics(result.habitID, name)
                    #expect(detail.chart?.rate == result.rate && detail.chart?.trend == result.trend)
                    #expect(detail.periodTotals?.value == result.value && detail.periodTotals?.daysDone == result.daysDone)
                    let ever = HabitStatistics(days[result.habitID] ?? [], .allTime, until: world.today)
                    #expect(detail.allTimeTotals?.completions == Int64(ever.completions))
                    #expect(detail.allTimeTotals?.value == ever.value.value)
                    let start = try #require(days[result.habitID]?.first?.date)
                    let score = HabitConsistency(days[result.habitID] ?? [], until: world.today, since: start)
                    #expect(detail.consistency == score.map { HabitScore($0) })
                }
                try await compareTimes(reply.times, window, world)
            }
        }
    }

    /// Of the completions whose minute is stored.
    private func compareTimes(_ times: DayPartFigures?, _ window: HabitWindow, _ world: HabitStatisticsWorld) async throws {
        let rows = try await world.database.query("SELECT on_date, minute FROM habit_completion WHERE minute IS NOT NULL")
        let start = try await world.database.query("SELECT min(on_date) FROM habit_day").first?.get(at: 0, as: CalendarDate.self)
        let dates = window.dates(until: world.today, since: try #require(start))
        let hours = try rows.filter { dates.contains(try $0.get(at: 0)) }.map { Int(try $0.get(at: 1, as: Int32.self)) / 60 }
        let counts = PartOfDay.allCases.map { part in Int32(hours.count { PartOfDay(hour: $0) == part }) }
        #expect([times?.morning, times?.afternoon, times?.evening].map { $0?.completions } == counts)
    }

    @Test func `the list has an order, categories and squares`() async throws {
        try await withHabitStatistics { world in
            let categories = try await HabitAccountRepository.categories(of: world.user, world.database)
            #expect(categories.isEmpty)
            let walk = try await world.create("walk")
            let known = try await HabitAccountRepository.categories(of: world.user, world.database).map(\.id)
            let bike = try await world.create("Bike", .timesPerWeek(2), category: known[1])
            let read = try await world.create("Read", target: 10, category: known[0])
            try await world.complete(walk, on: world.last(9))
            try await world.complete(bike, on: world.last(14).filter { [0, 3].contains($0.weekday) })
            try await world.complete(read, on: world.last(3), 4)
            #expect(try await world.overview().habits.map(\.name) == ["Bike", "Read", "walk"])
            #expect(try await world.overview(sort: "rate").habits.map(\.name) == ["walk", "Bike", "Read"])
            // Two weeks are fourteen dates.
            #expect(try await world.overview(sort: "streak").habits.map(\.name) == ["Bike", "walk", "Read"])
            let some = try await world.overview("month", [known[0], known[1]])
            #expect(some.habits.map(\.name) == ["Bike", "Read"] && some.habitsTotal == 3)
            #expect(some.habits.map(\.squares.count) == [28, 28])
            #expect(some.habits[1].squares.suffix(4) == [.none, .partial, .partial, .partial][...])
            #expect(some.habits[1].unit == "pages" && some.habits[1].value == 12 && some.currentStreak?.habitName == "Bike")
            #expect(try await world.overview().habits[0].squares == [.free, .free, .done, .free, .free, .free, .done])
            let stranger = HabitCategoryID(high: 4, low: 4)
            let refusal = await world.refusal { _ = try await world.overview("week", [stranger]) }
            #expect(refusal == "VALIDATION_ERROR category_id")
        }
    }

    @Test func `dates that were missed before the first completion count`() async throws {
        try await withHabitStatistics { world in
            let habit = try await world.create("Read")
            world.base.clock.set(moment("2026-06-05T12:00:00Z"))
            try await world.complete(habit, on: [day("2026-06-05")])
            for period in ["week", "month", "year", "all"] {
                let rate = SuccessRate(done: 1, due: 6, percent: 17)
                #expect(try await world.statistics(habit, period).chart?.rate == rate, "\(period)")
                #expect(try await world.overview(period).chart?.rate == rate, "\(period)")
            }
        }
    }

    @Test func `a habit's runs have their reasons, and the best one its dates`() async throws {
        try await withHabitStatistics { world in
            let habit = try await world.create("Read")
            let dates = world.last(30)
            try await world.complete(habit, on: Array(dates[0..<8] + dates[9..<20] + dates[22..<30]))
            let reply = try await world.statistics(habit, "month")
            #expect(reply.timeline.map(\.count) == [8, 11, 8] && reply.timeline.map(\.ended) == [.running, .missed, .missed])
            #expect(reply.timeline.map(\.endedOn) == [nil, dates[20], dates[8]])
            #expect(reply.timeline.map(\.percentOfLongest) == [72, 100, 72])
            #expect(reply.bestRun?.from == dates[9] && reply.bestRun?.to == dates[19])
            #expect(reply.milestones.map(\.count) == [7, 30] && reply.milestones.map(\.reached) == [true, false])
            #expect(reply.chart?.rate == SuccessRate(done: 27, due: 30, percent: 90) && reply.chart?.bucket == "day")
            #expect(reply.chart?.points.count { $0.rate?.done == 0 } == 3)
            #expect(reply.consistency?.score == 90 && reply.consistency?.daysPerWeek == 6.3)
            #expect(reply.weekdays.map { $0.rate?.due ?? 0 }.reduce(0, +) == 30)
        }
    }

    @Test func `a weekly habit counts its week at once, and part of a target shows as a percent`() async throws {
        try await withHabitStatistics { world in
            // Wednesday: the week is done before it is over.
            world.base.clock.set(moment("2026-06-03T12:00:00Z"))
            let swim = try await world.create("Swim", .timesPerWeek(2))
            try await world.complete(swim, on: [day("2026-05-18"), day("2026-05-19"), day("2026-06-01"), day("2026-06-02")])
            let own = try await world.statistics(swim, "all")
            #expect(own.chart?.rate == SuccessRate(done: 2, due: 3, percent: 67) && own.streakUnit == .weeks)
            #expect(own.chart?.points.last?.rate?.done == 1 && own.currentStreak == 1)
            let read = try await world.create("Read", target: 50)
            try await world.complete(read, on: [world.today.advanced(by: -1)], 45)
            let heat = try await world.statistics(read).heatMap
            #expect(heat?.squares.suffix(2) == [.partial, .open][...] && heat?.percents.suffix(2) == [90, 0][...])
            #expect(heat?.squares.count == 365 && heat?.percents.count == 365 && heat?.squares.first == HabitSquare.none)
        }
    }

    @Test func `what was read once is read again after a change of any kind`() async throws {
        try await withHabitStatistics { world in
            let (read, walk) = (try await world.create("Read"), try await world.create("Walk"))
            try await world.complete(read, on: world.last(10), minute: 600)
            try await world.complete(walk, on: world.last(10))
            // One reader, which keeps what it has read.
            let reader = world.reader
            func rates() async throws -> [Int32] {
                let request = GetStatisticsOverviewRequest(period: "month")
                let reply = try await GetStatisticsOverview(reader: reader).handle(request, world.context)
                return reply.habits.map { $0.rate?.done ?? -1 } + [reply.times?.morning?.completions ?? -1]
            }
            let first = try await rates()
            #expect(first == [10, 10, 10])
            let again = try await rates()
            #expect(again == first)
            let id = try await world.database.query(
                "SELECT id FROM habit_completion WHERE on_date = \(world.today) AND minute IS NOT NULL"
            ).first?.get(at: 0, as: CompletionID.self)
            let completion = try #require(id)
            // Only its time: no date changes.
            try await world.change { book in try await book.describe(completion, CompletionDetails(minute: 1_300)) }
            let described = try await rates()
            #expect(described == [10, 10, 9])
            try await world.edit(read, [.delete(completion, on: world.today)])
            let deleted = try await rates()
            #expect(deleted == [9, 10, 9])
            // Time passes, and rows are made again from the start, as after a change of zone: no change of the user's.
            world.base.clock.set(moment("2026-06-03T12:00:00Z"))
            let missed = try await world.overview("month").habits.map { $0.rate?.due ?? -1 }
            let later = try await rates()
            #expect(later == [9, 10, 9] && missed == [12, 12])
            try await world.base.work.run(trace: "", requestID: "") { work in
                try HabitDays.setStale(of: world.user, work.sql)
            }
            try await world.database.execute(
                "DELETE FROM habit_completion WHERE user_id = \(world.user) AND on_date = \(day("2026-05-30"))"
            )
            let stale = try await rates()
            #expect(stale.prefix(2) == [8, 9])
        }
    }

    @Test func `habits in the archive have statistics of their own, deleted ones and those of others have none`() async throws {
        try await withHabitStatistics { world in
            let known = try await world.create("Other")
            let category = try #require(try await HabitAccountRepository.categories(of: world.user, world.database).first?.id)
            let habit = try await world.create("Read", category: category)
            let near = try await world.create("Write", category: category)
            try await world.complete(habit, on: world.last(10))
            try await world.change { book in try await book.archive(try await book.lock(habit)) }
            world.base.clock.set(moment("2026-07-15T12:00:00Z"))
            let reply = try await world.overview()
            #expect(reply.habits.map(\.name) == ["Other", "Write"] && reply.habitsArchived == 1 && reply.habitsActive == 2)
            let own = try await world.statistics(habit)
            #expect(own.allTimeTotals?.daysDone == 10)
            #expect(own.heatMap?.to == day("2026-05-31"))
            #expect(own.related.map(\.habitID) == [near])
            let month = try await world.calendar(month: "2026-05")
            #expect(month.days.count { $0.done == 1 } == 10)
            let insights = try await world.insights(habit)
            #expect(insights.forecast == nil)
            // An old date that is changed in the archive does not move its last one.
            try await world.complete(habit, on: [day("2026-05-10")])
            let changed = try await world.statistics(habit)
            #expect(changed.heatMap?.to == day("2026-05-31") && changed.allTimeTotals?.daysDone == 11)
            try await world.change { book in try await book.delete(try await book.lock(habit)) }
            let (statistics, gone) = (
                await world.refusal { _ = try await world.statistics(habit) },
                await world.refusal { _ = try await world.insights(habit) }
            )
            #expect(statistics == "HABIT_NOT_FOUND")
            #expect(gone == "HABIT_NOT_FOUND")
            let stranger = HabitStatisticsWorld(base: world.base, habits: world.habits, user: try await world.base.person(2))
            let foreign = await stranger.refusal { _ = try await stranger.statistics(known) }
            #expect(foreign == "HABIT_NOT_FOUND")
            #expect(try await stranger.overview().habits.isEmpty)
        }
    }

    @Test func `the calendar is of a month or a year, and not of both`() async throws {
        try await withHabitStatistics { world in
            let (read, walk) = (try await world.create("Read"), try await world.create("Walk"))
            try await world.complete(read, on: world.last(40))
            try await world.complete(walk, on: world.last(2))
            let month = try await world.calendar()
            #expect(month.from == day("2026-05-01") && month.to == day("2026-05-31") && month.today == world.today)
            #expect(month.days.suffix(3).map(\.percent) == [100, 100, 100] && month.days.suffix(3).map(\.due) == [1, 2, 2])
            let year = try await world.calendar(year: 2026)
            #expect(year.days.count == 365 && year.days.map(\.done).reduce(0, +) == 42)
            #expect(year.days.last?.percent == nil && year.firstDayOfWeek == 1)
            #expect(try await world.calendar(month: "2030-01").days.allSatisfy { $0.due == 0 })
            #expect(try await world.calendar(month: "2026-04").days.count { $0.done == 1 } == 9)
            let both = await world.refusal { _ = try await world.calendar(month: "2026-05", year: 2026) }
            #expect(both == "VALIDATION_ERROR year")
            #expect(await world.refusal { _ = try await world.calendar(month: "2026-13") } == "VALIDATION_ERROR month")
        }
    }
}
