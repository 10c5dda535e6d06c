internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Skips a due date (HA-9).
struct SkipHabit: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: SkipHabitRequest, _ context: CallContext) async throws -> Once<HabitEntryReply> {
        try await changes.entry(context, request, of: request.habitID) { book, found, standings in
            let date = request.date ?? book.date.today
            let habit = try found.get()
            try habit.checkActive(on: date)
            let outcome = try await book.edit(habit, HabitBook.Edits([.skip(date)])).checked()
            let entry = HabitEntry(book: book, habit: habit, standings: standings, date: date, outcome: outcome)
            return try await entry.reply()
        }
    }
}
