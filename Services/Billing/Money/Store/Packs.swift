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
    let logger: Logger

    /// Grants or takes back what the events of a transaction come to.
    ///
    /// - Parameter received: the event that was just applied.
    /// - Returns: the purchase, when it has steps that other services take part in.
    func update(_ store: String, _ key: String, of user: UserID, _ received: ReceivedEvent, _ work: UnitOfWork) async throws
        -> PurchaseID?
    {
        let history = try await events.history(store, key, work.sql)
        let all = try history.map { try ReceivedEvent(body: $0.body, receivedAt: $0.receivedAt) }
        let isWanted = PackState.isWanted(all.map(\.event))
        if let purchase = try await purchases.repository.lock(store, key, work.sql) {
            let isHeld = purchase.state == .onItsWay || purchase.state == .granted
            guard isWanted != isHeld else { return nil }
            try await purchases.repository.setState(isWanted ? .onItsWay : .toBeTakenBack, of: purchase.id, work.sql)
            return try await purchases.add(isWanted ? .grant : .takeBack, to: purchase, work) ? purchase.id : nil
        }
        guard isWanted, let bought = all.first(where: { $0.event.kind == .nonRenewingPurchase }) else { return nil }
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
            user: user,
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
