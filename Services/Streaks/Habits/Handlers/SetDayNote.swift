internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Writes the caller's note on a date.
struct SetDayNote: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: SetDayNoteRequest, _ context: CallContext) async throws -> Once<DayNote> {
        try await changes.once(context, request) { book in
            let date = request.date ?? book.date.today
            try book.note(request.note, on: date)
            return DayNote(date: date, note: try HabitText.text(request.note, field: "note", most: 500))
        }
    }

    func problems(of request: SetDayNoteRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { check in
            if let date = request.date { HabitBook.checkNoted(date, &check) }
            _ = try check.take { try HabitText.text(request.note, field: "note", most: 500) }
        }
    }
}
