internal import BillingAPI
internal import BillingDomain
internal import Database
internal import Kernel

extension Entitlements {
    /// What a user's subscriptions come to (BI-2).
    init(of user: UserID, at now: Instant, _ sql: some QueryExecutor) async throws {
        let subscriptions = try await SubscriptionRepository.all(of: user, sql).map(\.state)
        let entitlement = Entitlement(subscriptions, at: now)
        let shown = entitlement.shown
        self.init(
            plan: entitlement.isPremium ? .premium : .free,
            isPremium: entitlement.isPremium,
            expiresAt: entitlement.accessUntil,
            productID: shown.map { StoreEvent.plainProduct($0.product) },
            willRenew: shown?.willRenew ?? false,
            streakLimit: PlanLimits.streakLimit(isPremium: entitlement.isPremium),
            status: shown.map { SubscriptionStatus(rawValue: $0.status(at: now).rawValue) },
            periodType: shown.map { PeriodType(rawValue: $0.periodType.rawValue) },
            store: shown.map { $0.store.lowercased() },
            graceUntil: shown.flatMap { $0.hasBillingIssue ? $0.graceUntil : nil },
            manageURL: shown.flatMap { ManageLink.url(ofStore: $0.store) }
        )
    }
}
