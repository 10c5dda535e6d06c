internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

extension HabitsProgress {
    init(_ summary: HabitDaySummary) {
        self.init(
            done: Int32(clamping: summary.done),
            total: Int32(clamping: summary.total),
            percent: Int32(clamping: summary.percent),
            text: summary.text,
            dayComplete: summary.isComplete,
            emptyReason: summary.emptyReason?.rawValue
        )
    }
}

extension HabitWeekProgress {
    init(_ week: HabitWeek) {
        self.init(
            from: week.dates.lowerBound,
            to: week.dates.upperBound,
            done: Int32(clamping: week.done),
            needed: Int32(clamping: week.needed),
            excused: Int32(clamping: week.excused),
            left: Int32(clamping: week.left)
        )
    }
}

extension TodayHabit {
    /// - Parameters:
    ///   - row: on a date.
    ///   - habit: nil when the date does not know it: it had not begun, or is in the archive.
    init(_ row: DayRepository.HabitRow, _ habit: HabitOfToday?, on date: CalendarDate, _ clock: HabitDate) {
        let isOpen = habit.map { $0.day.status == .open || ($0.day.status == .partial && $0.day.isOpen) } ?? false
        let isLate = row.reminderMinute.map { $0 <= clock.minute(at: clock.now) } ?? false
        self.init(
            habitID: row.id,
            name: row.name,
            color: row.color,
            icon: row.icon,
            categoryID: row.category,
            scheduleText: row.schedule.text,
            status: HabitSquare(habit?.day.status ?? (row.isArchived ? .archived : nil)),
            counts: habit?.counts ?? false,
            value: habit?.day.value.value ?? 0,
            targetValue: row.target?.value,
            unit: row.unit,
            quickValues: row.target?.quickValues.map(\.value) ?? [],
            reminderTime: row.reminderMinute.map(HabitReminderTime.text),
            pastDue: date == clock.today && isOpen && isLate,
            currentStreak: Int32(clamping: row.count),
            streakUnit: HabitUnit(row.counts),
            completions: Int32(clamping: habit?.day.completions ?? 0),
            lastCompletion: row.completion.map { HabitCompletion($0) },
            week: habit?.week.map { HabitWeekProgress($0) },
            snoozesLeft: row.reminderMinute.map { _ in
                Int32(clamping: HabitReminder.mostSnoozes - (row.snoozeDate == date ? row.snoozes : 0))
            }
        )
    }
}

extension WidgetHabit {
    init(_ shown: HabitScreenDay.Shown) {
        self.init(
            habitID: shown.row.id,
            name: shown.row.name,
            color: shown.row.color,
            icon: shown.row.icon,
            status: HabitSquare(shown.habit.day.status),
            value: shown.habit.day.value.value,
            targetValue: shown.row.target?.value,
            unit: shown.row.unit
        )
    }
}

extension HabitScreenDay {
    /// The sections of the Today screen, always all four.
    var sections: [TodaySection] {
        let listed = shown.filter(\.habit.isListed)
        let parts: [PartOfDay?] = PartOfDay.allCases + [nil]
        return parts.map { part in
            TodaySection(
                name: part?.rawValue ?? "anytime",
                habits: listed.filter { $0.habit.section == part }.map { TodayHabit($0.row, $0.habit, on: date, clock) }
            )
        }
    }

    /// What is listed, in the order of the screen.
    var inOrder: [Shown] {
        let listed = shown.filter(\.habit.isListed)
        let parts: [PartOfDay?] = PartOfDay.allCases + [nil]
        return parts.flatMap { part in listed.filter { $0.habit.section == part } }
    }
}
