internal import Bus
internal import Kernel
internal import StreaksAPI

extension StreaksService {
    /// PW-1: for who set them, whatever their plan is by now, and for a member on a premium plan.
    func clearStreakPrompts(_ request: ClearStreakPromptsRequest, context: CallContext) async throws -> StreakPrompts {
        let user = try context.requireUser()
        let id = try StreakID(parsing: request.streakID, field: "streak_id")
        return try await mutations.run(context, request) { [entitlements] work in
            guard try await PromptRepository.status(of: id, member: user, work.sql) != nil else {
                throw ServiceError.notFound("streak")
            }
            if let stored = try await PromptRepository.find(id, now: work.now, work.sql) {
                if stored.setBy != user {
                    guard try await entitlements.isPremium(user, now: work.now, work.sql) else { throw Self.premiumRequired }
                }
                try await PromptRepository.delete(of: id, work.sql)
            }
            return Self.prompts(nil, of: id)
        }
    }
}
