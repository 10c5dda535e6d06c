internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Takes a habit out of the archive (HA-13).
struct UnarchiveHabit: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: UnarchiveHabitRequest, _ context: CallContext) async throws -> Once<Habit> {
        try await changes.once(context, request) { book in
            let habit = try await book.lock(request.habitID)
            try await book.unarchive(habit)
            return try await book.shown(habit.id)
        }
    }
}
