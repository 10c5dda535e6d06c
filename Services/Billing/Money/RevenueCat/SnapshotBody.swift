internal import BillingDomain
internal import FoundationEssentials
internal import Kernel

/// What REST said, written as a webhook's body: so it is kept, ordered and applied like every other event.
struct SnapshotBody: Encodable {
    private let event: Fields

    private struct Fields: Encodable {
        var id, type, app_user_id, store, environment: String
        var product_id, transaction_id, original_transaction_id: String?
        var period_type: String
        var event_timestamp_ms: Int64
        var purchased_at_ms, expiration_at_ms, grace_period_expiration_at_ms, refunded_at_ms: Int64?
        var is_unsubscribed, has_billing_issue: Bool
        /// Left out when the answer did not say it.
        var entitlement_ids: [String]?
    }

    /// - Parameters:
    ///   - event: with its id and key.
    ///   - user: whom it was asked for.
    ///   - premium: what an entry that gives premium names.
    static func bytes(of event: StoreEvent, user: UserID, isSandbox: Bool, premium: PremiumEntitlement) throws -> [UInt8] {
        let type =
            switch event.periodType {
            case .normal: "NORMAL"
            case .trial: "TRIAL"
            case .intro: "INTRO"
            case .promotional: "PROMOTIONAL"
            }
        let fields = Fields(
            id: event.id,
            type: event.kind.rawValue,
            app_user_id: user.description,
            store: event.store,
            environment: isSandbox ? "SANDBOX" : "PRODUCTION",
            product_id: event.product,
            transaction_id: event.transaction,
            original_transaction_id: event.originalTransaction,
            period_type: type,
            event_timestamp_ms: event.at.milliseconds,
            purchased_at_ms: event.purchasedAt?.milliseconds,
            expiration_at_ms: event.expiresAt?.milliseconds,
            grace_period_expiration_at_ms: event.graceUntil?.milliseconds,
            refunded_at_ms: event.refundedAt?.milliseconds,
            is_unsubscribed: event.isUnsubscribed,
            has_billing_issue: event.hasBillingIssue,
            entitlement_ids: event.givesPremium.map { $0 ? [premium.name] : [] }
        )
        return Array(try JSONEncoder().encode(SnapshotBody(event: fields)))
    }
}
