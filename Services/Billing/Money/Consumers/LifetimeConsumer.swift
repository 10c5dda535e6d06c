internal import BillingAPI
internal import BillingDomain
internal import Kernel
internal import Outbox
internal import StreaksAPI

/// CI-5: a year of check-ins gives premium without end. It is a subscription of our own store that never ends and that no event of another
/// store touches: once a user, whatever is redelivered.
enum LifetimeConsumer {
    /// Our own, beside those of RevenueCat's stores.
    static let store = "STREAKSNAP"

    static func handler(_ entitling: Entitling) -> EventHandler {
        EventHandler(LifetimePremiumEarned.self) { event, work in
            let key = "lifetime \(event.userID)"
            guard try await SubscriptionRepository.find(store, key, work.sql) == nil else { return }
            let state = SubscriptionState(
                store: store,
                product: "lifetime_pro",
                periodType: .promotional,
                purchasedAt: event.earnedAt ?? work.now,
                isRenewable: false
            )
            try await SubscriptionRepository.store(state, store, key, of: event.userID, work.sql)
            try await entitling.update(event.userID, work)
        }
    }
}
