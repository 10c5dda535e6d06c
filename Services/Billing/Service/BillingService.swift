internal import BillingAPI
internal import Bus
internal import Kernel
internal import Outbox

/// Entitlements and the ledgers of recovery tokens. The table of contents: one handler file per RPC in `Handlers/`.
///
/// getEntitlements · getRecoveryBalance · spendToken · refundToken · exportUserData
struct BillingService: BillingServiceProtocol {
    let tokens: TokenRepository
    let subscriptions: SubscriptionRepository
    let work: UnitOfWorkFactory
    let clock: any Clock
}
