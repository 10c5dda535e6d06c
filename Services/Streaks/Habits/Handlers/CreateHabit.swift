internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Begins a habit (HA-1).
struct CreateHabit: MutationHandler {
    let changes: HabitChanges

    func handle(_ request: CreateHabitRequest, _ context: CallContext) async throws -> Once<Habit> {
        try await changes.once(context, request) { book in
            let form = try HabitForm(request, today: book.date.today)
            let new = HabitBook.NewHabit(form.details, schedule: form.schedule, target: form.target, id: request.id)
            return try await book.shown(try await book.create(new))
        }
    }

    func problems(of request: CreateHabitRequest) -> [ServiceError.Detail] {
        // The date decides what a schedule is counted from, not whether it is one.
        FieldCheck.problems { _ = try HabitForm(request, today: CalendarDate(dayNumber: 0)) }
    }
}
