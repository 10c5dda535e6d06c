import Kernel
import StreaksDomain
import TestSupport
import Testing

/// The list of habits, times of day, consistency in words, and when the next milestone is reached (HA-4, HA-16).
@Suite struct HabitInsightTests {
    @Test func `A percent is rounded, and 100 and 0 mean all and none`() {
        let rates = [(23, 30), (199, 200), (1, 300), (0, 300), (300, 300), (1, 2)].map {
            HabitRate(done: $0, counted: $1).percent
        }
        #expect(rates == [77, 99, 1, 0, 100, 50] && HabitRate().percent == nil)
    }

    @Test func `Habits are listed by name, rate or streak, and equal ones keep their places`() {
        let habits = [
            HabitPerformance(name: "walk", rate: HabitRate(done: 1, counted: 2), count: 8, unit: .dates),
            HabitPerformance(name: "Éclair", rate: HabitRate(), count: 2, unit: .weeks),
            HabitPerformance(name: "Bike", rate: HabitRate(done: 2, counted: 4), count: 8, unit: .dates),
            HabitPerformance(name: "bike", rate: HabitRate(done: 3, counted: 3), count: 0, unit: .dates),
        ]
        func order(_ order: HabitOrder) -> [Int] { habits.indices.sorted(by: order) { habits[$0] } }
        #expect(order(.name) == [2, 3, 0, 1])
        #expect(order(.rate) == [3, 2, 0, 1])
        #expect(order(.streak) == [1, 0, 2, 3])
    }

    @Test func `The best time of day is the one with most completions, the usual one has more than half`() {
        func times(_ morning: Int, _ afternoon: Int, _ evening: Int) -> HabitTimes {
            HabitTimes([.morning: morning, .afternoon: afternoon, .evening: evening])
        }
        #expect(times(3, 2, 1).best == nil && times(4, 2, 1).best == .morning && times(4, 2, 1).usual == .morning)
        #expect(times(4, 4, 1).best == nil && times(0, 3, 4).usual == .evening)
        #expect(times(4, 3, 3).best == .morning && times(4, 3, 3).usual == nil && times(5, 3, 2).usual == nil)
        #expect((times(1, 2, 3) + times(4, 0, 0))[.morning] == 5 && HabitTimes().total == 0)
    }

    @Test func `The parts of the day have the minutes of their hours`() {
        for minute in 0..<1440 {
            #expect(PartOfDay.allCases.filter { $0.minutes.contains(minute) } == [PartOfDay(hour: minute / 60)])
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 50, full: 500))
    func `Shares of the times of day come to 100 and are off by less than one`(seed: UInt64) {
        var random = Seeded(seed)
        let counts = PartOfDay.allCases.map { ($0, Int.random(in: 0...40, using: &random)) }
        let times = HabitTimes(Dictionary(uniqueKeysWithValues: counts))
        let total = Double(times.total)
        #expect(times.percents.reduce(0, +) == (times.total == 0 ? 0 : 100))
        for ((_, count), percent) in zip(counts, times.percents) where total > 0 {
            #expect(abs(Double(count) * 100 / total - Double(percent)) < 1)
        }
    }

    @Test func `Consistency in words`() {
        func text(_ done: Int, of dates: Int) -> String? {
            HabitConsistency(HabitRate(done: done, counted: dates), dueDates: dates, datesDone: done, of: dates)?.text
        }
        #expect(text(90, of: 90) == "You complete this habit 7 days per week on average")
        #expect(text(60, of: 90) == "You complete this habit 4.7 days per week on average")
        #expect(text(1, of: 7) == "You complete this habit 1 day per week on average")
        #expect(text(0, of: 90) == "You complete this habit 0 days per week on average" && text(6, of: 6) == nil)
    }

    @Test func `The most consistent habit has the highest score, of equal ones more dates a week`() {
        func habit(_ done: Int, _ counted: Int) -> HabitConsistency? {
            HabitConsistency(HabitRate(done: done, counted: counted), dueDates: counted, datesDone: done, of: 90)
        }
        #expect([habit(5, 10), nil, habit(80, 90), habit(8, 9), habit(80, 90)].mostConsistent == 2)
        #expect([habit(4, 5), nil].mostConsistent == nil && [HabitConsistency?]().mostConsistent == nil)
    }

    private func projection(
        _ schedule: Schedule = .daily,
        count: Int,
        done: Int,
        of counted: Int,
        skipped: Int = 0,
        from: String = "2026-06-01",
        pauses: [ClosedRange<CalendarDate>] = []
    ) -> HabitProjection? {
        let milestones: Milestones = schedule.unit == .weeks ? .habitWeeks : .habitDates
        let pace = HabitProjection.Pace(rate: HabitRate(done: done, counted: counted), dueDates: counted, skipped: skipped)
        let ahead = HabitProjection.Ahead(schedule, weekStart: 1, from: day(from), pauses: pauses)
        return HabitProjection(milestones, count: count, pace, ahead)
    }

