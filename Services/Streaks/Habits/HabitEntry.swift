internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What a change of one date of a habit came to, for its reply: made of what the change read and wrote where that suffices, else read again.
struct HabitEntry {
    let book: HabitBook
    let habit: HabitBook.Locked
    /// How the habits stood before the change.
    var standings = HabitStandings()
    let date: CalendarDate
    /// nil: count and statuses are as they were.
    var outcome: HabitOutcome?
    /// The completion that the change was about.
    var completion: CompletionID?
    /// What it has, if it is new.
    var details = CompletionDetails()

    func reply() async throws -> HabitEntryReply {
        if let standing {
            if let added { return reply(standing, added) }
            return reply(standing, try await queued()?.rows().first.map { HabitCompletion(try CompletionRecord($0)) })
        }
        let queued = try queued()
        let day = try await HabitDayReader.day(date, book, .init(including: habit.id))
        let completion = try await queued?.rows().first.map { HabitCompletion(try CompletionRecord($0)) }
        return reply(try read(day), completion)
    }

    /// What the change left.
    private struct Standing {
        /// nil when the date does not know the habit.
        let shown: HabitOfToday?
        let target: Amount?
        let count: Int
        let unit: Schedule.Unit
        let longest: Int
        /// The day of all habits.
        let summary: HabitDaySummary
        /// Whether the date was complete before.
        let wasComplete: Bool
    }

    private func reply(_ standing: Standing, _ completion: HabitCompletion?) -> HabitEntryReply {
        let day = standing.shown?.day
        return HabitEntryReply(
            habitID: habit.id,
            date: date,
            status: HabitSquare(day?.status),
            value: day?.value.value ?? 0,
            targetValue: standing.target?.value,
            completions: Int32(clamping: day?.completions ?? 0),
            completion: completion,
            currentStreak: Int32(clamping: standing.count),
            streakUnit: HabitUnit(standing.unit),
            longestStreak: Int32(clamping: standing.longest),
            milestone: outcome?.milestones.last.map { Int32(clamping: $0) },
            dayComplete: standing.summary.isComplete && !standing.wasComplete,
            progress: HabitsProgress(standing.summary),
            week: standing.shown?.week.map { HabitWeekProgress($0) }
        )
    }

    private func queued() throws -> QueuedStatement? {
        try completion.map { try book.work.sql.enqueue(CompletionReads.completion($0, of: book.user, habit.record.streak)) }
    }

    // MARK: without reading

    /// nil when something has to be read: an earlier date, or habits that the date has not been brought to.
    private var standing: Standing? {
        guard let change = outcome?.change.change, let state = change.state.habit, let before = change.before.habit,
            date == book.date.today, state.today == date, before.today == date, !habit.record.isArchived,
            standings.habits.allSatisfy({ $0.asOf == date }), standings.habits.contains(where: { $0.id == habit.id })
        else { return nil }
        let hour = habit.record.details.reminder.map { $0.minute / 60 }
        func own(_ state: HabitState) -> HabitOfToday? {
            state.days[date].map { HabitOfToday(day: $0, week: state.week, reminderHour: hour) }
        }
        let others = standings.habits.filter { $0.id != habit.id }.compactMap(\.shown)
        func summary(with own: HabitOfToday?) -> HabitDaySummary { HabitDaySummary(others + [own].compactMap(\.self)) }
        let shown = own(state)
        return Standing(
            shown: shown,
            target: habit.record.version(on: date).target,
            count: change.state.count,
            unit: state.unit,
            longest: state.unit == .weeks ? state.longestWeeks : state.longestDates,
            summary: summary(with: shown),
            wasComplete: summary(with: own(before)).isComplete
        )
    }

    /// The completion as it was written; nil when it was merged into one that was there.
    private var added: HabitCompletion? {
        guard let completion, let written = outcome?.added(completion) else { return nil }
        return HabitCompletion(
            id: completion,
            date: written.date,
            value: written.amount?.value,
            note: details.note,
            mood: details.mood?.name,
            doneAt: details.doneAt,
            updatedAt: book.work.now,
            photoID: standings.photo
        )
    }

    // MARK: read again

    private func read(_ day: HabitScreenDay) throws -> Standing {
        guard let row = day.rows.first(where: { $0.id == habit.id }) else { throw ServiceError.habitNotFound }
        return Standing(
            shown: day.shown.first { $0.row.id == habit.id }?.habit,
            target: row.target,
            count: row.count,
            unit: row.counts,
            longest: row.longest,
            summary: day.summary,
            wasComplete: wasComplete(day, row)
        )
    }

    /// Whether the date was complete before the change: the others are as they are now.
    private func wasComplete(_ day: HabitScreenDay, _ row: DayRepository.HabitRow) -> Bool {
        guard let before = outcome?.change.change.before.habit else { return day.summary.isComplete }
        var all = day.shown.filter { !$0.row.isArchived && $0.row.id != habit.id }.map(\.habit)
        if let was = before.days[date], !row.isArchived {
            let week = date == day.clock.today ? before.week : day.week(of: row, with: before.days)
            all.append(HabitOfToday(day: was, week: week, reminderHour: row.reminderHour))
        }
        return HabitDaySummary(all).isComplete
    }
}

extension HabitBook.Locked {
    /// - Throws: `HABIT_ARCHIVED` for a date since it went into the archive: from then on nothing is done of it (HA-13).
    func checkActive(on date: CalendarDate) throws {
        guard record.isArchived, let last = stored.ledger.habit?.archivings.last, last.until == nil, date >= last.from else {
            return
        }
        throw ServiceError.habitArchived
    }
}

extension HabitOutcome {
    /// - Throws: why the only edit was refused.
    func checked() throws -> HabitOutcome {
        if let refusal = refused[0] { throw refusal }
        return self
    }
}

/// What is said of a completion, checked (HA-2).
struct CompletionForm {
    /// - Parameters:
    ///   - doneAt: when it was done; must lie on `date` by the user's clock.
    /// - Throws: `VALIDATION_ERROR` naming the field.
    static func details(
        note: String,
        mood: String?,
        doneAt: Instant?,
        on date: CalendarDate,
        _ clock: HabitDate
    ) throws -> CompletionDetails {
        var check = FieldCheck()
        let note = try check.take { try Self.note(note) }
        let doneAt = try check.take { try Self.time(doneAt, on: date, clock) }
        try check.finish()
        guard let note, let doneAt else { throw ServiceError.internal }
        return CompletionDetails(
            note: note,
            mood: mood.flatMap(HabitMood.init(name:)),
            doneAt: doneAt,
            minute: doneAt.map(clock.minute)
        )
    }

    /// A note as it is stored.
    ///
    /// - Throws: `VALIDATION_ERROR` naming `note`.
    static func note(_ text: String) throws(ServiceError) -> String { try HabitText.text(text, field: "note", most: 100) }

    private static func time(_ doneAt: Instant?, on date: CalendarDate, _ clock: HabitDate) throws -> Instant? {
        guard let doneAt else { return nil }
        // A phone's clock may run ahead a little.
        guard doneAt <= clock.now + .minutes(5) else {
            throw ServiceError.validation(field: "done_at", "must not be in the future")
        }
        guard clock.zones.date(at: doneAt) == date || clock.zones.date(at: min(doneAt, clock.now)) == date else {
            throw ServiceError.validation(field: "done_at", "must lie on the date of the completion")
        }
        return min(doneAt, clock.now)
    }
}
