import Kernel

/// What the fold of a habit reports besides that of other kinds.
extension FoldPass {
    /// The longest run so far, in the unit of the present one.
    var longest: Int { policy.habits != nil && unit == .weeks ? running.longestWeeks : running.longest }

    func noteLongest() {
        if policy.habits != nil, unit == .weeks {
            running.longestWeeks = max(running.longestWeeks, running.count)
        } else {
            running.longest = max(running.longest, running.count)
        }
    }

    /// The counts that are celebrated.
    var celebrated: Milestones { unit == .weeks ? policy.habits?.weekMilestones ?? policy.milestones : policy.milestones }

    func target(on date: CalendarDate) -> Amount? { ledger.habit == nil ? nil : calendar.version(on: date).target }

    /// HA-10: between dates and weeks the run ends, and nothing broke.
    func endRunOfOtherUnit(_ slot: Slot) {
        guard policy.habits != nil else { return }
        let next = calendar.unit(on: slot.lowerBound)
        guard next != unit else { return }
        noteRun(ended: .scheduleChanged(slot.lowerBound))
        running.count = 0
        running.runStart = nil
        unit = next
    }

    func noteRun(ended end: HabitRun.End?) {
        guard policy.habits != nil, running.count > 0, let first = running.runStart, let last = running.lastCompletedDate else {
            return
        }
        let from = calendar.slot(of: first).lowerBound
        runs.append(HabitRun(from: from, through: last, count: running.count, unit: unit, end: end))
    }

    func noteOutcome(_ verdict: Verdict, _ slot: Slot, _ over: Instant) {
        guard policy.habits != nil else { return }
        outcomes[slot.upperBound] =
            switch verdict {
            case .neutral: .excused
            case .nothingAtStake: isNeutral(slot, over, known: now) ? .excused : .missed
            default: .missed
            }
    }

    /// The end of the last date on which the open slot can still be kept if nothing happens before it; nil when it can no longer. Of a
    /// week with so many dates missing, it is the last but so many of those that are left (MS-4, HA-15).
    func lastChance(_ open: Open) -> Instant? {
        guard open.slot.count > 1 else { return open.deadline }
        let week = self.week(open.slot)
        let left = open.slot.filter { isLeft($0) }
        guard week.missing > 0, week.missing <= left.count else { return nil }
        let date = left[left.count - week.missing]
        return end(of: date...date)
    }

    /// Whether enough was done on a due date.
    func isDone(_ date: CalendarDate) -> Bool { isComplete(date) { $0.recordedAt <= self.now } }

    private func isLeft(_ date: CalendarDate) -> Bool {
        let over = end(of: date...date)
        return over > now && !isDone(date) && !isNeutral(date, over, known: now)
    }

    private func week(_ slot: Slot) -> HabitWeek {
        let needed = calendar.needed(slot)
        var week = HabitWeek(dates: slot, done: 0, excused: 0, needed: needed, left: 0, isCut: calendar.isCut(slot))
        let over = end(of: slot)
        for date in slot where calendar.includes(date) {
            if isDone(date) {
                week.done += 1
            } else if isNeutral(date, over, known: now) {
                week.excused += 1
            } else if end(of: date...date) > now {
                week.left += 1
            }
        }
        return week
    }
}

extension FoldPass {
    func habitState() -> HabitState? {
        guard ledger.habit != nil, policy.habits != nil, let clock = participants.first?.zones else { return nil }
        noteRun(ended: nil)
        let today = clock.date(at: now)
        let startsOn = ledger.firstDate
        let newest = max(clock.newestDate(by: limit), ledger.contributions.keys.max() ?? today)
        var dates: [CalendarDate: HabitDay] = [:]
        var date = max(startsOn, running.settledThrough.advanced(by: 1))
        // The week of today is judged as a whole.
        let last = max(newest, days.keys.max() ?? newest)
        while date <= last {
            if date <= newest || outcomes[date] != nil || days[date] == .complete { dates[date] = day(date) }
            date = date.advanced(by: 1)
        }
        let week = unit == .weeks && calendar.unit(on: today) == .weeks ? self.week(calendar.slot(of: today)) : nil
        return HabitState(
            startsOn: startsOn,
            today: today,
            unit: unit,
            longestDates: running.longest,
            longestWeeks: running.longestWeeks,
            days: dates,
            runs: runs,
            week: week
        )
    }

    /// What became of a date that is not before the start.
    private func day(_ date: CalendarDate) -> HabitDay {
        let completions = ledger.contributions(to: date, known: now)
        let slot = calendar.slot(of: date)
        let isDue = calendar.includes(date)
        let over = end(of: date...date)
        return HabitDay(
            status: status(date, isDue: isDue, completions, slot),
            value: completions.reduce(.zero) { $0 + ($1.amount ?? .zero) },
            completions: completions.count,
            target: target(on: date),
            isOpen: over > now,
            outcome: isDue && date == slot.upperBound ? outcome(slot) : nil,
            dueDates: isDue && date == slot.upperBound ? calendar.needed(slot) : 0,
            brokeRun: days[date] == .missed
        )
    }

    private func outcome(_ slot: Slot) -> HabitDay.Outcome {
        days[slot.upperBound] == .complete ? .done : outcomes[slot.upperBound] ?? .open
    }

    private func status(
        _ date: CalendarDate,
        isDue: Bool,
        _ completions: [StreakLedger.Contribution],
        _ slot: Slot
    ) -> HabitDay.Status {
        guard isDue else { return completions.isEmpty ? .notDue : .extra }
        if isDone(date) { return .done }
        if ledger.habit?.skips.contains(date) ?? false { return .skipped }
        if ledger.habit?.isArchived(date) ?? false { return .archived }
        if isPaused(date, known: now) { return .paused }
        if isNeutral(date, end(of: slot), known: now) { return .excused }
        if !completions.isEmpty { return .partial }
        if end(of: date...date) > now { return .open }
        return slot.count > 1 || calendar.unit(on: date) == .weeks ? .free : .missed
    }
}

extension [StreakLedger.Contribution] {
    /// Whether their values come to the target; one without a value does alone.
    func reaches(_ target: Amount, by counts: (Element) -> Bool) -> Bool {
        var sum = Amount.zero
        for contribution in self where counts(contribution) {
            guard let amount = contribution.amount else { return true }
            sum = sum + amount
        }
        return sum >= target
    }
}