    @Test func `The next milestone is reached after so many due dates`() throws {
        let daily = try #require(projection(count: 23, done: 90, of: 90))
        #expect(daily.milestone == 30 && daily.remaining == 7 && daily.date == day("2026-06-07") && daily.chance == 100)
        #expect(daily.assumption == "If you complete each of the next 7 due days" && daily.obstacle == nil)
        #expect(daily.text == "At your current pace, you'll reach a 30-day streak by Jun 7, 2026")
        // Mondays and Thursdays.
        #expect(projection(.weekdays([1, 4]), count: 29, done: 20, of: 20)?.date == day("2026-06-01"))
        #expect(projection(.weekdays([1, 4]), count: 27, done: 20, of: 20)?.date == day("2026-06-08"))
        #expect(projection(.everyNthDate(3, from: day("2026-06-02")), count: 5, done: 20, of: 20)?.date == day("2026-06-05"))
        // The 31st: August, October.
        #expect(projection(.daysOfMonth([31]), count: 4, done: 20, of: 20)?.date == day("2026-10-31"))
    }

    @Test func `Weeks are reached at their ends, and pauses are passed over`() {
        let weeks = projection(.timesPerWeek(3), count: 2, done: 12, of: 12, from: "2026-06-03")
        #expect(weeks?.milestone == 4 && weeks?.date == day("2026-06-14") && weeks?.unit == .weeks)
        #expect(weeks?.assumption == "If you complete each of the next 2 weeks")
        let paused = projection(count: 28, done: 9, of: 9, pauses: [day("2026-06-02")...day("2026-06-20")])
        #expect(paused?.date == day("2026-06-21"))
        let away = projection(.timesPerWeek(3), count: 2, done: 12, of: 12, pauses: [day("2026-06-08")...day("2026-06-21")])
        #expect(away?.date == day("2026-06-28"))
    }

    @Test func `Skips at the present pace delay it`() {
        let skipping = projection(count: 23, done: 60, of: 60, skipped: 30)
        #expect(skipping?.date == day("2026-06-11"))
        #expect(skipping?.assumption == "If you complete 7 of the next 11 due days and skip the others")
    }

    @Test func `There is no date when the run would sooner break, without a pace, or too far away`() {
        // 0.9⁶ = 0.53, 0.9⁷ = 0.48.
        #expect(projection(count: 24, done: 81, of: 90)?.date != nil)
        let unlikely = projection(count: 23, done: 81, of: 90)
        #expect(unlikely?.obstacle == .unlikely && unlikely?.date == nil && unlikely?.chance == 47 && unlikely?.assumption == nil)
        #expect(unlikely?.text == "A 30-day streak takes a steadier pace than that of the last 90 days")
        #expect(projection(count: 1, done: 6, of: 6)?.obstacle == .noPace)
        #expect(projection(count: 1, done: 6, of: 6)?.text == "It is too early to say when you'll reach a 7-day streak")
        #expect(projection(count: 1, done: 0, of: 9)?.obstacle == .noPace)
        let rare = projection(.everyNthDate(365, from: day("2026-06-01")), count: 7, done: 9, of: 9)
        #expect(rare?.obstacle == .tooFar && rare?.date == nil && rare?.chance == 100)
    }

    @Test(arguments: TestDepth.seeds(quick: 50, full: 500))
    func `The projected date is that of a count date by date`(seed: UInt64) {
        var random = Seeded(seed)
        let schedules: [Schedule] = [
            .daily, .weekdays([0, 3, 5]), .everyNthDate(4, from: day("2026-01-03")), .daysOfMonth([1, 15, 31]),
        ]
        let schedule = random.pick(schedules)
        let from = day("2026-06-01").advanced(by: Int.random(in: 0...400, using: &random))
        let pause = from.advanced(by: Int.random(in: 0...20, using: &random))
        let pauses = [pause...pause.advanced(by: Int.random(in: 0...30, using: &random))]
        let count = Int.random(in: 0...29, using: &random)
        let found = projection(schedule, count: count, done: 50, of: 50, from: "\(from)", pauses: pauses)
        let dates = (0...3_000).lazy.map { from.advanced(by: $0) }.filter { schedule.includes($0) && !pauses[0].contains($0) }
        let target = count < 7 ? 7 : 30
        #expect(found?.milestone == target && found?.date == Array(dates.prefix(target - count)).last)
    }
}
