internal import BillingAPI
internal import BillingDomain
internal import Bus
internal import Kernel

/// BI-4: what is offered now.
struct GetCatalog: QueryHandler {
    let catalog: CatalogRepository
    let purchases: PurchaseRepository
    let wallets: WalletViews
    let useful: UsefulGoods
    let clock: any Clock

    func handle(_: GetCatalogRequest, _ context: CallContext) async throws -> Catalog {
        let user = try context.requireUser()
        let now = clock.now()
        let offered = try await catalog.offered(at: now)
        let priced = goods(of: offered.filter { $0.coins != nil })
        let asked = priced.merging(goods(of: offered)) { priced, _ in priced }.sorted { $0.key < $1.key }
        let checks = await useful.known(of: asked.map { ($0.key, $0.value) }, for: user, context)
        var items: [CatalogItem] = []
        for item in offered {
            var remaining: Int32?
            if let most = item.most(checks), let days = item.limitDays {
                let bought = try await purchases.bought(item.item, by: user, since: now - .days(Int64(days)), purchases.database)
                remaining = Catalogue.remaining(most: most, bought: bought)
            }
            let base = offered.first { $0.item == item.comparedWith }
            items.append(CatalogItem(item, base: base, remaining: remaining, checks: checks))
        }
        return Catalog(items: items, balances: try await wallets.balances(of: user))
    }

    /// What is kept by `streaks` of these items, each good with the smallest number that is sold.
    private func goods(of items: [StoredItem]) -> [String: Int32] {
        let foreign = items.flatMap(\.goods).filter { Good(rawValue: $0.good)?.currency == nil }
        return Dictionary(foreign.map { ($0.good, $0.count) }) { min($0, $1) }
    }
}
