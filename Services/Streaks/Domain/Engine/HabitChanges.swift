import Kernel

/// Versions, pauses and the archive of habits, and which milestones are reported.
extension StreakLedger {
    /// HA-10.
    mutating func changeHabit(
        _ schedule: Schedule,
        target: Amount?,
        weekStart: Int,
        _ policy: StreakPolicy,
        _ state: StreakState
    ) throws(ServiceError) {
        var from = try today(policy, state)
        try schedule.validate(field: "schedule")
        guard (0...6).contains(weekStart) else { throw .validation(field: "first_day_of_week", "must be between 0 and 6") }
        if let target {
            guard target > .zero, target <= .largest else {
                throw .validation(field: "target_value", "Please enter a valid number")
            }
        }
        while state.habit?.days[from]?.status == .done { from = from.advanced(by: 1) }
        guard var versions = habit?.versions, let first = versions.first else { throw .noHabit }
        // What was to hold later is replaced: the newest wish holds.
        versions.removeAll { $0.from >= from }
        // Today is the first date ever: the habit was never anything else, unless a completion has moved the start back.
        let before = versions.last ?? (firstDate < from ? first : nil)
        let next = HabitEntries.Version(
            from: from,
            schedule: schedule.starting(from, after: before?.schedule),
            target: target,
            weekStart: weekStart
        )
        if versions.isEmpty, let before {
            versions.append(before)
            versions[0].from = firstDate
        }
        if versions.last.map({ !$0.isSame(as: next) }) ?? true { versions.append(next) }
        habit?.versions = versions
    }

    /// HA-13: unlike the pause of a check-in streak it may begin later, and none needs a completion before it.
    mutating func pauseHabit(from: CalendarDate, until: CalendarDate, _ policy: StreakPolicy, _ state: StreakState)
        throws(ServiceError)
    {
        let today = try today(policy, state)
        guard from >= today else { throw .validation(field: "from", "must be today or later") }
        guard from < until else { throw .validation(field: "until", "must be after from") }
        let longest = policy.longestPause ?? 0
        guard from.distance(to: until) <= longest else {
            throw ServiceError(.invalidArgument, "PAUSE_TOO_LONG", "A pause is at most \(longest) days long.")
        }
        guard !pauses.contains(where: { $0.from < $0.until && $0.from < until && from < $0.until }) else {
            throw ServiceError(.failedPrecondition, "ALREADY_PAUSED", "This habit is already paused.")
        }
        guard pauses.count < HabitLimits.mostSpans else { throw .tooManySpans("pauses of this habit") }
        // Pauses are known by their instants: one request of a device may bring several.
        var instant = state.asOf
        while pauses.contains(where: { $0.at == instant }) { instant = instant - Interval(microseconds: 1) }
        pauses.append(Pause(at: instant, from: from, until: until))
    }

    mutating func resumeHabit(_ policy: StreakPolicy, _ state: StreakState) throws(ServiceError) {
        let today = try today(policy, state)
        let ahead = pauses.indices.filter { pauses[$0].from < pauses[$0].until && today < pauses[$0].until }
        guard let index = ahead.min(by: { pauses[$0].from < pauses[$1].from }) else {
            throw ServiceError(.failedPrecondition, "NOT_PAUSED", "This habit is not paused.")
        }
        // One that has not begun stays as an empty one.
        pauses[index].until = max(today, pauses[index].from)
    }

    /// HA-13.
    mutating func archive(_ policy: StreakPolicy, _ state: StreakState) throws(ServiceError) {
        let today = try today(policy, state)
        guard habit?.isArchived == false else { return }
        habit?.archivings.append(HabitEntries.Archiving(from: today))
    }

    mutating func unarchive(_ policy: StreakPolicy, _ state: StreakState) throws(ServiceError) {
        let today = try today(policy, state)
        guard habit?.isArchived == true, let last = habit?.archivings.indices.last else { return }
        // Here, not on the way into the archive: a habit can always be deleted.
        guard (habit?.archivings.count ?? 0) < HabitLimits.mostSpans else {
            throw .tooManySpans("times in the archive of this habit")
        }
        habit?.archivings[last].until = today
    }

    /// The first date that is not settled.
    private func today(_ policy: StreakPolicy, _ state: StreakState) throws(ServiceError) -> CalendarDate {
        guard policy.habits != nil, habit != nil, let today = nextUnsettled(at: state.asOf) else { throw .noHabit }
        guard endedAt == nil else { throw .notActive }
        return today
    }

    /// The milestones of habits: each once until the run breaks, and none of a date before yesterday (HA-11). Runs that an edit joins begin
    /// earlier, so a run's first date cannot say what was reported: what was reported of a date inside the run can.
    mutating func reporting(_ effects: [StreakEffect], _ state: StreakState) -> [StreakEffect] {
        guard habit != nil, let unit = state.habit?.unit, let clock = participants.first?.zones else { return effects }
        var reported = effects.filter { if case .milestone = $0 { false } else { true } }
        let yesterday = clock.newestDate(by: state.asOf).advanced(by: -1)
        for effect in state.log {
            guard case .milestone(let count, let date, let run, _) = effect, run == state.runStart, date >= yesterday,
                habit?.reported.contains(where: { $0.count == count && $0.unit == unit && $0.date >= run }) == false
            else { continue }
            habit?.reported.append(HabitEntries.Reported(count: count, unit: unit, date: date))
            reported.append(effect)
        }
        return reported
    }
}

extension Schedule {
    /// The same schedule as it begins: every n-th date counts from there, unless it was the same number before.
    fileprivate func starting(_ date: CalendarDate, after before: Schedule?) -> Schedule {
        guard case .everyNthDate(let step, _) = self else { return self }
        if case .everyNthDate(step, let from)? = before { return .everyNthDate(step, from: from) }
        return .everyNthDate(step, from: date)
    }
}

extension ServiceError {
    fileprivate static func tooManySpans(_ what: String) -> ServiceError {
        quotaExceeded(what, most: HabitLimits.mostSpans, remedy: "Delete the habit and begin a new one.")
    }
}

extension HabitEntries.Version {
    fileprivate func isSame(as other: Self) -> Bool {
        schedule == other.schedule && target == other.target && weekStart == other.weekStart
    }
}
