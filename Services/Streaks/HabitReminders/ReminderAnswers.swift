internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What is tapped on reminders of one user's habits (HA-5).
///
/// Each tap says which reminder it answers, and counts once for it: a phone repeats it without knowing whether it arrived, and another phone
/// shows the same reminder. It is confirmed by the reply, and by a notification because the app may not be open (`HabitReminderAnswered`).
struct ReminderAnswers {
    let book: HabitBook
    let policy: StreakPolicy

    private var work: UnitOfWork { book.work }

    /// - Throws: `HABIT_NOT_FOUND`, `NO_REMINDER`, `SNOOZE_LIMIT_REACHED`, or why the date takes no completion or skip.
    func answer(_ request: AnswerReminderRequest) async throws -> AnswerReminderReply {
        let date = request.date
        guard [.complete, .skip, .snooze].contains(request.action) else {
            throw ServiceError.validation(field: "action", "must be complete, skip or snooze")
        }
        guard date <= book.date.today else {
            throw ServiceError(.invalidArgument, "DATE_IN_FUTURE", "This date has not begun.")
        }
        let habit = try await book.lock(request.habitID)
        try await HabitScheduleRepository.lock(book.user, work.sql)
        var state = HabitReminderRepository.Progress(try await HabitReminderRepository.lock(habit.record.streak, work.sql))
        let isNew = try await note(request, habit)
        let before = state
        var outcome = Outcome(state: fold(habit.stored.ledger, policy, at: max(work.now, habit.stored.row.settledAt)))
        switch request.action {
        case .snooze: try snooze(request, habit, &state, &outcome)
        default:
            if isNew { try await settle(request, habit, &state, &outcome) }
            outcome.message = message(request, habit.record)
        }
        if isNew, let answer = outcome.answer {
            if state != before { try await HabitReminderRepository.store([(habit.record.streak, state)], work.sql) }
            if (state.snoozeDate, state.snoozes) != (before.snoozeDate, before.snoozes) {
                try HabitRepository.setSnoozes(state.snoozes, on: state.snoozeDate, of: habit.record.streak, work.sql)
            }
            try await emit(answer, request, habit.record, isConfirmed: outcome.isConfirmed)
        }
        return AnswerReminderReply(
            habitID: habit.id,
            date: date,
            message: outcome.message,
            remindAt: outcome.remindAt,
            snoozesLeft: Int32(clamping: HabitReminder.mostSnoozes - state.snoozeCount(on: date)),
            currentCount: Int32(clamping: outcome.state.count),
            unit: outcome.state.habit?.unit == .weeks ? .weeks : .days
        )
    }

    private struct Outcome {
        var state: StreakState
        /// What is emitted; nil: nothing has changed.
        var answer: ReminderAnswer?
        var isConfirmed = true
        var message = ""
        var remindAt: Instant?
    }

    /// Whether this tap was not known. One that does not say which reminder it answers always counts: its request has a key of its own.
    private func note(_ request: AnswerReminderRequest, _ habit: HabitBook.Locked) async throws -> Bool {
        guard let number = request.reminderNumber else { return true }
        let answer = ReminderAnswerRepository.Answer(
            streak: habit.record.streak,
            user: book.user,
            date: request.date,
            number: number,
            action: request.action.rawValue
        )
        return try await ReminderAnswerRepository.insert(answer, at: work.now, work.sql)
    }

    // MARK: - Complete and skip

    private func settle(
        _ request: AnswerReminderRequest,
        _ habit: HabitBook.Locked,
        _ state: inout HabitReminderRepository.Progress,
        _ outcome: inout Outcome
    ) async throws {
        let (date, isComplete) = (request.date, request.action == .complete)
        if state.awaitingDate == date { state.awaitingDate = nil }
        if state.snoozeDate == date { state.snoozeAt = nil }
        // What is done stays as it is: a second completion would replace its value, and a skip would change nothing (HA-8).
        let status = outcome.state.habit?.days[date]?.status
        outcome.answer = isComplete ? .completed : .skipped
        guard status != .done, status != .extra else { return }
        // Written before the follower looks: the reminder is answered by this, and emitted once.
        try await HabitReminderRepository.store([(habit.record.streak, state)], work.sql)
        let id: CompletionID = work.ids.make()
        var edits = HabitBook.Edits([isComplete ? .complete(id, on: date, nil) : .skip(date)])
        if isComplete, date == book.date.today {
            edits.details[id] = CompletionDetails(doneAt: work.now, minute: book.date.minute(at: work.now))
        }
        let edited = try await book.edit(habit, edits)
        if let refusal = edited.refused[0] { throw refusal }
        outcome.state = edited.state
    }

    private func message(_ request: AnswerReminderRequest, _ habit: HabitRecord) -> String {
        guard request.action == .skip else { return "Great job! \(habit.details.name) completed ✓" }
        return request.date == book.date.today ? "\(habit.details.name) skipped for today" : "\(habit.details.name) skipped"
    }

    // MARK: - Snooze

    private func snooze(
        _ request: AnswerReminderRequest,
        _ habit: HabitBook.Locked,
        _ state: inout HabitReminderRepository.Progress,
        _ outcome: inout Outcome
    ) throws {
        guard let time = habit.record.details.reminder else {
            throw ServiceError(.failedPrecondition, "NO_REMINDER", "This habit has no reminder.")
        }
        outcome.message = "No more reminders for this date"
        // Done, skipped or paused meanwhile, or over: there is nothing to remind of.
        guard outcome.state.habit?.isOpen(on: request.date) ?? false else { return }
        var reminder = state.reminder(time)
        let count = state.snoozeCount(on: request.date)
        let isKnown = request.reminderNumber.map { $0 < count } ?? false
        outcome.remindAt = try reminder.snooze(
            request.reminderNumber.map(Int.init),
            on: request.date,
            book.date.zones,
            at: work.now
        )
        if isKnown || outcome.remindAt != nil { outcome.message = "Reminder snoozed for 1 hour" }
        guard !isKnown else { return }
        state.snoozes(reminder.snoozes)
        if state.awaitingDate == request.date { state.awaitingDate = nil }
        outcome.answer = .snoozed
        // Nothing comes any more: the reply says so.
        outcome.isConfirmed = outcome.remindAt != nil
    }

    private func emit(
        _ answer: ReminderAnswer,
        _ request: AnswerReminderRequest,
        _ habit: HabitRecord,
        isConfirmed: Bool
    ) async throws {
        try await HabitScheduleRepository.reschedule(book.user, at: work.now, work.sql)
        try await work.emit(
            HabitReminderAnswered(
                userID: book.user,
                habitID: habit.id,
                date: request.date,
                answer: answer,
                byAction: isConfirmed && request.reminderNumber != nil,
                habitName: habit.details.name,
                at: work.now
            )
        )
    }
}
