internal import Bus
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Sets the prompts of a streak (PW-1): for members on a premium plan. The plan of the member who set them last decides whether they show.
struct SetStreakPrompts: MutationHandler {
    let reads: StreakReads
    let mutations: Mutations

    func handle(_ request: SetStreakPromptsRequest, _ context: CallContext) async throws -> Once<StreakPrompts> {
        let user = try context.requireUser()
        let id = request.streakID
        // First, so that the answer to a caller who may not see the streak is the same for any prompts.
        guard try await reads.status(of: id, seenBy: user, reads.store.database) != nil else {
            throw ServiceError.notFound("streak")
        }
        let prompts = try CustomPrompts(
            checking: request.prompts.map { CustomPrompts.Entry(text: $0.text, emoji: $0.emoji) }
        )
        return try await mutations.once(context, request) { [reads] work in
            guard let status = try await reads.lockStatus(of: id, seenBy: user, work.sql) else {
                throw ServiceError.notFound("streak")
            }
            guard try await EntitlementReplica().isPremium(user, now: work.now, work.sql) else {
                throw ServiceError.premiumRequired
            }
            guard status != .ended else {
                throw ServiceError(.failedPrecondition, "STREAK_NOT_ACTIVE", "This streak has ended.")
            }
            try await PromptRepository.store(prompts, of: id, by: user, now: work.now, work.sql)
            return StreakPrompts(try await PromptRepository.find(id, now: work.now, work.sql), of: id)
        }
    }
}
