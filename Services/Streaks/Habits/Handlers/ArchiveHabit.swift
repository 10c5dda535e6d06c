internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Puts a habit into the archive (HA-13).
struct ArchiveHabit: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: ArchiveHabitRequest, _ context: CallContext) async throws -> Once<Habit> {
        try await changes.once(context, request) { book in
            let habit = try await book.lock(request.habitID)
            try await book.archive(habit)
            return try await book.shown(habit.id)
        }
    }
}
