internal import Database
internal import Kernel

/// A subscription as stored.
struct Subscription: Sendable {
    let productID: String
    let expiresAt: Instant
    let willRenew: Bool
}

/// Subscriptions, one a user.
struct SubscriptionRepository: Sendable {
    let database: Database

    /// The subscription of a user, also when it has run out; nil when there never was one.
    func find(_ user: UserID) async throws -> Subscription? {
        try await database.query("SELECT product_id, expires_at, will_renew FROM subscription WHERE user_id = \(user)").first.map
        { row in
            let (product, expiresAt, willRenew) = try row.decode(as: (String.self, Instant.self, Bool.self))
            return Subscription(productID: product, expiresAt: expiresAt, willRenew: willRenew)
        }
    }
}
