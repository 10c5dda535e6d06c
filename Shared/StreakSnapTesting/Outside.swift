public import Foundation
import StreakSnapClient

/// What happens at a store, as RevenueCat calls it.
public enum StoreEvent: String, Sendable {
    /// A subscription begins.
    case initialPurchase = "INITIAL_PURCHASE"
    /// A subscription goes on.
    case renewal = "RENEWAL"
    /// A pack is bought.
    case nonRenewingPurchase = "NON_RENEWING_PURCHASE"
    /// A subscription will not be renewed, or something is refunded.
    case cancellation = "CANCELLATION"
    /// A subscription has ended.
    case expiration = "EXPIRATION"
    /// A subscription will be renewed after all.
    case uncancellation = "UNCANCELLATION"
    /// The store could not charge.
    case billingIssue = "BILLING_ISSUE"
    /// A subscription becomes another.
    case productChange = "PRODUCT_CHANGE"
}

/// A purchase that the store has reported.
public struct TestPurchase: Sendable, Hashable {
    /// RevenueCat's event.
    public let eventID: String
    /// The store's transaction; given again it is the same purchase.
    public let transactionID: String
}

extension TestWorld {
    /// Buys as a user would in the app's store: RevenueCat reports it to the server. It returns when that has taken effect (BI-1).
    ///
    /// - Parameters:
    ///   - product: of the store, such as `premium_monthly` or `recovery_token_pack_3`.
    ///   - person: who buys.
    ///   - event: nil for what fits the product.
    ///   - expiresAt: when a subscription ends; nil for 30 days from now.
    ///   - transactionID: nil for a new one.
    /// - Throws: ``TestKitError``.
    @discardableResult
    public func buy(
        _ product: String,
        for person: TestPerson,
        event: StoreEvent? = nil,
        expiresAt: Date? = nil,
        transactionID: String? = nil
    ) async throws -> TestPurchase {
        var body: [String: JSONValue] = ["user_id": .text(person.id.rawValue), "product_id": .text(product)]
        if let event { body["type"] = .text(event.rawValue) }
        if let expiresAt { body["expires_at"] = .text(Instants.text(expiresAt)) }
        if let transactionID { body["transaction_id"] = .text(transactionID) }
        let reply = try await call("POST", "/purchases", body: body)
        return TestPurchase(eventID: try reply.text("event_id"), transactionID: try reply.text("transaction_id"))
    }

    /// What an iPhone gives the app after Sign in with Apple, for `signInWithApple`.
    ///
    /// - Parameters:
    ///   - subject: the user at Apple, such as `001.abc`.
    ///   - email: verified by Apple; nil for none.
    ///   - nonce: what the app asked Apple with; nil for none.
    /// - Returns: an identity token for the app `com.example.app`.
    public func appleToken(subject: String, email: String? = nil, nonce: String? = nil) async throws -> String {
        var body: [String: JSONValue] = ["subject": .text(subject)]
        if let email { body["email"] = .text(email) }
        if let nonce { body["nonce"] = .text(nonce) }
        return try await call("POST", "/apple-tokens", body: body).text("identity_token")
    }
}
