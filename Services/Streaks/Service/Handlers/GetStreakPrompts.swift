internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// PW-1. Somebody who is not part of the streak is answered as if there were none.
    func getStreakPrompts(_ request: GetStreakPromptsRequest, context: CallContext) async throws -> StreakPrompts {
        let user = try context.requireUser()
        let id = try StreakID(parsing: request.streakID, field: "streak_id")
        return Self.prompts(try await ownPrompts(of: id, for: user), of: id)
    }

    /// A streak's own prompts, for a member; nil when none are set.
    func ownPrompts(of id: StreakID, for user: UserID) async throws -> StoredPrompts? {
        guard try await StreakRepository.exists(id, for: user, streaks.database) else { throw ServiceError.notFound("streak") }
        return try await PromptRepository.find(id, now: clock.now(), streaks.database)
    }

    static func prompts(_ stored: StoredPrompts?, of id: StreakID) -> StreakPrompts {
        StreakPrompts(
            streakID: id.description,
            prompts: stored?.prompts.entries.map { CustomPrompt(text: $0.text, emoji: $0.emoji) } ?? [],
            active: stored?.isActive ?? false,
            setByUserID: stored?.setBy.description,
            setAt: stored?.setAt
        )
    }
}
