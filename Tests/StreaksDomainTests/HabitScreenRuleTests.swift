import Kernel
import StreaksDomain
import TestSupport
import Testing

/// What screens of habits say: schedules in words, steps of quick values.
struct HabitScreenRuleTests {
    @Test func `schedules are said in words`() {
        let from = CalendarDate(dayNumber: 20_000)
        let expected: [(Schedule, String)] = [
            (.daily, "Daily"), (.weekdays([1, 2, 3, 4, 5]), "Weekdays"), (.weekdays([0, 6]), "Weekends"),
            (.weekdays([0, 1, 2, 3, 4, 5, 6]), "Daily"), (.weekdays([0, 1, 4]), "Mon, Thu, Sun"),
            (.everyNthDate(1, from: from), "Daily"), (.everyNthDate(14, from: from), "Every 14 days"),
            (.timesPerWeek(3), "3x per week"), (.daysOfMonth([31, 1]), "Monthly on 1, 31"),
        ]
        for (schedule, text) in expected { #expect(schedule.text == text) }
    }

    @Test func `days that some months do not have are named`() {
        #expect(Schedule.daysOfMonth([1, 28]).note == nil && Schedule.daily.note == nil)
        #expect(Schedule.daysOfMonth([31]).note == "Day 31 is not due in months that do not have it.")
        #expect(Schedule.daysOfMonth([29, 30, 31]).note == "Days 29, 30 and 31 are not due in months that do not have them.")
    }

    @Test func `steps of quick values are round, and by the size of the target`() {
        let expected: [(Int64, [Int64])] = [
            (50_000, [5_000, 10_000, 25_000]), (100_000, [10_000, 20_000, 50_000]), (30_000, [2_000, 5_000, 10_000]),
            (8_000, [1_000, 2_000]), (1_000, [1_000]), (2_500, [250, 500, 1_000]),
            (10_000_000, [1_000_000, 2_000_000, 5_000_000]),
            (1, [1]), (0, []),
        ]
        for (target, steps) in expected {
            #expect(Amount(thousandths: target).quickValues.map(\.thousandths) == steps, "\(target)")
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 20, full: 500))
    func `steps grow, fit into the target and are whole for whole ones`(seed: UInt64) {
        var random = Seeded(seed)
        let target = Int64.random(in: 1...1_000_000_000_000, using: &random)
        let steps = Amount(thousandths: target).quickValues.map(\.thousandths)
        #expect((1...3).contains(steps.count) && steps == steps.sorted() && Set(steps).count == steps.count)
        #expect(steps.allSatisfy { $0 > 0 && $0 <= target && (target % 1_000 != 0 || $0 % 1_000 == 0) })
    }
}
