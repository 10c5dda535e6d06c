internal import BillingAPI
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// BI-5: the webhook and this grant a purchase once between them. The reply comes when its goods are granted.
struct ConfirmPurchase: MutationHandler {
    let confirmations: Confirmations
    let mutations: Mutations

    func handle(_ request: ConfirmPurchaseRequest, _ context: CallContext) async throws -> Once<ConfirmPurchaseReply> {
        let claim = Confirmations.Claim(
            operation: request.operationID,
            user: request.userID,
            transaction: request.transactionID,
            good: request.good,
            count: request.count
        )
        try await confirmations.look(for: claim, context)
        let confirmed: Once<ConfirmPurchaseReply> = try await mutations.once(
            operation: claim.operation,
            of: claim.user,
            context,
            request
        ) { [confirmations] work in .success(ConfirmPurchaseReply(try await confirmations.confirm(claim, work))) }
        // A repeat of a confirmation whose goods were on their way drives them too.
        try await confirmations.purchases.end(of: confirmed.reply.purchaseID, context: context)
        return confirmed
    }
}

extension ConfirmPurchaseReply {
    fileprivate init(_ purchase: StoredPurchase) {
        self.init(
            purchaseID: purchase.id,
            item: purchase.item,
            quantity: purchase.quantity,
            priceMilli: purchase.priceMilli,
            currency: purchase.priceCurrency,
            purchasedAt: purchase.purchasedAt
        )
    }
}
