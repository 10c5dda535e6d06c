internal import Bus
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// Deletes the prompts of a streak (PW-1): for the member who set them, whatever their plan is by now, and for a member on a premium plan.
struct ClearStreakPrompts: MutationHandler {
    let reads: StreakReads
    let mutations: Mutations

    func handle(_ request: ClearStreakPromptsRequest, _ context: CallContext) async throws -> Once<StreakPrompts> {
        let user = try context.requireUser()
        let id = request.streakID
        return try await mutations.once(context, request) { [reads] work in
            guard try await reads.lockStatus(of: id, seenBy: user, work.sql) != nil else { throw ServiceError.notFound("streak") }
            if let stored = try await PromptRepository.find(id, now: work.now, work.sql) {
                if stored.setBy != user {
                    guard try await EntitlementReplica().isPremium(user, now: work.now, work.sql) else {
                        throw ServiceError.premiumRequired
                    }
                }
                try await PromptRepository.delete(of: id, work.sql)
            }
            return StreakPrompts(nil, of: id)
        }
    }
}
