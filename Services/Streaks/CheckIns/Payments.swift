internal import BillingAPI
internal import Bus
internal import Kernel

/// What is paid for with: money by a store's receipt, coins, or XP, which is here.
enum PaymentMethod: String, Sendable {
    case stripe, xp, coins
    case applePay = "apple_pay"
    case googlePay = "google_pay"
    case free = "free_pro_repair"

    var isMoney: Bool {
        switch self {
        case .stripe, .applePay, .googlePay: true
        case .xp, .coins, .free: false
        }
    }
}

/// Payments through billing (BI-4, BI-5). Billing grants the goods with the payment: freezes lie in the hand at once, a repair is a credit.
struct Payments: Sendable {
    let store: StoreClient

    /// What a purchase bought has been used.
    static let used = ServiceError(
        .failedPrecondition,
        "PAYMENT_REFUSED",
        "This purchase has been used already.",
        details: [.init(field: "reason", message: "PURCHASE_ALREADY_USED")]
    )

    /// A purchase in a store. The same token always has the same operation, so a repeat gets the same answer.
    ///
    /// - Throws: `PURCHASE_NOT_FOUND` when the store does not know it (yet), `PAYMENT_REFUSED` with the reason when it is another's, used,
    ///   refunded, or of something else.
    func confirm(_ operation: OperationID, token: String, good: String, count: Int32, by user: UserID, _ context: CallContext)
        async throws -> PaidPrice
    {
        do {
            let paid = try await store.confirmPurchase(
                ConfirmPurchaseRequest(
                    operationID: operation,
                    userID: user,
                    transactionID: token,
                    good: good,
                    count: count
                ),
                context: context.child()
            )
            return PaidPrice(milli: paid.priceMilli, currency: paid.currency, transaction: token)
        } catch let refusal as ServiceError where refusal.reason.hasPrefix("PURCHASE_") && refusal.reason != "PURCHASE_NOT_FOUND"
        {
            throw ServiceError(
                .failedPrecondition,
                "PAYMENT_REFUSED",
                refusal.message,
                details: [.init(field: "reason", message: refusal.reason)]
            )
        }
    }

    /// Coins for an item of the catalogue, once for each operation.
    func spendCoins(_ operation: OperationID, item: String, quantity: Int32, _ context: CallContext) async throws -> PaidPrice {
        let paid = try await store.purchase(
            PurchaseRequest(item: item, quantity: quantity),
            context: context.child(idempotencyKey: "check-ins.\(operation)")
        )
        return PaidPrice(milli: paid.coins * 1000, currency: "COINS", transaction: paid.purchaseID.description)
    }

    /// The operation of a payment: a store's token is its own name, everything else is named by the request's key.
    static func operation(_ purpose: String, _ user: UserID, token: String?, _ context: CallContext) -> OperationID {
        let name: String
        if let token {
            name = "\(purpose) \(user) token \(token)"
        } else if let key = context.idempotencyKey {
            name = "\(purpose) \(user) key \(key)"
        } else {
            name = "\(purpose) \(user) request \(context.trace.traceID)"
        }
        return OperationID(high: StableHash.fnv1a(("1 " + name).utf8), low: StableHash.fnv1a(("2 " + name).utf8))
    }
}

extension PaidPrice {
    /// In the unit of its currency.
    var amount: Double { Double(milli) / 1000 }
}
