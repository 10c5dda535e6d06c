internal import Bus
internal import Kernel
internal import StreaksAPI

/// The prompts that a member has set for a streak (PW-1). A user who is no member is answered as if there were none.
struct GetStreakPrompts: QueryHandler {
    let prompts: PromptsOfStreaks

    func handle(_ request: GetStreakPromptsRequest, _ context: CallContext) async throws -> StreakPrompts {
        let user = try context.requireUser()
        let id = request.streakID
        return StreakPrompts(try await prompts.find(id, for: user), of: id)
    }
}
