import Kernel
import Synchronization

/// Stands for RevenueCat: makes the events of purchases, and answers its REST API (version 1) about them (BI-1).
final class StoreStandIn: Sendable {
    /// The kinds of events that a test can have sent.
    static let kinds = [
        "INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE", "CANCELLATION", "EXPIRATION", "UNCANCELLATION", "BILLING_ISSUE",
        "PRODUCT_CHANGE",
    ]

    /// What a test has bought.
    struct Order: Sendable {
        var user: String
        var product: String
        /// By the product when nil.
        var kind: String?
        /// When a subscription ends; 30 days on when nil.
        var expiresAt: Instant?
        /// A new one when nil.
        var transaction: String?
        /// By the world's clock.
        var now: Instant
    }

    /// What is to be sent to the webhook.
    struct Event: Sendable {
        let id: String
        let transaction: String
        let body: JSON
    }

    private struct Purchase {
        var product: String
        var transaction: String
        var original: String
        var isSubscription: Bool
        var purchasedAt: Instant
        var expiresAt: Instant?
        var unsubscribedAt: Instant?
        var billingIssueAt: Instant?

        /// Also without an end: a lifetime.
        var givesPremium: Bool { product.hasPrefix("premium") }
    }

    private struct State {
        var purchases: [String: [Purchase]] = [:]
        var events = 0
    }

    private static let period = Interval.days(30)
    private let world: String
    private let state = Mutex(State())

    /// - Parameter world: makes the ids of its events and transactions its own.
    init(world: String) { self.world = world }

    /// Notes what has happened to a purchase.
    func order(_ order: Order) -> Event {
        state.withLock { state in
            state.events += 1
            let renews = order.product.hasPrefix("premium") && order.kind != "NON_RENEWING_PURCHASE"
            let kind = order.kind ?? (renews ? "INITIAL_PURCHASE" : "NON_RENEWING_PURCHASE")
            var list = state.purchases[order.user] ?? []
            let known = list.lastIndex { purchase in
                order.transaction.map { $0 == purchase.transaction } ?? (purchase.product == order.product)
            }
            let isNew = ["INITIAL_PURCHASE", "NON_RENEWING_PURCHASE"].contains(kind)
            var purchase: Purchase
            if let known, !isNew || order.transaction != nil {
                purchase = list.remove(at: known)
            } else {
                let transaction = order.transaction ?? "\(world)-transaction-\(state.events)"
                purchase = Purchase(
                    product: order.product,
                    transaction: transaction,
                    original: transaction,
                    isSubscription: renews,
                    purchasedAt: order.now
                )
                if renews { purchase.expiresAt = order.expiresAt ?? order.now + Self.period }
            }
            Self.apply(kind, order, &purchase, number: state.events, world: world)
            list.append(purchase)
            state.purchases[order.user] = list
            let id = "\(world)-event-\(state.events)"
            return Event(id: id, transaction: purchase.transaction, body: Self.body(id, kind, order, purchase))
        }
    }

    private static func apply(_ kind: String, _ order: Order, _ purchase: inout Purchase, number: Int, world: String) {
        if let end = order.expiresAt, purchase.isSubscription { purchase.expiresAt = end }
        switch kind {
        case "RENEWAL":
            purchase.transaction = order.transaction ?? "\(world)-transaction-\(number)"
            purchase.purchasedAt = order.now
            purchase.expiresAt = order.expiresAt ?? order.now + period
            (purchase.unsubscribedAt, purchase.billingIssueAt) = (nil, nil)
        case "CANCELLATION": purchase.unsubscribedAt = order.now
        case "UNCANCELLATION": purchase.unsubscribedAt = nil
        case "EXPIRATION": purchase.expiresAt = order.expiresAt ?? order.now
        case "BILLING_ISSUE": purchase.billingIssueAt = order.now
        case "PRODUCT_CHANGE": purchase.product = order.product
        default: break
        }
    }

    private static func body(_ id: String, _ kind: String, _ order: Order, _ purchase: Purchase) -> JSON {
        var event: [String: JSON] = [
            "id": .text(id), "type": .text(kind), "app_user_id": .text(order.user), "product_id": .text(purchase.product),
            "event_timestamp_ms": .whole(order.now.milliseconds), "environment": .text("PRODUCTION"), "store": .text("APP_STORE"),
            "transaction_id": .text(purchase.transaction), "original_transaction_id": .text(purchase.original),
            "purchased_at_ms": .whole(purchase.purchasedAt.milliseconds), "period_type": .text("NORMAL"),
            // As RevenueCat says that a product has no entitlement.
            "entitlement_ids": purchase.givesPremium ? .list([.text("premium")]) : .null,
        ]
        if let end = purchase.expiresAt { event["expiration_at_ms"] = .whole(end.milliseconds) }
        if kind == "CANCELLATION" { event["cancel_reason"] = .text("UNSUBSCRIBE") }
        return .object(["api_version": .text("1.0"), "event": .object(event)])
    }

    /// What the REST API says of a customer.
    func subscriber(_ user: String, now: Instant) -> JSON {
        let purchases = state.withLock { $0.purchases[user] ?? [] }
        var subscriptions: [String: JSON] = [:]
        var packs: [String: [JSON]] = [:]
        for purchase in purchases {
            var item: [String: JSON] = [
                "store": .text("app_store"), "purchase_date": .text("\(purchase.purchasedAt)"), "is_sandbox": .flag(false),
                "store_transaction_id": .text(purchase.transaction),
            ]
            guard purchase.isSubscription else {
                item["id"] = .text(purchase.transaction)
                packs[purchase.product, default: []].append(.object(item))
                continue
            }
            item["period_type"] = .text("normal")
            item["expires_date"] = .optional(purchase.expiresAt.map { "\($0)" })
            item["unsubscribe_detected_at"] = .optional(purchase.unsubscribedAt.map { "\($0)" })
            item["billing_issues_detected_at"] = .optional(purchase.billingIssueAt.map { "\($0)" })
            subscriptions[purchase.product] = .object(item)
        }
        let subscriber: JSON = .object([
            "subscriptions": .object(subscriptions), "non_subscriptions": .object(packs.mapValues { .list($0) }),
            "entitlements": .object(Self.entitlements(purchases)),
        ])
        return .object(["request_date_ms": .whole(now.milliseconds), "subscriber": subscriber])
    }

    /// By which product there is premium: by the one by which it lasts longest.
    private static func entitlements(_ purchases: [Purchase]) -> [String: JSON] {
        let end = Instant.writable.upperBound
        let longest = purchases.filter(\.givesPremium).max { ($0.expiresAt ?? end) < ($1.expiresAt ?? end) }
        guard let longest else { return [:] }
        return [
            "premium": .object([
                "product_identifier": .text(longest.product), "purchase_date": .text("\(longest.purchasedAt)"),
                "expires_date": .optional(longest.expiresAt.map { "\($0)" }),
            ])
        ]
    }

    /// The customer is deleted, as RevenueCat is asked to when an account is purged.
    func delete(_ user: String) { state.withLock { $0.purchases[user] = nil } }
}
