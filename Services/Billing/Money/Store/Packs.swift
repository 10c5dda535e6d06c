internal import BillingDomain
internal import Kernel
internal import Logging
internal import Outbox

/// Packs that were bought for money (BI-5): what all events of a transaction come to decides whether the user has its goods, whatever their
/// order and however often they come.
struct Packs: Sendable {
    let events: StoreEventRepository
    let catalog: CatalogRepository
    let purchases: Purchases
    let premium: PremiumEntitlement
    let logger: Logger

    /// All that is known of a transaction.
    private struct History {
        let events: [ReceivedEvent]
        /// nil: of a user who is not known here.
        let owner: UserID?

        var isWanted: Bool { PackState.isWanted(events.map(\.event)) }
    }

    private func history(_ store: String, _ key: String, _ work: UnitOfWork) async throws -> History {
        let stored = try await events.history(store, key, work.sql)
        let received = try stored.map { try ReceivedEvent(body: $0.body, receivedAt: $0.receivedAt, premium: premium) }
        let pairs = zip(stored, received).map { (stored: $0, event: $1.event) }
        return History(events: received, owner: try await Owners.owner(pairs, work.sql))
    }

    /// Moves what is unused of a purchase to the user whom its transaction was moved to (BI-1). While that user is not known here, it stays
    /// where it is.
    ///
    /// - Returns: the purchase, when it has steps that other services take part in.
    func move(_ store: String, _ key: String, _ work: UnitOfWork) async throws -> PurchaseID? {
        let history = try await history(store, key, work)
        guard let purchase = try await purchases.repository.lock(store, key, work.sql) else { return nil }
        return try await bring(purchase, to: history, work)
    }

    /// Records the steps that lead from what a purchase is to what its events say.
    private func bring(_ purchase: StoredPurchase, to history: History, _ work: UnitOfWork) async throws -> PurchaseID? {
        let (owner, repository) = (history.owner ?? purchase.user, purchases.repository)
        switch (purchase.isHeld, history.isWanted) {
        case (true, true):
            guard owner != purchase.user else { return nil }
            return try await purchases.move(purchase, to: owner, work) ? purchase.id : nil
        case (true, false):
            // From the user who has it now, whichever one the refund names.
            try await repository.setState(.toBeTakenBack, of: purchase.id, work.sql)
            return try await purchases.add(.takeBack, to: purchase, work) ? purchase.id : nil
        case (false, true):
            var purchase = purchase
            purchase.user = owner
            try await repository.setUser(owner, of: purchase.id, work.sql)
            try await repository.setState(.onItsWay, of: purchase.id, work.sql)
            return try await purchases.add(.grant, to: purchase, work) ? purchase.id : nil
        case (false, false): return nil
        }
    }

    /// Grants, moves or takes back what the events of a transaction come to.
    ///
    /// - Parameter user: of the event that was just applied.
    /// - Returns: the purchase, when it has steps that other services take part in.
    func update(_ store: String, _ key: String, of user: UserID, _ work: UnitOfWork) async throws -> PurchaseID? {
        let history = try await history(store, key, work)
        if let purchase = try await purchases.repository.lock(store, key, work.sql) {
            return try await bring(purchase, to: history, work)
        }
        guard history.isWanted,
            let bought = history.events.first(where: { $0.event.isAboutPack && $0.event.kind == .nonRenewingPurchase })
        else { return nil }
        guard let product = bought.event.product, let item = try await catalog.find(product: product, work.sql),
            !item.goods.isEmpty
        else {
            logger.error(
                "a product that the catalogue does not have was paid for",
                metadata: ["event": "\(bought.event.id)", "product": "\(bought.event.product ?? "")"]
            )
            try await events.setIgnored(bought.event.id, note: "the catalogue has no such product", work.sql)
            return nil
        }
        let quantity = bought.event.quantity
        let purchase = StoredPurchase(
            id: work.ids.make(),
            user: history.owner ?? user,
            item: item.item,
            title: item.title,
            quantity: quantity,
            coins: 0,
            priceMilli: bought.priceMilli,
            priceCurrency: bought.currency,
            store: store,
            key: key,
            purchasedAt: bought.event.purchasedAt ?? bought.event.at,
            goods: item.goods.map { ($0.good, $0.count * quantity) }
        )
        return try await purchases.begin(purchase, work) ? purchase.id : nil
    }
}
