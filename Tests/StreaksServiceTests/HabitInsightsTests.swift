import Kernel
import StreaksAPI
import StreaksDomain
import TestSupport
import Testing

@testable import StreaksCore
@testable import StreaksHabitStatistics

/// Insights from what is stored (HA-4).
@Suite(.timeLimit(.minutes(10))) struct HabitInsightsTests {
    @Test func `habits that go together are found among others, and shown from both sides`() async throws {
        try await withHabitStatistics { world in
            var random = Seeded(3)
            let run = (0..<200).map { _ in random.chance(50) }
            let others = [60, 40].map { rate in (0..<200).map { _ in random.chance(rate) } }
            let lives = [run, run.map { random.chance($0 ? 90 : 20) }] + others
            let names = ["Morning Run", "Breakfast", "Read", "Walk"]
            var habits: [HabitID] = []
            for (name, done) in zip(names, lives) {
                let habit = try await world.create(name)
                let dates = done.indices.filter { done[$0] }.map { world.today.advanced(by: $0 - 200) }
                try await world.complete(habit, on: dates, minute: name == "Walk" ? 1_200 : 420)
                habits.append(habit)
            }
            let reply = try await world.insights()
            let pair = try #require(reply.together.first)
            #expect(reply.together.count == 1 && Set([pair.habitID, pair.otherHabitID]) == Set(habits.prefix(2)))
            #expect(pair.percentMoreLikely == Int32((pair.lift - 1) * 100))
            #expect(
                pair.text
                    == "When you complete '\(pair.habitName)', you're \(pair.percentMoreLikely)% more likely to complete "
                    + "'\(pair.otherHabitName)'"
            )
            for habit in habits.prefix(2) {
                let own = try await world.insights(habit)
                #expect(own.together.map(\.otherHabitID) == [habit] && own.together.first?.daysTogether == pair.daysTogether)
                #expect(own.times?.usual == "morning" && own.timesText == "You usually complete this habit in the morning")
            }
            #expect(try await world.insights(habits[3]).together.isEmpty)
            #expect(reply.times?.best == "morning" && reply.timesByHabit.count == 4)
            #expect(reply.timesByHabit.first { $0.name == "Walk" }?.times?.evening?.percent == 100)
        }
    }

    @Test func `the next milestone has a date at the present pace, and none when the run would sooner break`() async throws {
        try await withHabitStatistics { world in
            let (steady, shaky) = (try await world.create("Steady"), try await world.create("Shaky"))
            let weekly = try await world.create("Weekly", .timesPerWeek(1))
            try await world.complete(steady, on: world.last(25))
            try await world.complete(shaky, on: world.last(40).filter { $0.dayNumber % 2 == 0 })
            // Not yet this week, whose last date is today.
            try await world.complete(weekly, on: (1...8).map { world.today.advanced(by: -$0 * 7) })
            let own = try #require(try await world.insights(steady).forecast)
            // Today is done.
            #expect(own.milestone == 30 && own.remaining == 5 && own.date == day("2026-06-05") && own.chancePercent == 100)
            #expect(own.text == "At your current pace, you'll reach a 30-day streak by Jun 5, 2026" && own.progressPercent == 83)
            let none = try #require(try await world.insights(shaky).forecast)
            #expect(none.date == nil && none.obstacle == "unlikely" && none.assumption == nil)
            let weeks = try #require(try await world.insights(weekly).forecast)
            #expect(
                weeks.streakUnit == .weeks && weeks.milestone == 12 && weeks.remaining == 4 && weeks.date == day("2026-06-21")
            )
            let all = try await world.insights().forecasts
            #expect(all.map(\.name) == ["Steady", "Weekly"])
            try await world.change { book in
                try await book.pause(try await book.lock(steady), from: book.date.today.advanced(by: 2), until: day("2026-06-12"))
            }
            #expect(try await world.insights(steady).forecast?.date == day("2026-06-15"))
        }
    }

    @Test func `this week stands against the last, with the most consistent habit`() async throws {
        try await withHabitStatistics { world in
            let (read, walk) = (try await world.create("Read"), try await world.create("Walk"))
            try await world.complete(read, on: world.last(14).filter { $0 != world.today.advanced(by: -9) })
            try await world.complete(walk, on: Array(world.last(14).prefix(3)))
            let week = try #require(try await world.insights().week)
            #expect(week.thisWeek?.completions == 7 && week.lastWeek?.completions == 9 && week.completionsChange == -2)
            #expect(week.thisWeek?.rate == SuccessRate(done: 7, due: 13, percent: 54))
            #expect(week.lastWeek?.rate == SuccessRate(done: 9, due: 14, percent: 64) && week.rateChange == -10)
            #expect(week.thisWeek?.points.count == 7 && week.lastWeek?.points.map(\.daysDone).reduce(0, +) == 9)
            #expect(week.mostConsistent?.name == "Read" && week.mostConsistent?.consistency?.grade == "A")
        }
    }
}
