internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

extension HabitMonth {
    /// - Parameters:
    ///   - days: what is known of its dates.
    ///   - archivedAfter: of a habit in the archive the last date that was judged.
    init(_ month: CalendarMonth, _ days: [CalendarDate: DetailReads.Day], today: CalendarDate, archivedAfter: CalendarDate?) {
        var rate = HabitRate()
        for (date, known) in days where date <= today || known.day.outcome == .done { rate = rate + known.day.rate }
        self.init(
            month: "\(month)",
            days: month.dates.map { date in
                var status: HabitDay.Status?
                if date <= today {
                    status = days[date]?.day.status ?? (archivedAfter.map { date > $0 } ?? false ? .archived : nil)
                }
                return HabitMonthDay(date, date <= today ? days[date] : nil, status)
            },
            rate: SuccessRate(rate)
        )
    }
}

extension HabitMonthDay {
    fileprivate init(_ date: CalendarDate, _ known: DetailReads.Day?, _ status: HabitDay.Status?) {
        self.init(
            date: date,
            status: HabitSquare(status),
            value: known?.day.value.value ?? 0,
            targetValue: known?.day.target?.value,
            completions: Int32(clamping: known?.day.completions ?? 0),
            lastCompletion: known?.completion.map { HabitCompletion($0) }
        )
    }
}

extension HabitBestRun {
    init(_ run: HabitRun) {
        self.init(
            count: Int32(clamping: run.count),
            unit: HabitUnit(run.unit),
            from: run.from,
            to: run.through,
            running: run.end == nil
        )
    }
}

extension HabitMilestones {
    init(_ record: HabitRecord, _ reached: [DetailReads.Milestone]) {
        let celebrated: Milestones = record.unit == .weeks ? .habitWeeks : .habitDates
        let next = celebrated.next(after: record.count) ?? record.count
        self.init(
            reached: reached.map {
                HabitMilestoneDate(count: Int32(clamping: $0.count), unit: HabitUnit($0.unit), date: $0.date)
            },
            next: Int32(clamping: next),
            left: Int32(clamping: next - record.count),
            unit: HabitUnit(record.unit)
        )
    }
}
