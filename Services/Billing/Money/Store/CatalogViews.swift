internal import BillingAPI
internal import BillingDomain
internal import Kernel

extension CatalogItem {
    /// An item as a user sees it.
    ///
    /// - Parameters:
    ///   - base: what it is compared with.
    ///   - remaining: how many the user may still buy; nil without a limit.
    init(_ item: StoredItem, base: StoredItem?, remaining: Int32?) {
        var saving: Int32?
        if let price = item.price, let base = base?.price { saving = Catalogue.saving(of: price, against: base) }
        self.init(
            item: item.item,
            kind: CatalogKind(rawValue: item.kind),
            title: item.title,
            description: item.description,
            coins: item.coins,
            storeProduct: item.product,
            usdCents: item.cents,
            period: item.period,
            goods: item.goods.map { CatalogGood(good: $0.good, count: $0.count) },
            perks: item.perks,
            popular: item.isPopular,
            savingPercent: saving,
            remaining: remaining,
            availableUntil: item.validUntil,
            needsPremium: item.needsPremium
        )
    }
}
