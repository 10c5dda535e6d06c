internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Brings a deleted habit back.
struct UndeleteHabit: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: UndeleteHabitRequest, _ context: CallContext) async throws -> Once<Habit> {
        try await changes.once(context, request) { book in
            let habit = try await book.lock(request.habitID, includesDeleted: true)
            try await book.undelete(habit)
            return try await book.shown(habit.id)
        }
    }
}
