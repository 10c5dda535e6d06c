internal import BillingDomain
internal import FoundationEssentials
internal import Kernel

/// An event of RevenueCat as it was received: what of it matters to the rules, and whom it names (BI-1).
///
/// RevenueCat adds fields and kinds unannounced, so a field that is missing or of another type is taken as unset. Only the id must be there.
struct ReceivedEvent: Sendable {
    var event: StoreEvent
    /// As RevenueCat calls it, also when the kind is not known here.
    var kind: String
    /// `app_user_id`, `original_app_user_id` and `aliases`, in this order, each once; of a transfer both sides.
    var names: [String]
    var transferredFrom: [String]
    var transferredTo: [String]
    var isSandbox: Bool
    /// What was paid, in thousandths of the currency's unit.
    var priceMilli: Int64
    var currency: String

    /// From a webhook's body.
    ///
    /// - Parameters:
    ///   - receivedAt: stands in for a missing time.
    ///   - premium: the entitlement that means premium.
    /// - Throws: `VALIDATION_ERROR` naming `body` when it is not JSON, or has no id.
    init(body: [UInt8], receivedAt: Instant, premium: PremiumEntitlement) throws(ServiceError) {
        do { self.init(try JSONDecoder().decode(Body.self, from: Data(body)).event, receivedAt: receivedAt, premium) } catch {
            throw .validation(field: "body", "must be JSON with an event that has an id")
        }
    }

    private init(_ fields: Fields, receivedAt: Instant, _ premium: PremiumEntitlement) {
        var event = StoreEvent(
            id: fields.id,
            kind: StoreEvent.Kind(text: fields.kind),
            at: fields.at ?? receivedAt,
            store: fields.store?.uppercased() ?? "",
            product: fields.product,
            transaction: fields.transaction,
            originalTransaction: fields.originalTransaction,
            periodType: StoreEvent.PeriodType(text: fields.periodType),
            purchasedAt: fields.purchasedAt,
            expiresAt: fields.expiresAt,
            graceUntil: fields.graceUntil,
            cancelReason: StoreEvent.CancelReason(text: fields.cancelReason),
            quantity: Int32(clamping: min(100, max(1, fields.quantity ?? 1)))
        )
        event.givesPremium = fields.entitlements.map { $0.contains(premium.name) }
        event.isUnsubscribed = fields.isUnsubscribed
        event.hasBillingIssue = fields.hasBillingIssue
        event.refundedAt = fields.refundedAt
        self.event = event
        kind = fields.kind
        (transferredFrom, transferredTo) = (fields.transferredFrom, fields.transferredTo)
        var known: Set<String> = []
        names = (fields.names + transferredFrom + transferredTo).filter { known.insert($0).inserted }
        // What does not say that it was paid for in production was not. Events that give nothing say it at times only.
        let givesSomething = event.isAboutSubscription || event.isAboutPack
        isSandbox = fields.environment.map { $0.uppercased() != "PRODUCTION" } ?? givesSomething
        (priceMilli, currency) = (fields.priceMilli, fields.currency ?? "")
    }

    private struct Body: Decodable {
        let event: Fields
    }

    private struct Fields: Decodable {
        let id: String
        let kind: String
        let at: Instant?
        let store, product, transaction, originalTransaction, periodType, cancelReason, environment, currency: String?
        let purchasedAt, expiresAt, graceUntil, refundedAt: Instant?
        let quantity: Int64?
        let priceMilli: Int64
        let names, transferredFrom, transferredTo: [String]
        /// What it gives: empty when its product has no entitlement, nil when it does not say it.
        let entitlements: [String]?
        let isUnsubscribed, hasBillingIssue: Bool

