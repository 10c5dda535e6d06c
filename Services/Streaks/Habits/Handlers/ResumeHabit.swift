internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Ends a habit's pause.
struct ResumeHabit: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: ResumeHabitRequest, _ context: CallContext) async throws -> Once<Habit> {
        try await changes.once(context, request) { book in
            let habit = try await book.lock(request.habitID)
            try await book.resume(habit)
            return try await book.shown(habit.id)
        }
    }
}
