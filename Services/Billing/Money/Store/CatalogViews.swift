internal import BillingAPI
internal import BillingDomain
internal import Kernel
internal import StreaksAPI

extension StoredItem {
    /// How many a user may buy in `limitDays`; nil without a limit.
    ///
    /// - Parameter checks: what `streaks` says of the goods.
    func most(_ checks: [String: GoodCheck]) -> Int64? {
        let streaks = goods.compactMap { checks[$0.good]?.streaks }.min()
        return limitCount.map { Catalogue.most($0, isPerStreak: isPerStreak, streaks: streaks) }
    }
}

extension CatalogItem {
    /// An item as a user sees it.
    ///
    /// - Parameters:
    ///   - base: what it is compared with.
    ///   - remaining: how many the user may still buy; nil without a limit.
    ///   - checks: what `streaks` says of goods.
    init(_ item: StoredItem, base: StoredItem?, remaining: Int32?, checks: [String: GoodCheck]) {
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
            goods: item.goods.map { CatalogGood($0.good, $0.count, checks[$0.good]) },
            perks: item.perks,
            popular: item.isPopular,
            savingPercent: saving,
            remaining: remaining,
            availableUntil: item.validUntil,
            refused: item.coins == nil ? nil : item.goods.lazy.compactMap { checks[$0.good]?.refused }.first,
            needsPremium: item.needsPremium,
            perkTexts: item.perks.compactMap { Perk(rawValue: $0) }.map { CatalogPerk(perk: $0.rawValue, text: $0.text) }
        )
    }
}

extension CatalogGood {
    /// - Parameter check: what `streaks` says of it; nil when it is not its, or could not be asked.
    init(_ good: String, _ count: Int32, _ check: GoodCheck?) {
        self.init(
            good: good,
            count: count,
            needsUse: check?.needsUse,
            description: check?.needsUse == nil ? nil : check?.description
        )
    }
}
