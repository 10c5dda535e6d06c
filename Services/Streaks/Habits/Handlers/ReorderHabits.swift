internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Sets the order of the list.
struct ReorderHabits: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: ReorderHabitsRequest, _ context: CallContext) async throws -> Once<ReorderHabitsReply> {
        let wanted = try Self.wanted(request)
        return try await changes.once(context, request) { book in
            let known = try await HabitReads.order(of: book.user, book.work.sql)
            guard wanted.isSubset(of: known) else { throw ServiceError.habitNotFound }
            try await book.reorder(request.habitIDs)
            return ReorderHabitsReply(habitIDs: try await HabitReads.order(of: book.user, book.work.sql))
        }
    }

    func problems(of request: ReorderHabitsRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.wanted(request) }
    }

    /// - Throws: `VALIDATION_ERROR` when one is named twice.
    private static func wanted(_ request: ReorderHabitsRequest) throws(ServiceError) -> Set<HabitID> {
        let wanted = Set(request.habitIDs)
        guard wanted.count == request.habitIDs.count else { throw .validation(field: "habit_ids", "must name each habit once") }
        return wanted
    }
}
