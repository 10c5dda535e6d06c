internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Changes the fields of a completion that are sent (HA-12).
struct UpdateCompletion: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: UpdateCompletionRequest, _ context: CallContext) async throws -> Once<HabitEntryReply> {
        let value = try Self.value(request)
        return try await changes.once(context, request, of: request.habitID) { book, found in
            let habit = try found.get()
            let record = try await CompletionReads.find(request.completionID, of: book.user, habit.record.streak, book.work.sql)
            let details = try Self.details(request, record, book.date)
            var entry = HabitEntry(book: book, habit: habit, date: record.date, completion: record.id)
            let amount = value ?? (request.clear.contains("value") ? nil : record.amount)
            if amount != record.amount {
                let edits = HabitBook.Edits([.change(record.id, on: record.date, amount)])
                entry.outcome = try await book.edit(habit, edits).checked()
            }
            if details != record.details { try await book.describe(record.id, details) }
            return try await entry.reply()
        }
    }

    func problems(of request: UpdateCompletionRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try Self.value(request) }
    }

    /// The value, when the note is right, too.
    ///
    /// - Throws: `VALIDATION_ERROR` with an entry for each bad field.
    private static func value(_ request: UpdateCompletionRequest) throws -> Amount? {
        var check = FieldCheck()
        let value = try check.take(request.value) { try Amount($0, field: "value") }
        _ = try check.take { try CompletionForm.note(request.note ?? "") }
        try check.finish()
        return value
    }

    private static func details(
        _ request: UpdateCompletionRequest,
        _ record: CompletionRecord,
        _ clock: HabitDate
    ) throws -> CompletionDetails {
        let clear = Set(request.clear)
        var details = record.details
        let sent = try CompletionForm.details(
            note: request.note ?? "",
            mood: request.mood,
            doneAt: request.doneAt,
            on: record.date,
            clock
        )
        if request.note != nil { details.note = sent.note }
        if clear.contains("mood") { details.mood = nil }
        if request.mood != nil { details.mood = sent.mood }
        if clear.contains("done_at") { (details.doneAt, details.minute) = (nil, nil) }
        if request.doneAt != nil { (details.doneAt, details.minute) = (sent.doneAt, sent.minute) }
        return details
    }
}
