internal import AuthAPI
internal import Database
internal import Kernel
internal import StreaksAPI

/// What everyone sees of what a user's check-ins have earned (CI-5); an older version never overwrites a newer one (D13).
enum RewardsRepository {
    static func store(_ event: PublicRewardsChanged, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO profile_rewards AS known (user_id, version, badge, badges, titles, gold_frame, crown, flame)
            SELECT \(event.userID), \(event.version), \(event.badge), \(event.badges), \(event.titles), \(event.goldFrame),
                \(event.crown), \(event.flame)
            WHERE NOT EXISTS (SELECT FROM purged_account WHERE user_id = \(event.userID))
            ON CONFLICT (user_id) DO UPDATE SET version = EXCLUDED.version, badge = EXCLUDED.badge, badges = EXCLUDED.badges,
                titles = EXCLUDED.titles, gold_frame = EXCLUDED.gold_frame, crown = EXCLUDED.crown, flame = EXCLUDED.flame
            WHERE known.version < EXCLUDED.version
            """
        )
    }

    /// Of `profile_rewards w`, joined or not. Who has earned nothing yet has the flame that everyone has.
    static let columns: Query = """
        w.badge, coalesce(w.badges, '{}'), coalesce(w.titles, '{}'), coalesce(w.gold_frame, false), coalesce(w.crown, false),
        coalesce(w.flame, 'orange')
        """

    static func find(_ user: UserID, _ sql: some QueryExecutor) async throws -> ProfileRewards {
        let rows = try await sql.query("SELECT \(columns) FROM profile_rewards w WHERE w.user_id = \(user)")
        guard let row = rows.first else { return ProfileRewards(flame: "orange") }
        let (badge, badges, titles, frame, crown, flame) = try row.decode(
            as: (String?.self, [String].self, [String].self, Bool.self, Bool.self, String.self)
        )
        return ProfileRewards(badge: badge, badges: badges, titles: titles, goldFrame: frame, crown: crown, flame: flame)
    }
}
