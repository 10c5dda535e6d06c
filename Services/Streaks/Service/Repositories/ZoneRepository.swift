internal import Database
internal import Kernel
internal import StreaksDomain

/// Which zone a person's clock followed since when (SD-3).
enum ZoneRepository {
    /// The histories of these people; somebody unknown is absent.
    static func histories(of users: [UserID], _ sql: some QueryExecutor) async throws -> [UserID: ZoneHistory] {
        try histories(
            try await sql.query(
                "SELECT user_id, since, zone FROM zone_change WHERE user_id = ANY(\(users)) ORDER BY user_id, since"
            )
        )
    }

    /// Adds a change. - Returns: whether it was news.
    static func add(_ zone: Zone, of user: UserID, since: Instant, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            INSERT INTO zone_change (user_id, since, zone) SELECT \(user), \(since), \(zone.name)
            WHERE NOT EXISTS (SELECT 1 FROM zone_change WHERE user_id = \(user) AND since >= \(since))
              AND \(zone.name) IS DISTINCT FROM
                  (SELECT zone FROM zone_change WHERE user_id = \(user) ORDER BY since DESC LIMIT 1)
            ON CONFLICT DO NOTHING
            """
        ) == 1
    }

    private static func histories(_ rows: [Row]) throws -> [UserID: ZoneHistory] {
        var entries: [UserID: [ZoneHistory.Entry]] = [:]
        for row in rows {
            let (user, since, zone) = try row.decode(as: (UserID.self, Instant.self, String.self))
            entries[user, default: []].append(ZoneHistory.Entry(since: since, zone: Zone(zone) ?? .utc))
        }
        return entries.compactMapValues { ZoneHistory(entries: $0) }
    }
}
