internal import BillingDomain
internal import Database
internal import Kernel

/// Something that can be bought, as stored (BI-4).
struct StoredItem: Sendable {
    let item: String
    /// CatalogKind of the proto.
    let kind: Int32
    let title: String
    let description: String
    let coins: Int64?
    let product: String?
    let cents: Int32?
    let period: String?
    let months: Int32?
    let perks: [String]
    let isPopular: Bool
    let comparedWith: String?
    let limitCount: Int32?
    let limitDays: Int32?
    /// Whether the limit is that of one streak.
    let isPerStreak: Bool
    let validUntil: Instant?
    let needsPremium: Bool
    var goods: [(good: String, count: Int32)]

    /// What a unit costs, for comparing: a month, or a piece.
    var price: Catalogue.Price? {
        guard let cents else { return nil }
        return Catalogue.Price(cents: Int64(cents), units: months.map { Int64($0) } ?? goods.reduce(0) { $0 + Int64($1.count) })
    }
}

/// The catalogue: rows, so that prices and offers change without code.
struct CatalogRepository: Sendable {
    let database: Database

    /// What is offered at an instant, in its order.
    func offered(at now: Instant) async throws -> [StoredItem] {
        try await items("valid_from <= \(now) AND (valid_until IS NULL OR valid_until > \(now)) ORDER BY place, item", database)
    }

    /// An item that is offered at an instant.
    func find(_ item: String, at now: Instant, _ sql: some QueryExecutor) async throws -> StoredItem? {
        try await items("item = \(item) AND valid_from <= \(now) AND (valid_until IS NULL OR valid_until > \(now))", sql).first
    }

    /// What a product of the stores is, offered or not any more: what was paid for is granted.
    func find(product: String, _ sql: some QueryExecutor) async throws -> StoredItem? {
        let plain = StoreEvent.plainProduct(product)
        return try await items("product = ANY(\([product, plain])) ORDER BY product = \(product) DESC LIMIT 1", sql).first
    }

    private func items(_ condition: Query, _ sql: some QueryExecutor) async throws -> [StoredItem] {
        var items = try await sql.query(
            """
            SELECT item, kind, title, description, coins, product, usd_cents, period, months, perks, is_popular, compared_with,
                limit_count, limit_days, limit_per_streak, valid_until, needs_premium
            FROM catalog_item WHERE \(condition)
            """
        ).map { row in
            StoredItem(
                item: try row.get("item"),
                kind: try row.get("kind"),
                title: try row.get("title"),
                description: try row.get("description"),
                coins: try row.get("coins", as: Int64?.self),
                product: try row.get("product", as: String?.self),
                cents: try row.get("usd_cents", as: Int32?.self),
                period: try row.get("period", as: String?.self),
                months: try row.get("months", as: Int32?.self),
                perks: try row.get("perks", as: [String].self),
                isPopular: try row.get("is_popular"),
                comparedWith: try row.get("compared_with", as: String?.self),
                limitCount: try row.get("limit_count", as: Int32?.self),
                limitDays: try row.get("limit_days", as: Int32?.self),
                isPerStreak: try row.get("limit_per_streak"),
                validUntil: try row.get("valid_until", as: Instant?.self),
                needsPremium: try row.get("needs_premium"),
                goods: []
            )
        }
        let rows = try await sql.query(
            "SELECT item, good, count FROM catalog_good WHERE item = ANY(\(items.map(\.item))) ORDER BY item, good"
        )
        var goods: [String: [(good: String, count: Int32)]] = [:]
        for row in rows {
            let (item, good, count) = try row.decode(as: (String.self, String.self, Int32.self))
            goods[item, default: []].append((good, count))
        }
        for index in items.indices { items[index].goods = goods[items[index].item] ?? [] }
        return items
    }
}
