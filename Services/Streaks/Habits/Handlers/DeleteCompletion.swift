internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Deletes a completion of any age (HA-11).
struct DeleteCompletion: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: DeleteCompletionRequest, _ context: CallContext) async throws -> Once<HabitEntryReply> {
        try await changes.once(context, request, of: request.habitID) { book, found in
            let habit = try found.get()
            let record = try await CompletionReads.find(request.completionID, of: book.user, habit.record.streak, book.work.sql)
            let edits = HabitBook.Edits([.delete(record.id, on: record.date)])
            let outcome = try await book.edit(habit, edits).checked()
            return try await HabitEntry(book: book, habit: habit, date: record.date, outcome: outcome).reply()
        }
    }
}
