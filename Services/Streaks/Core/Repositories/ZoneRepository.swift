package import Database
package import Kernel
package import StreaksDomain

/// A user's clock, and the hour at which their snap window opens by it (PW-2). By default that of a user of whom nothing is known.
package struct UserClock: Sendable {
    package var zones = ZoneHistory(.utc)
    package var windowStartHour = SnapWindow.defaultStartHour

    package init() {}

    /// Whether a snap is on time by it (PW-3).
    package func isOnTime(receivedAt: Instant, capturedAt: Instant?) -> Bool {
        SnapWindow.isOnTime(
            receivedAt: receivedAt,
            capturedAt: capturedAt,
            startHour: windowStartHour,
            zones,
            .mutual
        )
    }
}

/// Which zone a user's clock followed since when (SD-3).
package enum ZoneRepository {
    /// The histories of these users; an unknown one is absent.
    package static func histories(of users: [UserID], _ sql: some QueryExecutor) async throws -> [UserID: ZoneHistory] {
        try await histories(try await sql.query(query(of: users)))
    }

    /// The statement of `histories`, for who reads more at the same time.
    package static func query(of users: [UserID]) -> Query {
        "SELECT user_id, since, zone, recorded_at FROM zone_change WHERE user_id = ANY(\(users)) ORDER BY user_id, since"
    }

    /// The same for one user: without an array, so that it can be one with those of others (`SharedTransactions`).
    package static func query(of user: UserID) -> Query {
        "SELECT user_id, since, zone, recorded_at FROM zone_change WHERE user_id = \(user) ORDER BY since"
    }

    /// A history by its entries, in order; nil when there are none.
    package static func history(since: [Instant], zones: [String]) -> ZoneHistory? {
        ZoneHistory(entries: zip(since, zones).map { ZoneHistory.Entry(since: $0, zone: Zone($1) ?? .utc) })
    }

    /// The clocks of these users.
    package static func clocks(of users: [UserID], _ sql: some QueryExecutor) async throws -> [UserID: UserClock] {
        let rows = try await sql.query(
            """
            SELECT person, p.window_start_hour, z.since, z.zone FROM unnest(\(users)) AS person
            LEFT JOIN profile_replica p ON p.user_id = person LEFT JOIN zone_change z ON z.user_id = person ORDER BY person, z.since
            """
        )
        var clocks: [UserID: UserClock] = [:]
        var entries: [UserID: [ZoneHistory.Entry]] = [:]
        for row in rows {
            let (user, hour, since, zone) = try row.decode(as: (UserID.self, Int32?.self, Instant?.self, String?.self))
            clocks[user, default: UserClock()].windowStartHour = hour.map(Int.init) ?? SnapWindow.defaultStartHour
            if let since, let zone {
                entries[user, default: []].append(ZoneHistory.Entry(since: since, zone: Zone(zone) ?? .utc))
            }
        }
        for (user, entries) in entries {
            if let zones = ZoneHistory(entries: entries) { clocks[user, default: UserClock()].zones = zones }
        }
        return clocks
    }

    /// Adds a change, unless the user is purged. - Returns: whether it was news.
    ///
    /// - Parameter recordedAt: when the ledgers of the user's streaks receive it; nil: as if when it was made, for who has none yet.
    package static func add(_ zone: Zone, of user: UserID, since: Instant, recordedAt: Instant? = nil, _ sql: Transaction)
        async throws -> Bool
    {
        try await sql.execute(
            """
            INSERT INTO zone_change (user_id, since, zone, recorded_at) SELECT \(user), \(since), \(zone.name), \(recordedAt)
            WHERE \(isNews(zone, of: user, since: since)) ON CONFLICT DO NOTHING
            """
        ) == 1
    }

    /// Deletes what was kept of a clock's past from an instant on, when newer rules of its zone were taken up (`ZoneRulesJob`): the user had
    /// changed the zone before, and it arrives now. The streaks must be locked.
    static func deleteKept(of user: UserID, since: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM zone_change WHERE user_id = \(user) AND since >= \(since) AND keeps_rules")
    }

    /// Whether `add` would add it.
    package static func isNews(_ zone: Zone, of user: UserID, since: Instant, _ sql: Transaction) async throws -> Bool {
        try await !sql.query("SELECT 1 WHERE \(isNews(zone, of: user, since: since))").isEmpty
    }

    private static func isNews(_ zone: Zone, of user: UserID, since: Instant) -> Query {
        """
        NOT EXISTS (SELECT 1 FROM zone_change WHERE user_id = \(user) AND since >= \(since) AND NOT keeps_rules)
            AND \(zone.name) IS DISTINCT FROM (SELECT zone FROM zone_change WHERE user_id = \(user) ORDER BY since DESC LIMIT 1)
            AND NOT EXISTS (SELECT 1 FROM purged_user WHERE user_id = \(user))
        """
    }

    /// - Parameter rows: of `query`.
    package static func histories(_ rows: [Row]) async throws -> [UserID: ZoneHistory] {
        var entries: [UserID: [ZoneHistory.Entry]] = [:]
        var slice = TimeSlice()
        for (index, row) in rows.enumerated() {
            let (user, since, zone, recorded) = try row.decode(as: (UserID.self, Instant.self, String.self, Instant?.self))
            entries[user, default: []].append(ZoneHistory.Entry(since: since, zone: Zone(zone) ?? .utc, recordedAt: recorded))
            if index & 15 == 15 { await slice.yieldIfOver() }
        }
        return entries.compactMapValues { ZoneHistory(entries: $0) }
    }
}
