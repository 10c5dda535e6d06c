internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// The completions of a habit that have a note, the newest date first.
struct ListHabitNotes: QueryHandler {
    let habits: HabitStore

    func handle(_ request: ListHabitNotesRequest, _ context: CallContext) async throws -> ListHabitNotesReply {
        let page = try Page<DatedPosition>(request, context)
        let entries = try await CompletionReads.list(
            of: try await CompletionReads.streak(of: request.habitID, try context.requireUser(), habits.database),
            after: page.position,
            hasNote: true,
            limit: page.limit + 1,
            habits.database
        )
        let (shown, meta) = page.entries(entries) { DatedPosition($0.completion.date, $0.completion.id) }
        return ListHabitNotesReply(notes: shown.map { HabitCompletion($0.completion) }, meta: meta)
    }
}
