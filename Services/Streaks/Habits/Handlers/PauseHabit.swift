internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Pauses a habit (HA-13).
struct PauseHabit: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: PauseHabitRequest, _ context: CallContext) async throws -> Once<Habit> {
        try await changes.once(context, request) { book in
            let habit = try await book.lock(request.habitID)
            try await book.pause(habit, from: request.from ?? book.date.today, until: request.until)
            return try await book.shown(habit.id)
        }
    }

    /// The rest is for the user's date to say.
    func problems(of request: PauseHabitRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { $0.require(request.from.map { $0 < request.until } ?? true, "until", "must be after from") }
    }
}
