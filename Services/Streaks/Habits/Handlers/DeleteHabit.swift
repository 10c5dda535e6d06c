internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Deletes a habit; it can come back for 30 days.
struct DeleteHabit: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: DeleteHabitRequest, _ context: CallContext) async throws -> Once<DeleteHabitReply> {
        try await changes.once(context, request) { book in
            let habit = try await book.lock(request.habitID)
            try await book.delete(habit)
            return DeleteHabitReply(
                habitID: habit.id,
                deletedAt: book.work.now,
                restorableUntil: book.work.now + HabitPurge.restorable
            )
        }
    }
}
