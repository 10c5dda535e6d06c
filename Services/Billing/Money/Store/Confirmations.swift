internal import BillingDomain
internal import Bus
internal import Kernel
internal import Outbox

/// Finds purchases that clients say they have paid for (BI-5). What the webhook has not brought yet is asked of RevenueCat.
struct Confirmations: Sendable {
    let purchases: Purchases
    let questions: StoreQuestions

    /// What is confirmed.
    struct Claim: Sendable {
        let operation: OperationID
        let user: UserID
        let transaction: String
        let good: String
        let count: Int32
    }

    /// Has events applied that are on their way, and asks the store about a transaction that is not known.
    func look(for claim: Claim, _ context: CallContext) async throws {
        let repository = purchases.repository
        if try await repository.isKnown(claim.transaction) { return }
        // The webhook may have stored it a moment ago.
        _ = try await questions.events.applyDue(now: questions.work.now())
        guard try await !repository.isKnown(claim.transaction), questions.client.isOn else { return }
        // A store that cannot be asked is like one that does not know it yet: the client tries again.
        guard let snapshot = try? await questions.ask(about: claim.user) else { return }
        try await questions.work.run(context) { [questions] work in try await questions.apply(snapshot, of: claim.user, work) }
    }

    /// Judges the purchase and notes what has confirmed it.
    ///
    /// - Throws: `PURCHASE_NOT_FOUND`, `PURCHASE_OF_ANOTHER_USER`, `PURCHASE_OF_ANOTHER_PRODUCT`, `PURCHASE_REFUNDED`,
    ///   `PURCHASE_ALREADY_USED`.
    func confirm(_ claim: Claim, _ work: UnitOfWork) async throws -> StoredPurchase {
        guard let purchase = try await purchases.repository.lock(transaction: claim.transaction, of: claim.user, work.sql) else {
            throw ServiceError.purchaseNotFound
        }
        guard purchase.user == claim.user else { throw ServiceError.purchaseOfAnother }
        guard purchase.goods.count == 1, purchase.goods[0].good == claim.good, purchase.goods[0].count == claim.count else {
            throw ServiceError.otherProduct(purchase.goods)
        }
        guard purchase.state == .onItsWay || purchase.state == .granted else { throw ServiceError.purchaseRefunded }
        guard try await purchases.repository.setConfirmed(purchase.id, by: claim.operation, work.sql) else {
            throw ServiceError.purchaseUsed
        }
        return purchase
    }
}

extension ServiceError {
    fileprivate static let purchaseNotFound = ServiceError(
        .notFound,
        "PURCHASE_NOT_FOUND",
        "The store has not reported this purchase yet. If it was paid for, try again in a moment.",
        retryAfter: 5
    )
    fileprivate static let purchaseOfAnother = ServiceError(
        .permissionDenied,
        "PURCHASE_OF_ANOTHER_USER",
        "This purchase belongs to another account."
    )
    fileprivate static let purchaseRefunded = ServiceError(
        .failedPrecondition,
        "PURCHASE_REFUNDED",
        "This purchase was refunded."
    )
    fileprivate static let purchaseUsed = ServiceError(
        .alreadyExists,
        "PURCHASE_ALREADY_USED",
        "This purchase was used before."
    )

    fileprivate static func otherProduct(_ goods: [(good: String, count: Int32)]) -> ServiceError {
        let bought = goods.map { "\($0.good) \($0.count)" }.joined(separator: ", ")
        return ServiceError(
            .failedPrecondition,
            "PURCHASE_OF_ANOTHER_PRODUCT",
            "Something else was bought with this purchase.",
            details: [Detail(field: "transaction_id", message: "bought \(bought)")]
        )
    }
}
