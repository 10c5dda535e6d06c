internal import Database
internal import Kernel
internal import StreaksDomain

/// Which plan users were on, as it was known at each instant: part of the ledgers of kinds whose rules ask for it (SD-5).
enum PlanRepository {
    /// The histories of these users; who was never on a premium plan may be absent.
    static func histories(of users: [UserID], _ sql: some QueryExecutor) async throws -> [UserID: PlanHistory] {
        guard !users.isEmpty else { return [:] }
        let rows = try await sql.query(
            """
            SELECT user_id, since, is_premium, expires_at FROM plan_change WHERE user_id = ANY(\(users))
            ORDER BY user_id, since, version
            """
        )
        var entries: [UserID: [PlanHistory.Entry]] = [:]
        for row in rows {
            let (user, since, isPremium, until) = try row.decode(as: (UserID.self, Instant.self, Bool.self, Instant?.self))
            entries[user, default: []].append(PlanHistory.Entry(since: since, isPremium: isPremium, until: until))
        }
        return entries.mapValues(PlanHistory.init)
    }

    /// Whether this says something that is not known: a newer version, and another plan or end.
    static func isNews(_ version: Int64, isPremium: Bool, until: Instant?, of user: UserID, _ sql: Transaction) async throws
        -> Bool
    {
        let rows = try await sql.query(
            "SELECT version, is_premium, expires_at FROM plan_change WHERE user_id = \(user) ORDER BY version DESC LIMIT 1"
        )
        guard let (known, wasPremium, end) = try rows.first?.decode(as: (Int64.self, Bool.self, Instant?.self)) else {
            return isPremium
        }
        return version > known && (isPremium != wasPremium || (isPremium && until != end))
    }

    /// Adds a change, unless the user is purged.
    static func add(
        _ version: Int64,
        isPremium: Bool,
        until: Instant?,
        of user: UserID,
        since: Instant,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO plan_change (user_id, since, is_premium, expires_at, version)
            SELECT \(user), \(since), \(isPremium), \(until), \(version)
            WHERE NOT EXISTS (SELECT FROM purged_user WHERE user_id = \(user)) ON CONFLICT DO NOTHING
            """
        )
    }
}
