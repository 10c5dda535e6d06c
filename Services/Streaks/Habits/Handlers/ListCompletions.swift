internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// What was done of a habit, the newest date first.
struct ListCompletions: QueryHandler {
    let habits: HabitStore

    func handle(_ request: ListCompletionsRequest, _ context: CallContext) async throws -> ListCompletionsReply {
        let page = try Page<DatedPosition>(request, context)
        let user = try context.requireUser()
        _ = try await habits.refresh(user, context)
        let entries = try await CompletionReads.list(
            of: try await CompletionReads.streak(of: request.habitID, user, habits.database),
            after: page.position,
            hasNote: false,
            limit: page.limit + 1,
            habits.database
        )
        let (shown, meta) = page.entries(entries) { DatedPosition($0.completion.date, $0.completion.id) }
        return ListCompletionsReply(
            completions: shown.map {
                CompletionEntry(completion: HabitCompletion($0.completion), status: HabitSquare($0.status))
            },
            meta: meta
        )
    }
}
