internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Skips a due date (HA-9).
struct SkipHabit: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: SkipHabitRequest, _ context: CallContext) async throws -> Once<HabitEntryReply> {
        try await changes.once(context, request, of: request.habitID) { book, found in
            let date = request.date ?? book.date.today
            let habit = try found.get()
            try habit.checkActive(on: date)
            let outcome = try await book.edit(habit, HabitBook.Edits([.skip(date)])).checked()
            return try await HabitEntry(book: book, habit: habit, date: date, outcome: outcome).reply()
        }
    }
}