        init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: FieldName.self)
            guard let id = fields.text("id") else {
                throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no id"))
            }
            self.id = id
            kind = fields.text("type") ?? ""
            at = fields.instant("event_timestamp_ms")
            store = fields.text("store")
            product = fields.text("product_id")
            transaction = fields.text("transaction_id")
            originalTransaction = fields.text("original_transaction_id")
            periodType = fields.text("period_type")
            cancelReason = fields.text("cancel_reason")
            environment = fields.text("environment")
            currency = fields.text("currency")
            purchasedAt = fields.instant("purchased_at_ms")
            expiresAt = fields.instant("expiration_at_ms")
            graceUntil = fields.instant("grace_period_expiration_at_ms")
            refundedAt = fields.instant("refunded_at_ms")
            quantity = fields.number("quantity").map { Int64(clamping: Int($0)) }
            priceMilli = (fields.number("price_in_purchased_currency") ?? fields.number("price")).map { Int64($0 * 1_000) } ?? 0
            names = [fields.text("app_user_id"), fields.text("original_app_user_id")].compactMap { $0 } + fields.texts("aliases")
            transferredFrom = fields.texts("transferred_from")
            transferredTo = fields.texts("transferred_to")
            // As it was called before there could be several: the second.
            entitlements = fields.list("entitlement_ids") ?? fields.list("entitlement_id")
            isUnsubscribed = fields.flag("is_unsubscribed")
            hasBillingIssue = fields.flag("has_billing_issue")
        }
    }
}

/// Any field of an object.
struct FieldName: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringLiteral value: String) { stringValue = value }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue _: Int) { nil }
}

extension KeyedDecodingContainer<FieldName> {
    /// A text that a database holds: without NUL, not empty, at most 300 bytes. Numbers are taken as they are written.
    func text(_ name: FieldName) -> String? {
        let found = (try? decode(String.self, forKey: name)) ?? (try? decode(Int64.self, forKey: name)).map { String($0) }
        return found.flatMap { $0.isStorable ? $0 : nil }
    }

    /// At most 50 texts.
    func texts(_ name: FieldName) -> [String] {
        ((try? decode([String].self, forKey: name)) ?? []).filter(\.isStorable).prefix(50).map { $0 }
    }

    /// Texts, as `texts`; a single text is a list of one, and null is none. nil when the field is missing or neither.
    func list(_ name: FieldName) -> [String]? {
        guard contains(name) else { return nil }
        if (try? decodeNil(forKey: name)) == true { return [] }
        if (try? decode([String].self, forKey: name)) != nil { return texts(name) }
        return text(name).map { [$0] }
    }

    /// A number of at most nine digits before the point.
    func number(_ name: FieldName) -> Double? {
        (try? decode(Double.self, forKey: name)).flatMap { $0.isFinite && abs($0) < 1_000_000_000 ? $0 : nil }
    }

    /// An instant in milliseconds.
    func instant(_ name: FieldName) -> Instant? {
        let exact = try? decode(Int64.self, forKey: name)
        let rounded = (try? decode(Double.self, forKey: name)).flatMap { Int64(exactly: $0.rounded()) }
        guard let milliseconds = exact ?? rounded else { return nil }
        let instant = Instant(milliseconds: milliseconds)
        return Instant.writable.contains(instant) ? instant : nil
    }

    /// An instant in RFC 3339.
    func time(_ name: FieldName) -> Instant? { text(name).flatMap { Instant(rfc3339: $0) } }

    /// False when it is missing.
    func flag(_ name: FieldName) -> Bool { (try? decode(Bool.self, forKey: name)) ?? false }
}

extension String {
    fileprivate var isStorable: Bool { !isEmpty && utf8.count <= 300 && !utf8.contains(0) }
}

extension StoreEvent.PeriodType {
    /// From RevenueCat's word, in either case; anything else is a paid period.
    init(text: String?) {
        switch text?.uppercased() {
        case "TRIAL": self = .trial
        case "INTRO": self = .intro
        case "PROMOTIONAL": self = .promotional
        default: self = .normal
        }
    }
}

extension StoreEvent.CancelReason {
    init?(text: String?) {
        switch text {
        case "CUSTOMER_SUPPORT": self = .refunded
        case "BILLING_ERROR": self = .billingError
        case nil: return nil
        default: self = .unsubscribed
        }
    }
}
