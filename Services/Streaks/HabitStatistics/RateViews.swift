internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Figures as replies have them.
extension SuccessRate {
    init(_ rate: HabitRate) {
        self.init(done: Int32(clamping: rate.done), due: Int32(clamping: rate.counted), percent: rate.percent.map(Int32.init))
    }
}

extension RatePoint {
    init(_ point: HabitPoint) {
        self.init(
            from: point.dates.lowerBound,
            to: point.dates.upperBound,
            rate: SuccessRate(point.rate),
            daysDone: Int32(clamping: point.datesDone)
        )
    }
}

extension RateChart {
    init(_ figures: HabitFigures) {
        let isAll = figures.window == .allTime
        self.init(
            from: figures.points.first?.dates.lowerBound ?? figures.today,
            to: figures.today,
            rate: SuccessRate(figures.total.rate),
            trend: figures.trend.map(Int32.init),
            rateBefore: isAll ? nil : SuccessRate(figures.total.before),
            bucket: figures.window.bucket == .date ? "day" : figures.window.bucket.rawValue,
            points: figures.points.map { RatePoint($0) }
        )
    }
}

extension WeekdayFigure {
    static func all(_ figures: HabitFigures) -> [Self] {
        figures.weekdays.enumerated().map { weekday, figure in Self(weekday: Int32(weekday), rate: SuccessRate(figure.rate)) }
    }
}

extension DayPartFigures {
    init(_ times: HabitTimes) {
        let figures = zip(PartOfDay.allCases, times.percents).map { part, percent in
            DayPartFigure(completions: Int32(clamping: times[part]), percent: Int32(percent))
        }
        self.init(
            morning: figures[0],
            afternoon: figures[1],
            evening: figures[2],
            best: times.best?.rawValue,
            usual: times.usual?.rawValue
        )
    }
}

extension HabitRunUnit {
    init(_ unit: Schedule.Unit) { self = unit == .weeks ? .weeks : .days }
}

extension HabitSquare {
    /// - Parameter mark: nil for a date without one.
    init(_ mark: HabitMark?) { self.init(mark?.status) }
}

extension HabitScore {
    init(_ consistency: HabitConsistency) {
        self.init(
            score: Int32(consistency.score),
            grade: consistency.grade.rawValue,
            daysPerWeek: Double(consistency.tenthsOfDatesPerWeek) / 10,
            text: consistency.text
        )
    }
}

extension HabitStreakRun {
    /// - Parameter longest: the longest run of its unit.
    init(_ run: HabitRun, longest: Int) {
        let (ended, date): (HabitRunEnd, CalendarDate?) =
            switch run.end {
            case nil: (.running, nil)
            case .missed(let date): (.missed, date)
            case .scheduleChanged(let date): (.scheduleChanged, date)
            }
        self.init(
            from: run.from,
            to: run.through,
            count: Int32(clamping: run.count),
            unit: HabitRunUnit(run.unit),
            ended: ended,
            endedOn: date,
            percentOfLongest: Int32(longest > 0 ? min(100, run.count * 100 / longest) : 0)
        )
    }
}
