public import Kernel

/// What the events of one original transaction come to (BI-1, BI-2).
///
/// The fold takes them in their order, whatever the order of arrival; each is used once. So the state is that of the ordered history.
public struct SubscriptionState: Hashable, Sendable {
    /// What a subscription is at; the numbers are the proto's.
    public enum Status: Int32, Hashable, Sendable {
        case active = 1
        case cancelled = 2
        case billingRetry = 3
        case expired = 4
    }

    public var store: String
    /// The product of the period that began last.
    public var product: String
    public var periodType: StoreEvent.PeriodType
    /// When the present period began.
    public var purchasedAt: Instant?
    /// When the paid period ends; nil: never.
    public var expiresAt: Instant?
    /// Until when there is access although a payment has failed.
    public var graceUntil: Instant?
    /// When it ended before its time, or was seen to be over.
    public var endedAt: Instant?
    public var isUnsubscribed: Bool
    public var hasBillingIssue: Bool
    /// Whether a period follows by itself: not for gifts.
    public var isRenewable: Bool
    /// Granted by RevenueCat while the store cannot be asked; at most a day.
    public var isTemporary: Bool
    /// Whether it gives premium, and not something else that the app sells.
    public var givesPremium: Bool

    /// A state as it was stored.
    public init(
        store: String,
        product: String,
        periodType: StoreEvent.PeriodType = .normal,
        purchasedAt: Instant? = nil,
        expiresAt: Instant? = nil,
        graceUntil: Instant? = nil,
        endedAt: Instant? = nil,
        isUnsubscribed: Bool = false,
        hasBillingIssue: Bool = false,
        isRenewable: Bool = true,
        isTemporary: Bool = false,
        givesPremium: Bool = true
    ) {
        (self.store, self.product, self.periodType, self.purchasedAt) = (store, product, periodType, purchasedAt)
        (self.expiresAt, self.graceUntil, self.endedAt) = (expiresAt, graceUntil, endedAt)
        (self.isUnsubscribed, self.hasBillingIssue) = (isUnsubscribed, hasBillingIssue)
        (self.isRenewable, self.isTemporary, self.givesPremium) = (isRenewable, isTemporary, givesPremium)
    }

    /// Until when it gives access; nil: without end. After a failed payment until the end of the grace period, if there is one (BI-2).
    public var accessUntil: Instant? {
        var end = expiresAt
        if hasBillingIssue, let paid = end, let graceUntil { end = max(paid, graceUntil) }
        guard let endedAt else { return end }
        return end.map { min($0, endedAt) } ?? endedAt
    }

    /// Whether it gives access at an instant.
    public func grants(at now: Instant) -> Bool { accessUntil.map { $0 > now } ?? true }

    /// Whether the store means to renew it.
    public var willRenew: Bool { isRenewable && !isUnsubscribed && endedAt == nil }

    /// What it is at.
    public func status(at now: Instant) -> Status {
        if !grants(at: now) { return .expired }
        if hasBillingIssue { return .billingRetry }
        return isUnsubscribed ? .cancelled : .active
    }

    /// Whether it counts for the monthly bonus (RC-1).
    public var earnsBonus: Bool { givesPremium && periodType != .trial && !isTemporary }

    /// Folds a history, in any order and with repeats.
    ///
    /// - Returns: nil when none of the events says what was subscribed to.
    public static func fold(_ events: some Sequence<StoreEvent>) -> SubscriptionState? {
        var state: SubscriptionState?
        var known: Set<String> = []
        for event in events.sorted() where event.mayConcernSubscription && known.insert(event.id).inserted {
            if state == nil || event.beginsPeriod {
                guard event.isAboutSubscription, let begun = SubscriptionState(of: event, after: state) else { continue }
                state = begun
            }
            state?.apply(event)
        }
        return state
    }

    /// The period that an event describes. What it gives is what the period before gave, when the event does not say it; before the first that says
    /// it, premium: senders that leave it out sell nothing else.
    private init?(of event: StoreEvent, after previous: SubscriptionState?) {
        guard let product = event.product else { return nil }
        self.init(
            store: event.store,
            product: product,
            periodType: event.isPromotional ? .promotional : event.periodType,
            purchasedAt: event.purchasedAt,
            expiresAt: event.expiresAt,
            isRenewable: !event.isPromotional && ![.temporaryGrant, .nonRenewingPurchase].contains(event.kind),
            isTemporary: event.kind == .temporaryGrant,
            givesPremium: event.givesPremium ?? previous?.givesPremium ?? true
        )
    }

    /// What an event changes in the present period.
    private mutating func apply(_ event: StoreEvent) {
        switch event.kind {
        case .uncancellation:
            isUnsubscribed = false
            expiresAt = event.expiresAt ?? expiresAt
        case .extended: (expiresAt, endedAt) = (event.expiresAt ?? expiresAt, nil)
        case .refundReversed: (expiresAt, endedAt) = (event.expiresAt ?? expiresAt, nil)
        case .billingIssue: (hasBillingIssue, graceUntil) = (true, event.graceUntil)
        case .cancellation:
            switch event.cancelReason {
            case .refunded: if concernsPresentPeriod(event) { end(event) }
            case .billingError: hasBillingIssue = true
            case .unsubscribed, nil: isUnsubscribed = true
            }
        case .expiration:
            // The end of the old product after a change of plan does not end the new one.
            if event.product.map({ StoreEvent.isSame($0, product) }) ?? true, concernsPresentPeriod(event) { end(event) }
        case .snapshot:
            (isUnsubscribed, hasBillingIssue) = (event.isUnsubscribed, event.hasBillingIssue)
            (graceUntil, endedAt) = (event.graceUntil, event.refundedAt)
        default: break
        }
    }

    /// Whether an event is not about a period before the present one: a refund of last year's does not end this year's.
    private func concernsPresentPeriod(_ event: StoreEvent) -> Bool {
        guard let purchasedAt, let of = event.purchasedAt else { return true }
        return of >= purchasedAt
    }

    private mutating func end(_ event: StoreEvent) { endedAt = min(event.expiresAt ?? event.at, event.at) }
}

extension StoreEvent {
    /// Whether it changes a subscription of its transaction, if that is one: a refund of a lifetime need not say what it gave.
    fileprivate var mayConcernSubscription: Bool { isAboutSubscription || kind == .cancellation || kind == .refundReversed }

    /// Whether it says all about a period that begins with it.
    fileprivate var beginsPeriod: Bool {
        switch kind {
        case .initialPurchase, .renewal, .temporaryGrant, .nonRenewingPurchase, .snapshot: true
        default: false
        }
    }
}
