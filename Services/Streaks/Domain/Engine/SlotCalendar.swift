import Kernel

/// Which dates are due and which are judged together: by the policy's schedule, for habits by the version of each date.
struct SlotCalendar {
    typealias Slot = ClosedRange<CalendarDate>
    typealias Version = HabitEntries.Version

    private let versions: [Version]
    /// Weeks of habits begin with it at the earliest.
    private let firstDate: CalendarDate?

    init(_ ledger: StreakLedger, _ policy: StreakPolicy) {
        // The only version holds on every date.
        versions = ledger.habit?.versions ?? [Version(from: CalendarDate(dayNumber: 0), schedule: policy.schedule)]
        firstDate = ledger.habit == nil ? nil : ledger.firstDate
    }

    /// Of a habit.
    init(versions: [Version], firstDate: CalendarDate) { (self.versions, self.firstDate) = (versions, firstDate) }

    private func index(_ date: CalendarDate) -> Int {
        versions.count == 1 ? 0 : versions.lastIndex { $0.from <= date } ?? 0
    }

    /// What holds on a date.
    func version(on date: CalendarDate) -> Version { versions[index(date)] }

    func unit(on date: CalendarDate) -> Schedule.Unit { version(on: date).schedule.unit }

    /// Whether something is due on `date`; of weeks every date can count.
    func includes(_ date: CalendarDate) -> Bool {
        version(on: date).schedule.includes(date) && firstDate.map { $0 <= date } ?? true
    }

    /// The dates that are judged together with `date`. The start, and a change between dates and weeks or of the first day of the week, cut
    /// a week in two; another number of times does not (HA-10).
    func slot(of date: CalendarDate) -> Slot {
        let index = index(date)
        let version = versions[index]
        let slot = version.schedule.slot(of: date, weekStart: version.weekStart)
        guard slot.count > 1 else { return slot }
        func isOther(_ other: Version) -> Bool { other.schedule.unit != .weeks || other.weekStart != version.weekStart }
        let before = versions[..<index].lastIndex(where: isOther)
        let after = versions[(index + 1)...].first(where: isOther)
        var first = max(slot.lowerBound, firstDate ?? slot.lowerBound)
        if let before { first = max(first, versions[before + 1].from) }
        // What a start that moved back does not reach stays as it is.
        return min(first, date)...min(slot.upperBound, after?.from.advanced(by: -1) ?? slot.upperBound)
    }

    /// Whether a week is not whole or had another number of times in the middle: then it counts when done and is neutral when not.
    func isCut(_ slot: Slot) -> Bool {
        let schedule = version(on: slot.lowerBound).schedule
        guard schedule.unit == .weeks else { return false }
        if slot.count < 7 { return true }
        return versions.contains { slot.lowerBound < $0.from && $0.from <= slot.upperBound && $0.schedule != schedule }
    }

    /// How many dates of a slot must be done, by the version it ends with.
    func needed(_ slot: Slot) -> Int { version(on: slot.upperBound).schedule.needed }

    /// Whether the dates that are done make the slot complete. A week whose number of times changed is complete with either number, as long
    /// as it was reached while that number held: what has been counted stays.
    func isReached(_ slot: Slot, _ isDone: (CalendarDate) -> Bool) -> Bool {
        var done = 0
        for date in slot {
            if isDone(date) { done += 1 }
            if done > 0, done >= version(on: date).schedule.needed { return true }
        }
        return false
    }
}
