internal import BillingAPI
internal import BillingDomain
internal import Bus
internal import Kernel

/// BI-2: premium until the subscription expires, cancelled or not.
struct GetEntitlements: QueryHandler {
    let subscriptions: SubscriptionRepository
    let clock: any Clock

    func handle(_: GetEntitlementsRequest, _ context: CallContext) async throws -> Entitlements {
        let user = try context.requireUser()
        guard let subscription = try await subscriptions.find(user), subscription.expiresAt > clock.now() else {
            return Entitlements(plan: .free, isPremium: false, streakLimit: PlanLimits.streakLimit(isPremium: false))
        }
        return Entitlements(
            plan: .premium,
            isPremium: true,
            expiresAt: subscription.expiresAt,
            productID: subscription.productID,
            willRenew: subscription.willRenew,
            streakLimit: PlanLimits.streakLimit(isPremium: true)
        )
    }
}
