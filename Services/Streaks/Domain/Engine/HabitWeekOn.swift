public import Kernel

extension HabitWeek {
    /// The week of a weekly habit as it stood on a date of the past, for the Today screen of that date (HA-15): what was done by then, and the
    /// dates that were left.
    ///
    /// - Parameters:
    ///   - date: the date whose screen it is.
    ///   - versions: of the habit, in order.
    ///   - start: its first date (HA-11).
    ///   - statuses: what became of the dates of the week, those that are over or today.
    ///   - isPaused: of a date that is still to come.
    /// - Returns: nil when dates are counted on that date.
    public static func on(
        _ date: CalendarDate,
        _ versions: [HabitEntries.Version],
        since start: CalendarDate,
        _ statuses: [CalendarDate: HabitDay.Status],
        isPaused: (CalendarDate) -> Bool
    ) -> HabitWeek? {
        guard !versions.isEmpty else { return nil }
        let calendar = SlotCalendar(versions: versions, firstDate: start)
        guard calendar.unit(on: date) == .weeks else { return nil }
        let slot = calendar.slot(of: date)
        var week = HabitWeek(
            dates: slot,
            done: 0,
            excused: 0,
            needed: calendar.needed(slot),
            left: 0,
            isCut: calendar.isCut(slot)
        )
        for day in slot where calendar.includes(day) {
            switch statuses[day] {
            case .done where day <= date: week.done += 1
            case .skipped, .paused, .archived, .excused: week.excused += 1
            case nil where isPaused(day): week.excused += 1
            default: if day >= date { week.left += 1 }
            }
        }
        return week
    }
}
