internal import Bus
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Switches an unlock, or chooses the flame that is worn (CI-5).
struct SetUnlock: MutationHandler {
    let mutations: Mutations

    func handle(_ request: SetUnlockRequest, _ context: CallContext) async throws -> Once<GetUnlocksReply> {
        let user = try context.requireUser()
        guard let unlock = Unlock(rawValue: request.unlock) else { throw ServiceError.notFound("unlock") }
        return try await mutations.once(context, request) { work in
            let opened = try await RewardRepository.unlocks(of: user, work.sql)
            if let flame = PublicRewards.Flame.allCases.first(where: { $0.unlock == unlock }) {
                let isPremium = try await EntitlementReplica().isPremium(user, now: work.now, work.sql)
                guard isPremium || opened[unlock] != nil else { throw ServiceError.unlockNotEarned }
                if request.active {
                    try await UnlockRepository.choose(flame, of: user, work.sql)
                } else if try await UnlockRepository.chosenFlame(of: user, work.sql) == flame {
                    try await UnlockRepository.choose(nil, of: user, work.sql)
                }
            } else {
                guard opened[unlock] != nil else { throw ServiceError.unlockNotEarned }
                guard unlock.isSwitchable else {
                    throw ServiceError(.failedPrecondition, "NOT_SWITCHABLE", "This cannot be switched off.")
                }
                try await UnlockRepository.set(unlock, of: user, isOff: !request.active, work.sql)
            }
            try await RewardGrants.emitShown(of: [user], work)
            return try await RewardViews.unlocks(of: user, at: work.now, work.sql)
        }
    }
}
