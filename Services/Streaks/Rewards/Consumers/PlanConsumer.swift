internal import BillingAPI
internal import Kernel
internal import Outbox
internal import StreaksCore

/// Premium wears any flame, so a change of plan may change what others see (CI-5). The event itself says the plan: Core's replica consumes it
/// on its own and may be later.
enum PlanConsumer {
    static let handler = EventHandler(EntitlementsChanged.self) { event, work in
        guard try await UnlockRepository.chosenFlame(of: event.userID, work.sql) != nil else { return }
        try await RewardGrants.emitShown(of: [event.userID], plans: [event.userID: event.plan == .premium], work)
    }
}
