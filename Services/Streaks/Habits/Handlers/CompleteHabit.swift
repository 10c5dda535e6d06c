internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Records that something was done of a habit (HA-2, HA-14).
struct CompleteHabit: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: CompleteHabitRequest, _ context: CallContext) async throws -> Once<HabitEntryReply> {
        let (value, increment) = try Self.amounts(request)
        return try await changes.entry(context, request, of: request.habitID) { book, found, standings in
            let clock = book.date
            let date = request.date ?? request.doneAt.map { clock.zones.date(at: min($0, clock.now)) } ?? clock.today
            // Time of day comes from real times only (HA-16): what is entered for an earlier date has none unless it says so.
            let doneAt = request.doneAt ?? (date == clock.today ? clock.now : nil)
            let details = try CompletionForm.details(note: request.note, mood: request.mood, doneAt: doneAt, on: date, clock)
            let habit = try found.get()
            try habit.checkActive(on: date)
            let id: CompletionID = request.id ?? book.work.ids.make()
            let amount = try increment.map { try Self.sum($0, habit, on: date) } ?? value
            var edits = HabitBook.Edits([.complete(id, on: date, amount)], details: [id: details])
            edits.hasNewIDs = request.id == nil
            let outcome = try await book.edit(habit, edits).checked()
            let entry = HabitEntry(
                book: book,
                habit: habit,
                standings: standings,
                date: date,
                outcome: outcome,
                // With a target it is merged only when it has nothing to add.
                completion: habit.record.version(on: date).target == nil ? outcome.merged[id] ?? id : id,
                details: details
            )
            return try await entry.reply()
        }
    }

    func problems(of request: CompleteHabitRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.amounts(request) }
    }

    /// The amounts, when all else that the request alone says is right, too.
    ///
    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    private static func amounts(_ request: CompleteHabitRequest) throws -> (value: Amount?, increment: Amount?) {
        var check = FieldCheck()
        let value = try check.take(request.value) { try Amount($0, field: "value") }
        let increment = try check.take(request.increment) { try Amount($0, field: "increment") }
        check.require(request.value == nil || request.increment == nil, "increment", "cannot be combined with value")
        _ = try check.take { try CompletionForm.note(request.note) }
        try check.finish()
        return (value, increment)
    }

    /// What a completion says that adds to a date: with a target its own value, without one the whole value of the date.
    private static func sum(_ increment: Amount, _ habit: HabitBook.Locked, on date: CalendarDate) throws -> Amount {
        guard habit.record.version(on: date).target == nil else { return increment }
        let present = habit.stored.ledger.contributions[date]?.first?.amount ?? .zero
        let sum = present + increment
        guard sum <= .largest else { throw ServiceError.validation(field: "increment", "Please enter a valid number") }
        return sum
    }
}
