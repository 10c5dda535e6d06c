internal import BillingAPI
internal import Bus
internal import Database
internal import Kernel

/// BI-2: premium until the subscription ends, cancelled or not.
struct GetEntitlements: QueryHandler {
    let database: Database
    let clock: any Clock

    func handle(_: GetEntitlementsRequest, _ context: CallContext) async throws -> Entitlements {
        let user = try context.requireUser()
        return try await Entitlements(of: user, at: clock.now(), database)
    }
}
