internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Changes the fields of a habit that are sent (HA-10).
struct UpdateHabit: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: UpdateHabitRequest, _ context: CallContext) async throws -> Once<Habit> {
        try await changes.once(context, request) { book in
            let habit = try await book.lock(request.habitID)
            let form = try HabitForm(request, habit.record, today: book.date.today)
            try await book.update(habit, form.details, schedule: form.schedule, target: form.target)
            return try await book.shown(habit.id)
        }
    }

    func problems(of request: UpdateHabitRequest) -> [ServiceError.Detail] { HabitForm.problems(request) }
}
