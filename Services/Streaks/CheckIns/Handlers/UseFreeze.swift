internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksDomain

/// A freeze by hand for yesterday or today (CI-2).
struct UseFreeze: MutationHandler {
    let streaks: CheckInStreaks
    let mutations: Mutations

    func handle(_ request: UseFreezeRequest, _ context: CallContext) async throws -> Once<UseFreezeReply> {
        let user = try context.requireUser()
        try await streaks.prepare(user, context)
        return try await mutations.once(context, request) { [streaks] work in
            let stored = try await streaks.lock(user, work)
            do {
                let settled = SettledCheckIns(try await streaks.writer.apply(.freeze(request.date), to: stored, work))
                return UseFreezeReply(
                    data: UsedFreeze(
                        freezeApplied: true,
                        date: request.date,
                        freezesRemaining: Int32(settled.state.freezesLeft),
                        currentStreak: Int32(settled.state.count),
                        message: "Streak Freeze applied to \(CheckInWords.day(request.date)). Your streak is safe!"
                    )
                )
            } catch let refusal as ServiceError where refusal.reason == "NO_FREEZES_AVAILABLE" {
                let isPremium = try await streaks.entitlements.isPremium(user, now: work.now, work.sql)
                throw ServiceError.noFreezes(isPremium: isPremium)
            }
        }
    }
}

extension ServiceError {
    fileprivate static func noFreezes(isPremium: Bool) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            "NO_FREEZES_AVAILABLE",
            "You have no Streak Freezes remaining",
            details: [
                Detail(field: "freezes_available", message: "0"), Detail(field: "can_purchase", message: "true"),
                Detail(field: "purchase_cost_usd", message: "\(FreezePrices.price(isPremium: isPremium))"),
            ]
        )
    }
}
