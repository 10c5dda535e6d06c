public import Kernel

/// An event of RevenueCat, as far as it matters here (BI-1).
public struct StoreEvent: Hashable, Sendable {
    /// What happened. Kinds without a case of their own change nothing.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case initialPurchase = "INITIAL_PURCHASE"
        case renewal = "RENEWAL"
        case temporaryGrant = "TEMPORARY_ENTITLEMENT_GRANT"
        case nonRenewingPurchase = "NON_RENEWING_PURCHASE"
        case uncancellation = "UNCANCELLATION"
        case extended = "SUBSCRIPTION_EXTENDED"
        case refundReversed = "REFUND_REVERSED"
        case productChange = "PRODUCT_CHANGE"
        case paused = "SUBSCRIPTION_PAUSED"
        case billingIssue = "BILLING_ISSUE"
        case cancellation = "CANCELLATION"
        case expiration = "EXPIRATION"
        case transfer = "TRANSFER"
        case alias = "SUBSCRIBER_ALIAS"
        case redeemed = "PURCHASE_REDEEMED"
        /// Not an event of a webhook: what the REST API said at an instant.
        case snapshot = "SNAPSHOT"
        /// `INVOICE_ISSUANCE`, `VIRTUAL_CURRENCY_TRANSACTION`, `TEST`, … and those that are newer than this code.
        case other = ""

        /// - Parameter text: as RevenueCat calls it. `BILLING_ISSUE_DETECTED` is another name of `BILLING_ISSUE`.
        public init(text: String) {
            self = text == "BILLING_ISSUE_DETECTED" ? .billingIssue : Kind(rawValue: text) ?? .other
        }

        /// The place among events of one instant: what begins a period before what ends it. `BILLING_ISSUE`, `CANCELLATION` and `EXPIRATION` are
        /// sent together, and are taken in this order. What REST said is the last word about its instant.
        var rank: Int { Self.allCases.firstIndex(of: self) ?? Self.allCases.count }
    }

    /// Of what kind the paid period is.
    public enum PeriodType: Int32, Hashable, Sendable {
        case normal = 1
        case trial = 2
        case intro = 3
        case promotional = 4
    }

    /// Why a subscription was cancelled, as far as it matters.
    public enum CancelReason: Hashable, Sendable {
        case unsubscribed
        case billingError
        /// The store has given the money back.
        case refunded
    }

    /// Unique; a repeat has the same.
    public var id: String
    public var kind: Kind
    /// When RevenueCat generated it: the order of a history.
    public var at: Instant
    /// `APP_STORE`, `PLAY_STORE`, `PROMOTIONAL`, …
    public var store: String
    /// As the store names it; Google's have the base plan behind a colon.
    public var product: String?
    public var transaction: String?
    public var originalTransaction: String?
    public var periodType: PeriodType
    public var purchasedAt: Instant?
    public var expiresAt: Instant?
    public var graceUntil: Instant?
    public var cancelReason: CancelReason?
    /// How many of a product that does not renew, 1 to 100.
    public var quantity: Int32
    /// Whether what was bought gives premium; nil: the event says nothing of what it gives.
    public var givesPremium: Bool?
    /// Of a snapshot: whether the user has cancelled.
    public var isUnsubscribed = false
    /// Of a snapshot: whether a payment has failed.
    public var hasBillingIssue = false
    /// Of a snapshot: when the money was given back.
    public var refundedAt: Instant?

    /// An event; what is not given is unset.
    public init(
        id: String,
        kind: Kind,
        at: Instant,
        store: String = "APP_STORE",
        product: String? = nil,
        transaction: String? = nil,
        originalTransaction: String? = nil,
        periodType: PeriodType = .normal,
        purchasedAt: Instant? = nil,
        expiresAt: Instant? = nil,
        graceUntil: Instant? = nil,
        cancelReason: CancelReason? = nil,
        quantity: Int32 = 1
    ) {
        (self.id, self.kind, self.at, self.store, self.product) = (id, kind, at, store, product)
        (self.transaction, self.originalTransaction, self.periodType) = (transaction, originalTransaction, periodType)
        (self.purchasedAt, self.expiresAt, self.graceUntil) = (purchasedAt, expiresAt, graceUntil)
        (self.cancelReason, self.quantity) = (cancelReason, quantity)
    }

    /// Gifts of the operator.
    public var isPromotional: Bool { store == "PROMOTIONAL" }

    /// Whether it is about a subscription, and not about a pack. A purchase that gives premium and does not renew is one: without an end it is a
    /// lifetime.
    public var isAboutSubscription: Bool {
        switch kind {
        case .initialPurchase, .renewal, .temporaryGrant, .uncancellation, .extended, .billingIssue, .expiration, .snapshot: true
        case .nonRenewingPurchase: isPromotional || givesPremium == true
        case .cancellation, .refundReversed: isPromotional || expiresAt != nil || givesPremium == true
        case .productChange, .paused, .transfer, .alias, .redeemed, .other: false
        }
    }

    /// Whether it is about something that was bought once, for money.
    public var isAboutPack: Bool {
        switch kind {
        case .nonRenewingPurchase, .cancellation, .refundReversed: !isAboutSubscription
        default: false
        }
    }

    /// What it is about within its store: all events with one key are folded together.
    public var transactionKey: String? {
        isAboutPack
            ? transaction ?? originalTransaction
            : originalTransaction ?? transaction ?? (isAboutSubscription ? "event \(id)" : nil)
    }

    /// Whether two names mean one product: REST may leave out Google's base plan.
    public static func isSame(_ one: String, _ other: String) -> Bool {
        one.contains(":") && other.contains(":") ? one == other : plainProduct(one) == plainProduct(other)
    }

    /// The product without Google's base plan: `premium:monthly` is `premium`.
    public static func plainProduct(_ product: String) -> String { String(product.prefix { $0 != ":" }) }
}

/// The order of a history: by the instant of generation, then by the kind's rank, then by id.
extension StoreEvent: Comparable {
    public static func < (left: StoreEvent, right: StoreEvent) -> Bool {
        (left.at.microseconds, left.kind.rank, left.id) < (right.at.microseconds, right.kind.rank, right.id)
    }
}
