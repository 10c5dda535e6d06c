internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The prompts of streaks' own, as members see them (PW-1).
struct PromptsOfStreaks: Sendable {
    let reads: StreakReads
    let clock: any Clock

    /// Those of one streak; nil when none are set.
    ///
    /// - Throws: `NOT_FOUND` when `user` is no member, or a block hides the partner (SO-7).
    func find(_ id: StreakID, for user: UserID) async throws -> StoredPrompts? {
        let database = reads.store.database
        guard try await reads.status(of: id, seenBy: user, database) != nil else { throw ServiceError.notFound("streak") }
        return try await PromptRepository.find(id, now: clock.now(), database)
    }
}

extension StreakPrompts {
    init(_ stored: StoredPrompts?, of id: StreakID) {
        self.init(
            streakID: id,
            prompts: stored?.prompts.entries.map { CustomPrompt(text: $0.text, emoji: $0.emoji) } ?? [],
            active: stored?.isActive ?? false,
            setByUserID: stored?.setBy,
            setAt: stored?.setAt
        )
    }
}

extension ServiceError {
    static var premiumRequired: ServiceError {
        ServiceError(.permissionDenied, "PREMIUM_REQUIRED", "Custom prompts are part of the premium plan.")
    }
}
