internal import Database
internal import Kernel
internal import StreaksDomain

/// Which zone data ledgers are settled with, and how far newer data has been taken up.
struct ZoneDataState: Sendable {
    /// What all rules are from, or were before the newer data.
    let version: ZoneVersion
    /// Of the latest change of rules.
    let revision: Int64
    /// What is being taken up; nil: nothing.
    let target: ZoneVersion?
    /// Since when that is known here.
    let targetSince: Instant?
    /// The zones whose turn it is.
    let zones: [String]
    /// When their users' past had been kept and their rules changed; nil: not yet.
    let keptAt: Instant?
    /// The last user who was dealt with.
    let reached: UserID?
}

/// Rules of time zones as all replicas use them, and the entries of clocks that keep their past.
enum ZoneRulesRepository {
    /// A page of users, in the order of their ids.
    struct Page: Sendable {
        /// Those whose clocks have followed one of the zones.
        let users: [UserID]
        /// Where the next page begins; nil when none is left.
        let reached: UserID?
    }

    private static let selected: Query =
        "SELECT version, revision, target, target_since, zones, kept_at, reached_id FROM zone_data WHERE is_only"

    /// nil: no zone data has been stored yet.
    static func state(_ sql: some QueryExecutor) async throws -> ZoneDataState? { try await sql.query(selected).first.map(state) }

    /// The same, for who takes a step; nil also while another replica does.
    static func lock(_ sql: Transaction) async throws -> ZoneDataState? {
        try await sql.query("\(selected) FOR UPDATE SKIP LOCKED").first.map(state)
    }

    private static func state(_ row: Row) throws -> ZoneDataState {
        guard let version = ZoneVersion(try row.get(at: 0, as: String.self)) else { throw ServiceError.internal }
        return ZoneDataState(
            version: version,
            revision: try row.get(at: 1),
            target: try row.get(at: 2, as: String?.self).flatMap { ZoneVersion($0) },
            targetSince: try row.get(at: 3),
            zones: try row.get(at: 4),
            keptAt: try row.get(at: 5),
            reached: try row.get(at: 6)
        )
    }

    /// The first rules that ledgers are settled with. - Returns: false when there are some.
    static func begin(_ version: ZoneVersion, _ files: [String: [UInt8]], _ sql: Transaction) async throws -> Bool {
        let added = try await sql.execute(
            "INSERT INTO zone_data (version, revision) VALUES (\(version.description), 1) ON CONFLICT DO NOTHING"
        )
        guard added == 1 else { return false }
        for (zone, rules) in files { try add(zone, rules, revision: 1, sql) }
        return true
    }

