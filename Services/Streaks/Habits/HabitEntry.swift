internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What a change of one date of a habit came to, for its reply: read again after it was written.
struct HabitEntry {
    let book: HabitBook
    let habit: HabitBook.Locked
    let date: CalendarDate
    /// nil: count and statuses are as they were.
    var outcome: HabitOutcome?
    /// The completion that the change was about.
    var completion: CompletionID?

    func reply() async throws -> HabitEntryReply {
        let sql = book.work.sql
        let queued = try completion.map { try sql.enqueue(CompletionReads.completion($0, of: book.user, habit.record.streak)) }
        let day = try await HabitDayReader.day(date, book, .init(including: habit.id))
        let completion = try await queued?.rows().first.map { try CompletionRecord($0) }
        guard let row = day.rows.first(where: { $0.id == habit.id }) else { throw ServiceError.habitNotFound }
        let shown = day.shown.first { $0.row.id == habit.id }
        let summary = day.summary
        return HabitEntryReply(
            habitID: habit.id,
            date: date,
            status: HabitSquare(shown?.habit.day.status),
            value: shown?.habit.day.value.value ?? 0,
            targetValue: row.target?.value,
            completions: Int32(clamping: shown?.habit.day.completions ?? 0),
            completion: completion.map { HabitCompletion($0) },
            currentStreak: Int32(clamping: row.count),
            streakUnit: HabitUnit(row.counts),
            longestStreak: Int32(clamping: row.longest),
            milestone: outcome?.milestones.last.map { Int32(clamping: $0) },
            dayComplete: summary.isComplete && !wasComplete(day, row),
            progress: HabitsProgress(summary),
            week: shown?.habit.week.map { HabitWeekProgress($0) }
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
        let note = try check.take { try HabitText.text(note, field: "note", most: 100) }
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
