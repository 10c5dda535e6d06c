internal import BillingDomain
internal import FoundationEssentials
internal import Kernel
internal import OutgoingHTTP

/// RevenueCat's REST API, version 1. A question about an unknown id would make a customer of it: it is asked only for users of ours.
struct RevenueCatClient: Sendable {
    let http: OutgoingHTTP
    /// Without a slash at its end.
    let url: String
    /// Empty: there is no store to ask.
    let key: String
    let premium: PremiumEntitlement

    var isOn: Bool { !key.isEmpty }

    /// What the store knows of a customer.
    ///
    /// - Parameter name: a user's id as RevenueCat writes it: an id in other letters is another customer.
    /// - Throws: `BILLING_OFF` without a key, `UNAVAILABLE` when there is no usable answer.
    func subscriber(_ name: String) async throws -> StoreSnapshot {
        let reply = try await send("GET", name)
        guard reply.status == 200 || reply.status == 201 else { throw Self.unavailable(reply) }
        do { return StoreSnapshot(try JSONDecoder().decode(SubscriberReply.self, from: Data(reply.body)), premium) } catch {
            throw ServiceError.storeUnavailable(60)
        }
    }

    /// Deletes the customer; one that is not there counts as deleted.
    ///
    /// - Throws: as `subscriber`.
    func delete(_ name: String) async throws {
        let reply = try await send("DELETE", name)
        guard reply.status == 404 || (200...299).contains(reply.status) else { throw Self.unavailable(reply) }
    }

    private func send(_ method: String, _ name: String) async throws -> OutgoingHTTP.Reply {
        guard isOn else { throw ServiceError(.failedPrecondition, "BILLING_OFF", "No store is set up here.") }
        let headers = [("Authorization", "Bearer \(key)"), ("Accept", "application/json")]
        do {
            return try await http.send(.init(method, "\(url)/v1/subscribers/\(name)", headers: headers, timeout: .seconds(8)))
        } catch is OutgoingHTTP.Failure { throw ServiceError.storeUnavailable(5) }
    }

    private static func unavailable(_ reply: OutgoingHTTP.Reply) -> ServiceError {
        .storeUnavailable(reply.header("Retry-After").flatMap { Int($0) } ?? 10)
    }
}

extension ServiceError {
    /// The store does not answer.
    static func storeUnavailable(_ seconds: Int) -> ServiceError {
        ServiceError(.unavailable, "UNAVAILABLE", "The store cannot be asked right now.", retryAfter: min(3_600, max(1, seconds)))
    }
}

/// What the store knew of a customer at an instant.
struct StoreSnapshot: Sendable {
    /// A subscription; the API does not say its original transaction.
    struct Subscription: Sendable {
        var event: StoreEvent
        var isSandbox: Bool
    }

    /// By the clock of the store.
    var at: Instant?
    var subscriptions: [Subscription]
    /// Packs, one entry for each transaction.
    var packs: [Subscription]
}

private struct SubscriberReply: Decodable {
    let request_date_ms: Int64?
    let subscriber: Subscriber

    struct Subscriber: Decodable {
        let subscriptions: [String: Item]?
        let non_subscriptions: [String: [Item]]?
        let entitlements: [String: Grant]?
    }

    /// By which product there is an entitlement: of several the one by which it lasts longest.
    struct Grant: Decodable {
        let product: String?
        let until: Instant?

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: FieldName.self)
            let plan = fields.text("product_plan_identifier")
            product = fields.text("product_identifier").map { name in plan.map { "\(name):\($0)" } ?? name }
            until = [fields.time("expires_date"), fields.time("grace_period_expires_date")].compactMap { $0 }.max()
        }

        func names(_ product: String) -> Bool { self.product.map { StoreEvent.isSame($0, product) } ?? false }
    }

    /// Of a subscription or a pack: fields that do not belong to it are unset.
    struct Item: Decodable {
        let transaction, identifier, store, periodType, plan: String?
        let purchasedAt, expiresAt, graceUntil, unsubscribedAt, billingIssueAt, refundedAt: Instant?
        let isSandbox: Bool

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: FieldName.self)
            transaction = fields.text("store_transaction_id")
            identifier = fields.text("id")
            store = fields.text("store")
            periodType = fields.text("period_type")
            plan = fields.text("product_plan_identifier")
            purchasedAt = fields.time("purchase_date")
            expiresAt = fields.time("expires_date")
            graceUntil = fields.time("grace_period_expires_date")
            unsubscribedAt = fields.time("unsubscribe_detected_at")
            billingIssueAt = fields.time("billing_issues_detected_at")
            refundedAt = fields.time("refunded_at")
            isSandbox = fields.flag("is_sandbox")
        }

        func event(_ kind: StoreEvent.Kind, product: String, at: Instant) -> StoreEvent {
            var event = StoreEvent(
                id: "",
                kind: kind,
                at: at,
                store: store?.uppercased() ?? "",
                product: plan.map { "\(product):\($0)" } ?? product,
                transaction: transaction ?? identifier,
                periodType: StoreEvent.PeriodType(text: periodType),
                purchasedAt: purchasedAt,
                expiresAt: expiresAt,
                graceUntil: graceUntil
            )
            event.isUnsubscribed = unsubscribedAt != nil
            event.hasBillingIssue = billingIssueAt != nil
            event.refundedAt = refundedAt
            return event
        }
    }
}

extension SubscriberReply.Subscriber {
    /// Whether a product gives premium; nil when the reply does not say it: only one of the products of an entitlement is named.
    func gives(_ premium: PremiumEntitlement, _ product: String, at: Instant) -> Bool? {
        guard let entitlements else { return nil }
        guard let grant = entitlements[premium.name] else { return false }
        if grant.names(product) { return true }
        let isHeld = grant.until.map { $0 > at } ?? true
        return isHeld && !entitlements.values.contains { $0.names(product) } ? nil : false
    }
}

extension StoreSnapshot {
    fileprivate init(_ reply: SubscriberReply, _ premium: PremiumEntitlement) {
        at = reply.request_date_ms.map { Instant(milliseconds: $0) }.flatMap { Instant.writable.contains($0) ? $0 : nil }
        let instant = at ?? .epoch
        func entry(_ item: SubscriberReply.Item, _ event: StoreEvent) -> Subscription {
            var event = event
            event.givesPremium = event.product.flatMap { reply.subscriber.gives(premium, $0, at: instant) }
            return Subscription(event: event, isSandbox: item.isSandbox)
        }
        subscriptions = (reply.subscriber.subscriptions ?? [:]).sorted { $0.key < $1.key }.map { product, item in
            entry(item, item.event(.snapshot, product: product, at: instant))
        }
        packs = (reply.subscriber.non_subscriptions ?? [:]).sorted { $0.key < $1.key }.flatMap { product, items in
            items.map { item in
                entry(item, item.event(.nonRenewingPurchase, product: product, at: item.purchasedAt ?? instant))
            }
        }
    }
}
