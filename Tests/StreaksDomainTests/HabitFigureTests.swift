import Kernel
import Testing

@testable import StreaksDomain

/// Windows, grades, averages, milestones and the Today screen (HA-11, HA-15, HA-16). What rates come to in lives is `HabitModelTests`.
@Suite struct HabitFigureTests {
    private let today = day("2026-05-31")

    /// Days of a daily habit, the newest last and today: d done, m missed, s skipped, o open, x extra, p partial.
    private func days(_ text: String) -> [(date: CalendarDate, day: HabitDay)] {
        text.enumerated().map { index, letter in
            let row: HabitDay =
                switch letter {
                case "d": .of(.done, .done)
                case "s": .of(.skipped, .excused)
                case "o": .of(.open, .open)
                case "x": .of(.extra, nil)
                case "p": .of(.partial, .missed)
                default: .of(.missed, .missed)
                }
            return (today.advanced(by: index + 1 - text.count), row)
        }
    }

    @Test func `A week's rate leaves out what is excused, extra and open, and its trend is against the seven dates before`() {
        let figures = HabitStatistics(days("mmmmmmd" + "ddsxmpo"), .week, until: today)
        #expect(figures.rate == HabitRate(done: 2, counted: 4) && figures.trend == 36)
        #expect(figures.datesDone == 3)
        let all = HabitStatistics(days("mmmmmmd" + "ddsxmpo"), .allTime, until: today)
        #expect(all.rate == HabitRate(done: 3, counted: 11) && all.trend == nil)
        #expect(HabitStatistics(days("ss"), .month, until: today).rate.share == nil)
    }

    @Test func `Rates of several habits are pooled`() {
        let figures = HabitStatistics(days("d") + days("dmmm"), .week, until: today)
        #expect(figures.rate == HabitRate(done: 2, counted: 5))
    }

    @Test func `Windows are the last 7, 30 and 365 dates`() {
        #expect(HabitWindow.allCases.map { $0.dates(until: today, since: day("2020-01-01")).count } == [7, 30, 365, 2343])
        #expect(HabitWindow.month.datesBefore(today) == day("2026-04-02")...day("2026-05-01"))
        #expect(HabitWindow.allTime.datesBefore(today) == nil)
    }

    @Test(arguments: [
        (9, 1, 90, HabitConsistency.Grade.a), (89, 11, 89, .b), (8, 2, 80, .b), (7, 3, 70, .c), (6, 4, 60, .d), (5, 5, 50, .f),
        (7, 0, 100, .a),
    ])
    func `Grades`(done: Int, missed: Int, score: Int, grade: HabitConsistency.Grade) throws {
        let text = String(repeating: "d", count: done) + String(repeating: "m", count: missed)
        let rows = days(String(text.suffix(90)))
        let found = try #require(HabitConsistency(rows, until: today, since: rows[0].date))
        #expect(found.grade == grade || done + missed > 90)
        #expect(found.score == score || done + missed > 90)
    }

    @Test func `Fewer than seven due dates have no grade, and a week counts as the dates it needs`() throws {
        #expect(HabitConsistency(days("ddddddsx"), until: today, since: day("2026-01-01")) == nil)
        var weeks = days(String(repeating: "x", count: 21))
        for index in [6, 13, 20] { weeks[index].day = .of(.done, .done, dueDates: 3) }
        let found = try #require(HabitConsistency(weeks, until: today, since: weeks[0].date))
        #expect(found.score == 100 && found.tenthsOfDatesPerWeek == 70)
    }

    @Test func `The average streak counts weeks as seven dates and is rounded down`() {
        #expect(averageStreak([(10, .dates), (2, .weeks), (3, .dates)]) == 9)
        #expect(averageStreak([]) == 0)
    }

    @Test func `Milestones of dates and weeks`() {
        #expect(HabitMilestone.list(.habitDates, count: 8, longest: 31).map(\.count) == [7, 30, 50])
        #expect(HabitMilestone.list(.habitDates, count: 8, longest: 31).map(\.isReached) == [true, false, false])
        #expect(HabitMilestone.list(.habitDates, count: 8, longest: 31).map(\.wasReached) == [true, true, false])
        #expect(Milestones.habitDates.next(after: 365) == 400 && Milestones.habitWeeks.next(after: 52) == 104)
    }

    @Test func `The best run is the highest count, weeks as seven dates`() {
        let life = [(3, Schedule.Unit.dates, "2026-01-01"), (1, .weeks, "2026-02-01"), (7, .dates, "2026-03-01")].map {
            count,
            unit,
            from in
            HabitRun(from: day(from), through: day(from), count: count, unit: unit, end: nil)
        }
        #expect(bestRun(life)?.from == day("2026-03-01") && bestRun([]) == nil)
    }

    @Test func `Sections by the reminder's hour`() {
        #expect(
            [0, 11, 12, 17, 18, 23].map { PartOfDay(hour: $0) } == [
                .morning, .morning, .afternoon, .afternoon, .evening, .evening,
            ]
        )
        #expect(HabitOfToday(day: .of(.open, .open)).section == nil)
    }

    @Test func `Today's total is what is due and not excused, and a weekly habit when it is done or cannot wait`() {
        func week(missing: Int, left: Int) -> HabitWeek {
            HabitWeek(dates: today...today, done: 0, excused: 0, needed: missing, left: left, isCut: false)
        }
        let habits = [
            HabitOfToday(day: .of(.done, .done)), HabitOfToday(day: .of(.open, .open)), HabitOfToday(day: .of(.partial, .open)),
            HabitOfToday(day: .of(.skipped, .excused)), HabitOfToday(day: .of(.notDue, nil)), HabitOfToday(day: .of(.extra, nil)),
            HabitOfToday(day: .of(.open, nil), week: week(missing: 2, left: 3)),
            HabitOfToday(day: .of(.open, nil), week: week(missing: 2, left: 2)),
            HabitOfToday(day: .of(.done, nil), week: week(missing: 1, left: 2)),
        ]
        let summary = HabitDaySummary(habits)
        #expect(summary.done == 2 && summary.total == 5 && summary.percent == 40 && !summary.isComplete)
        #expect(habits.count(where: \.isListed) == 8)
    }

    @Test func `Tiers and why nothing is to be done`() {
        func summary(_ done: Int, of total: Int) -> HabitDaySummary {
            HabitDaySummary((0..<total).map { HabitOfToday(day: .of($0 < done ? .done : .open, nil)) })
        }
        let tiers = [(1, 3), (1, 2), (3, 4), (199, 200), (1, 1)].map { summary($0, of: $1).text }
        #expect(tiers == ["Keep going!", "Halfway there!", "Almost done!", "Almost done!", "Perfect!"])
        #expect(summary(0, of: 0).emptyReason == .noHabits && summary(1, of: 1).isComplete)
        let rest = HabitDaySummary([HabitOfToday(day: .of(.notDue, nil))])
        #expect(rest.emptyReason == .noneDue && rest.text == nil && !rest.isComplete)
    }
}

extension HabitDay {
    static func of(_ status: Status, _ outcome: Outcome?, dueDates: Int = 1) -> HabitDay {
        HabitDay(
            status: status,
            value: .zero,
            completions: 0,
            target: nil,
            isOpen: outcome == .open,
            outcome: outcome,
            dueDates: outcome == nil ? 0 : dueDates,
            brokeRun: false
        )
    }
}
