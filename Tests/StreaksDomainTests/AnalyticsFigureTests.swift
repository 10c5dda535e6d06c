import Kernel
import StreaksDomain
import Testing

/// What figures are computed from sums (TS-5).
struct AnalyticsFigureTests {
    private let first = CalendarDate(dayNumber: 20_000)

    @Test func `The figures change by the difference of two states, so that a second look adds nothing`() {
        let (old, new) = (StreakGauge(count: 6, longest: 29), StreakGauge(count: 7, longest: 30))
        #expect(
            Set(StreakGauge.changes(from: old, to: new)) == [
                AnalyticsChange(.runningSum), AnalyticsChange(.runningAt7), AnalyticsChange(.longest, 7, -1),
                AnalyticsChange(.longest, 30),
            ]
        )
        #expect(StreakGauge.changes(from: new, to: new).isEmpty)
        #expect(
            Set(StreakGauge.changes(from: new, to: StreakGauge(count: 0, longest: 30))) == [
                AnalyticsChange(.running, 0, -1), AnalyticsChange(.runningSum, 0, -7), AnalyticsChange(.runningAt7, 0, -1),
            ]
        )
        #expect(StreakGauge.changes(from: StreakGauge(count: 0, longest: 0), to: nil) == [AnalyticsChange(.longest, 0, -1)])
    }

    @Test func `Levels carry on over days without changes, from before the range`() {
        let figures = AnalyticsFigures(
            [
                .init(day: first.advanced(by: -9), kind: .checkIn, .running, bucket: 0, value: 5),
                .init(day: first, kind: .checkIn, .running, bucket: 0, value: -2),
                .init(day: first.advanced(by: 2), kind: .checkIn, .running, bucket: 0, value: 1),
                .init(day: first.advanced(by: 2), kind: .checkIn, .broken, bucket: 1, value: 2),
                .init(day: first.advanced(by: 2), kind: .checkIn, .broken, bucket: 2, value: 1),
                .init(day: first.advanced(by: 3), kind: .checkIn, .running, bucket: 0, value: 100),
            ],
            range: first...first.advanced(by: 2)
        )
        #expect(figures.levels(.checkIn, .running) == [3, 3, 4])
        #expect(figures.total(.checkIn, .broken) == 3 && figures.total(.checkIn, .broken, 2) == 1)
        #expect(figures.ever(.checkIn, .running) == 4 && figures.buckets(.checkIn, .broken) == [1, 2])
        #expect(figures.kinds == [.checkIn])
    }

    @Test func `Friends' streaks are a kind with figures; what is of no kind is in none of them`() {
        let figures = AnalyticsFigures(
            [
                .init(day: first, kind: .mutual, .active, bucket: 0, value: 2),
                .init(day: first, kind: .mutual, .cardShared, bucket: 0, value: 1),
                .init(day: first, kind: nil, .activeUser, bucket: 0, value: 3),
            ],
            range: first...first
        )
        #expect(figures.kinds == [.mutual] && figures.value(first, .mutual, .active) == 2)
        #expect(figures.value(first, nil, .activeUser) == 3 && figures.value(first, .mutual, .activeUser) == 0)
        #expect(figures.value(first, .mutual, .cardShared) == 1 && figures.value(first, .checkIn, .cardShared) == 0)
    }

    @Test func `Shares and means are rounded half up; of nothing there is none`() {
        #expect(AnalyticsFigures.percent(1, of: 3) == 33.3 && AnalyticsFigures.percent(1, of: 0) == nil)
        #expect(AnalyticsFigures.mean(7, of: 3) == 2.33 && AnalyticsFigures.mean(0, of: 0) == nil)
    }

    @Test func `A cohort is shown only when all of its week are old enough`() {
        let cohort = AnalyticsCohort(week: first, kind: .checkIn, started: 4, after: [7: 3, 30: 2, 90: 0])
        #expect(cohort.running(after: 7, today: first.advanced(by: 13)) == nil)
        #expect(cohort.running(after: 7, today: first.advanced(by: 14)) == 3)
        #expect(cohort.running(after: 90, today: first.advanced(by: 97)) == 0)
    }
}
