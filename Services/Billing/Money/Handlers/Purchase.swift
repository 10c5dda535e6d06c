internal import BillingAPI
internal import BillingDomain
internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import StreaksAPI

/// BI-4: an item for coins. The coins and the purchase are one transaction; the reply comes when the goods are granted, or the coins are back.
struct Purchase: MutationHandler {
    let catalog: CatalogRepository
    let purchases: Purchases
    let wallets: WalletViews
    let useful: UsefulGoods
    let mutations: Mutations

    func handle(_ request: PurchaseRequest, _ context: CallContext) async throws -> Once<PurchaseReply> {
        let user = try context.requireUser()
        // Asked before the transaction and judged in it: a repeat gets the first answer, whatever could be used by now.
        let judgement = await judgement(of: request, by: user, context)
        return try await mutations.once(
            context,
            request,
            completedBy: { begun in
                let ended = try await purchases.end(of: begun.purchaseID, context: context)
                let checks = (try? judgement.get().byGood) ?? [:]
                return PurchaseReply(ended, checks, balances: try await wallets.balances(of: user))
            },
            { work in PurchaseReply(try await begin(request, by: user, judgement, work), [:], balances: []) }
        )
    }

    /// What `streaks` says of the goods: whether they would be of use.
    private func judgement(of request: PurchaseRequest, by user: UserID, _ context: CallContext) async -> Result<
        [GoodCheck], any Error
    > {
        do {
            let now = purchases.work.now()
            guard let item = try await catalog.find(request.item, at: now, catalog.database), item.coins != nil else {
                return .success([])
            }
            let quantity = request.quantity ?? 1
            let foreign = item.goods.filter { Good(rawValue: $0.good)?.currency == nil }.map { ($0.good, $0.count * quantity) }
            return .success(try await useful.checks(of: foreign, for: user, context))
        } catch { return .failure(error) }
    }

    private func begin(
        _ request: PurchaseRequest,
        by user: UserID,
        _ judgement: Result<[GoodCheck], any Error>,
        _ work: UnitOfWork
    ) async throws -> StoredPurchase {
        guard let item = try await catalog.find(request.item, at: work.now, work.sql) else { throw ServiceError.notFound("item") }
        guard let price = item.coins else { throw ServiceError.notForCoins }
        let quantity = request.quantity ?? 1
        // The lock of the coins: two purchases at once are counted one after the other.
        _ = try await purchases.ledger.lock(user, .coins, work.sql)
        let checks = try judgement.get()
        if let most = item.most(checks.byGood), let days = item.limitDays {
            let since = work.now - .days(Int64(days))
            let bought = try await purchases.repository.bought(item.item, by: user, since: since, work.sql)
            guard bought + Int64(quantity) <= most else { throw ServiceError.purchaseLimit(item, days) }
        }
        if let refusal = checks.refusal { throw refusal }
        let purchase = StoredPurchase(
            id: work.ids.make(),
            user: user,
            item: item.item,
            title: item.title,
            quantity: quantity,
            coins: price * Int64(quantity),
            purchasedAt: work.now,
            goods: item.goods.map { ($0.good, $0.count * quantity) }
        )
        let payment = Posting(
            user: user,
            currency: .coins,
            type: .used,
            amount: -purchase.coins,
            against: .uses,
            note: item.title,
            key: "paid \(purchase.id)"
        )
        try await work.post(payment, purchases.ledger)
        _ = try await purchases.begin(purchase, work)
        return purchase
    }
}

extension PurchaseReply {
    fileprivate init(_ purchase: StoredPurchase, _ checks: [String: GoodCheck], balances: [WalletBalance]) {
        self.init(
            purchaseID: purchase.id,
            item: purchase.item,
            quantity: purchase.quantity,
            coins: purchase.coins,
            goods: purchase.goods.map { CatalogGood($0.good, $0.count, checks[$0.good]) },
            balances: balances
        )
    }
}

extension ServiceError {
    fileprivate static let notForCoins = ServiceError(
        .failedPrecondition,
        "NOT_FOR_COINS",
        "This is sold in the app's store, not for coins."
    )

    fileprivate static func purchaseLimit(_ item: StoredItem, _ days: Int32) -> ServiceError {
        let most = "most \(item.limitCount ?? 0) in \(days) days" + (item.isPerStreak ? " for each of your streaks" : "")
        return ServiceError(
            .failedPrecondition,
            "PURCHASE_LIMIT_REACHED",
            "At \(most).",
            details: [Detail(field: "quantity", message: "at \(most)")]
        )
    }
}
