internal import BillingAPI
internal import Bus
internal import Kernel

/// Entitlements and the ledgers of recovery tokens. The table of contents: one handler file per RPC in `Handlers/`.
///
/// getEntitlements · getRecoveryBalance · exportUserData
struct BillingService: BillingServiceProtocol {
    let tokens: TokenRepository
    let subscriptions: SubscriptionRepository
    let clock: any Clock
}
