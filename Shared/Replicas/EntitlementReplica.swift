public import BillingAPI
public import Database
public import Kernel
public import Outbox

/// Users' entitlements, in a service's own schema, fed by `billing`'s events (BI-2, D13). An unknown user is on the free plan.
public struct EntitlementReplica: Sendable {
    /// No state of its own: it works inside its caller's transactions.
    public init() {}

    /// The replica's table, for the service's list of migrations.
    public static let migrations: [Migration] = [
        Migration(version: 1, name: "entitlement_replica", sql: PackageResources.entitlement_V0001_sql)
    ]

    /// Takes up every change. An older version never overwrites a newer one.
    ///
    /// - Parameter changed: follows in the same transaction, older versions too.
    public func handler(
        changed: @escaping @Sendable (EntitlementsChanged, UnitOfWork) async throws -> Void = { _, _ in }
    ) -> EventHandler {
        EventHandler(EntitlementsChanged.self) { event, work in
            _ = try await work.sql.execute(
                """
                INSERT INTO entitlement_replica AS known (user_id, version, is_premium, expires_at)
                VALUES (\(event.userID), \(event.version), \(event.plan == .premium), \(event.expiresAt))
                ON CONFLICT (user_id) DO UPDATE SET version = EXCLUDED.version, is_premium = EXCLUDED.is_premium,
                    expires_at = EXCLUDED.expires_at
                WHERE known.version < EXCLUDED.version
                """
            )
            try await changed(event, work)
        }
    }

    /// Whether this person is on a premium plan at `now`.
    public func isPremium(_ user: UserID, now: Instant, _ sql: some QueryExecutor) async throws -> Bool {
        try await sql.lookup("SELECT \(Self.isPremium(user, now: now))").first?.decode(as: Bool.self) ?? false
    }

    /// The same as a condition, for a statement that reads more.
    public static func isPremium(_ user: UserID, now: Instant) -> Query {
        """
        EXISTS (SELECT FROM entitlement_replica
            WHERE user_id = \(user) AND is_premium AND (expires_at IS NULL OR expires_at > \(now)))
        """
    }
}