    static func add(_ zone: String, _ rules: [UInt8], revision: Int64, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            INSERT INTO zone_rules (zone, rules, revision) VALUES (\(zone), \(rules), \(revision))
            ON CONFLICT (zone) DO UPDATE SET rules = EXCLUDED.rules, revision = EXCLUDED.revision
            """
        )
    }

    /// What each zone goes by that has changed since a revision.
    static func rules(after revision: Int64, _ sql: some QueryExecutor) async throws -> [String: [UInt8]] {
        let rows = try await sql.query("SELECT zone, rules FROM zone_rules WHERE revision > \(revision)")
        return Dictionary(try rows.map { try $0.decode(as: (String.self, [UInt8].self)) }) { first, _ in first }
    }

    /// These rules will take the place of a zone's.
    static func prepare(_ rules: [UInt8], of zone: String, _ sql: Transaction) throws {
        try sql.enqueue("UPDATE zone_rules SET next_rules = \(rules) WHERE zone = \(zone)")
    }

    /// Newer data is there from `now` on.
    static func aim(at target: ZoneVersion, now: Instant, revision: Int64, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE zone_data SET target = \(target.description), target_since = \(now), revision = \(revision) WHERE is_only"
        )
    }

    /// The zones whose rules are to change.
    static func waiting(_ sql: Transaction) async throws -> [ZoneRulesChange] {
        try await sql.query("SELECT zone, rules, next_rules FROM zone_rules WHERE next_rules IS NOT NULL").compactMap { row in
            let (zone, old, new) = try row.decode(as: (String.self, [UInt8].self, [UInt8].self))
            // Nothing is stored that is no table.
            guard let old = ZoneRules(old), let new = ZoneRules(new) else { return nil }
            return ZoneRulesChange(zone: zone, from: old, to: new)
        }
    }

    /// It is the turn of these zones; of none when they have been dealt with.
    static func turn(_ zones: [String], _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE zone_data SET zones = \(zones), kept_at = NULL, reached_id = NULL WHERE is_only")
    }

    /// No zone is left: all rules are those of the target.
    static func finish(revision: Int64, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE zone_data SET version = target, target = NULL, target_since = NULL, zones = '{}', kept_at = NULL,
                reached_id = NULL, revision = \(revision)
            WHERE is_only
            """
        )
    }

    /// From `now` on these zones go by their next rules.
    static func change(_ zones: [String], at now: Instant, revision: Int64, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE zone_rules SET rules = next_rules, next_rules = NULL, revision = \(revision)
            WHERE zone = ANY(\(zones)) AND next_rules IS NOT NULL
            """
        )
        _ = try await sql.execute(
            "UPDATE zone_data SET kept_at = \(now), reached_id = NULL, revision = \(revision) WHERE is_only"
        )
    }

    static func reach(_ user: UserID?, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE zone_data SET reached_id = \(user) WHERE is_only")
    }

    /// The next users whose clocks have followed one of these zones, at most `limit`. Every user is read, some thousands at once: an index by
    /// zone would be written for what happens a few times a year.
    static func page(of zones: [String], after user: UserID?, limit: Int, _ sql: Transaction) async throws -> Page {
        let start = user ?? UserID(high: 0, low: 0)
        let rows = try await sql.query(
            """
            WITH read AS MATERIALIZED (
                SELECT DISTINCT user_id FROM (
                    SELECT user_id FROM zone_change WHERE user_id > \(start) ORDER BY user_id, since LIMIT 5000) AS next)
            (SELECT user_id, true FROM read WHERE EXISTS (
                SELECT FROM zone_change z WHERE z.user_id = read.user_id AND z.zone = ANY(\(zones))) ORDER BY user_id LIMIT \(limit))
            UNION ALL (SELECT user_id, false FROM read ORDER BY user_id DESC LIMIT 1)
            """
        ).map { try $0.decode(as: (UserID.self, Bool.self)) }
        let users = rows.filter(\.1).map(\.0).sorted()
        return Page(users: users, reached: users.count == limit ? users.last : rows.first { !$0.1 }?.0)
    }

    /// Waits until no transaction adds a change of a zone, and lets none add one before this transaction ends.
    static func lockClocks(_ sql: Transaction) async throws {
        _ = try await sql.execute("LOCK TABLE zone_change IN SHARE ROW EXCLUSIVE MODE")
    }

    /// The entries of these users' clocks, each in time order.
    static func entries(of users: [UserID], _ sql: Transaction) async throws -> [UserID: [ZoneHistory.Entry]] {
        var entries: [UserID: [ZoneHistory.Entry]] = [:]
        for row in try await sql.query(ZoneRepository.query(of: users)) {
            let (user, since, zone, recorded) = try row.decode(as: (UserID.self, Instant.self, String.self, Instant?.self))
            entries[user, default: []].append(ZoneHistory.Entry(since: since, zone: Zone(zone) ?? .utc, recordedAt: recorded))
        }
        return entries
    }

    /// Adds entries that keep a clock's past, or takes them in place of those of the same instants.
    static func keep(_ entries: [(user: UserID, entry: ZoneHistory.Entry)], _ sql: Transaction) async throws {
        guard !entries.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO zone_change (user_id, since, zone, recorded_at, keeps_rules)
            SELECT user_id, since, zone, recorded_at, true FROM unnest(\(entries.map(\.user)), \(entries.map(\.entry.since)),
                \(entries.map(\.entry.zone.name)), \(entries.map(\.entry.recordedAt))) AS new (user_id, since, zone, recorded_at)
            ON CONFLICT (user_id, since) DO UPDATE SET zone = EXCLUDED.zone
            """
        )
    }

    /// Has the streaks of these users settled, which computes their deadlines anew (`SettlementJob`).
    static func makeDue(_ users: [UserID], at now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            WITH mine AS MATERIALIZED (
                SELECT id FROM streak WHERE status = \(StreakState.Status.active.stored) AND (next_due IS NULL OR next_due > \(now))
                    AND id IN (SELECT streak_id FROM streak_member WHERE user_id = ANY(\(users)) AND left_at IS NULL)
                ORDER BY id FOR UPDATE)
            UPDATE streak SET next_due = \(now) FROM mine WHERE streak.id = mine.id
            """
        )
    }
}
