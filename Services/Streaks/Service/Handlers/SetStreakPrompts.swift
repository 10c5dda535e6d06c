internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

extension StreaksService {
    /// PW-1: for members on a premium plan; who sets them last is whose plan counts.
    func setStreakPrompts(_ request: SetStreakPromptsRequest, context: CallContext) async throws -> StreakPrompts {
        let user = try context.requireUser()
        let id = try StreakID(parsing: request.streakID, field: "streak_id")
        // Who may not know of the streak learns nothing, whatever they send.
        guard try await StreakRepository.exists(id, for: user, streaks.database) else { throw ServiceError.notFound("streak") }
        let prompts = try CustomPrompts(
            checking: request.prompts.map { CustomPrompts.Entry(text: $0.text, emoji: $0.emoji) }
        )
        return try await mutations.run(context, request) { [entitlements] work in
            guard let status = try await PromptRepository.status(of: id, member: user, work.sql) else {
                throw ServiceError.notFound("streak")
            }
            guard try await entitlements.isPremium(user, now: work.now, work.sql) else { throw Self.premiumRequired }
            guard StreakStatus(rawValue: status) != .ended else {
                throw ServiceError(.failedPrecondition, "STREAK_NOT_ACTIVE", "This streak has ended.")
            }
            try await PromptRepository.store(prompts, of: id, by: user, now: work.now, work.sql)
            return Self.prompts(try await PromptRepository.find(id, now: work.now, work.sql), of: id)
        }
    }

    static var premiumRequired: ServiceError {
        ServiceError(.permissionDenied, "PREMIUM_REQUIRED", "Custom prompts are part of the premium plan.")
    }
}
