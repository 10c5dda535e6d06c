internal import AuthAPI
internal import AuthCore
internal import BillingAPI
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// Deletes the account of the caller, who proves to be its owner (AU-7). One transaction: unusable, signed out everywhere, e-mail and
/// username free for others, emitted to every service. The reply comes when the others have hidden the user.
struct DeleteAccount: MutationHandler {
    let accounts: AccountRepository
    let lifecycle: AccountLifecycle
    let owner: OwnerProof
    let revocations: RevocationPublisher
    let billing: BillingClient
    let mutations: Mutations

    func handle(_ request: DeleteAccountRequest, _ context: CallContext) async throws -> Once<DeleteAccountReply> {
        let user = try context.requireUser()
        let reply = try await mutations.alone(context, request) {
            guard let account = try await accounts.find(user) else { throw ServiceError.notFound("account") }
            try await owner.require(request, of: account, context)
            let running = await runningSubscription(context)
            return try await mutations.once(context, request, protecting: user) { work in
                DeleteAccountReply(purgeAt: try await lifecycle.delete(user, work), subscription: running)
            }
        }
        try await revocations.publish(of: user)
        return reply
    }

    /// The subscription that goes on when the account is gone: only its store can cancel it. Nil also while billing does not answer: that does
    /// not hold up a deletion.
    private func runningSubscription(_ context: CallContext) async -> RunningSubscription? {
        let asking = context.child(timeout: .seconds(2))
        guard let plan = try? await billing.getEntitlements(GetEntitlementsRequest(), context: asking), plan.isPremium,
            let product = plan.productID
        else { return nil }
        return RunningSubscription(
            product: product,
            store: plan.store ?? "",
            expiresAt: plan.expiresAt,
            willRenew: plan.willRenew,
            manageURL: plan.manageURL
        )
    }
}
