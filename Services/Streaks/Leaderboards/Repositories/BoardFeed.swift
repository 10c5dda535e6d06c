internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// The append-only table of streaks whose place has changed, and their states.
enum BoardFeed {
    /// How long rows stay. A replica that has not read for that long loads the boards anew.
    static let kept = Interval.minutes(5)
    /// Rows of the feed that one look takes, about; the rest follows at once. Most rows have one streak, those of a midnight 500.
    private static let mostRows = 1_000
    /// Streaks that one look takes, about: applying them holds the boards for some milliseconds.
    private static let mostStreaks = 5_000
    private static let deletedAtOnce = 20_000
    /// Streaks that one statement reads at the start of a replica.
    private static let loadedAtOnce = 20_000

    /// One statement, no lock that another transaction wants.
    static func append(_ streaks: [StreakID], _ sql: Transaction) throws {
        try sql.enqueue("INSERT INTO board_change (streaks) SELECT array_agg(id) FROM \(rows: .of(streaks)) AS new (id)")
    }

    /// What one look at the feed found.
    struct Look: Sendable {
        var updates: [Leaderboards.Update] = []
        /// Whether there is more.
        var isCut = false
    }

    /// Reads on, and the states of the streaks, all from one snapshot.
    ///
    /// - Parameter place: moves on.
    static func look(from place: inout FeedPosition, _ database: Database) async throws -> Look {
        let start = place
        // Most looks find nothing, which one statement says. Behind a gap something may still come.
        if start.gaps.isEmpty {
            let next = try await database.query("SELECT 1 FROM board_change WHERE position > \(start.last) LIMIT 1")
            if next.isEmpty { return Look() }
        }
        let (look, end) = try await database.transaction(isolation: .repeatableRead) { sql in
            var place = start
            let snapshot = try await snapshot(sql)
            let (first, last) = (start.gaps.map(\.first), start.gaps.map(\.last))
            let rows = try await sql.query(
                """
                SELECT position, streaks FROM (SELECT position, streaks FROM board_change WHERE position > \(start.last)
                    ORDER BY position LIMIT \(mostRows)) AS next
                UNION ALL
                SELECT c.position, c.streaks FROM unnest(\(first), \(last)) AS gap (first, last)
                    JOIN board_change c ON c.position BETWEEN gap.first AND gap.last
                ORDER BY position
                """
            ).map { try $0.decode(as: (Int64.self, [StreakID].self)) }
            var streaks: Set<StreakID> = []
            var taken: [Int64] = []
            // From the oldest on: what is left out lies behind all that is taken.
            for (position, changed) in rows where position <= start.last || streaks.count < mostStreaks {
                taken.append(position)
                streaks.formUnion(changed)
            }
            place.read(taken, snapshot)
            var look = Look(isCut: taken.count < rows.count || rows.count >= mostRows)
            if !streaks.isEmpty { look.updates = try await states(of: Array(streaks), sql) }
            return (look, place)
        }
        place = end
        return look
    }

    /// Where the feed ends now: everything that is committed later is found from here on.
    static func end(_ database: Database) async throws -> FeedPosition {
        try await database.transaction(isolation: .repeatableRead) { sql in
            let snapshot = try await snapshot(sql)
            let last = try await sql.query("SELECT coalesce(max(position), 0) FROM board_change").first?.decode(as: Int64.self)
            // What lies before the first row was deleted long ago, or is not committed yet.
            let missing = try await sql.query(
                """
                SELECT before + 1, position - 1 FROM
                    (SELECT position, lag(position, 1, 0::bigint) OVER (ORDER BY position) AS before FROM board_change) AS pair
                WHERE position > before + 1
                """
            ).map { row in
                let (first, last) = try row.decode(as: (Int64.self, Int64.self))
                return first...last
            }
            return FeedPosition(last: last ?? 0, missing: missing, snapshot)
        }
    }

    private static func snapshot(_ sql: Transaction) async throws -> FeedPosition.Snapshot {
        let row = try await sql.query(
            """
            SELECT pg_snapshot_xmin(now)::text::bigint, pg_snapshot_xmax(now)::text::bigint FROM pg_current_snapshot() AS now
            """
        ).first
        guard let (oldest, next) = try row?.decode(as: (Int64.self, Int64.self)) else { throw ServiceError.internal }
        return FeedPosition.Snapshot(oldestRunning: oldest, next: next)
    }

    private static let columns: Query = "kind, members[1], status, current_count, longest_count, run_start"

    private static func states(of streaks: [StreakID], _ sql: Transaction) async throws -> [Leaderboards.Update] {
        try await sql.query("SELECT \(columns) FROM streak WHERE id = ANY(\(streaks)) AND members <> '{}'")
            .mapInSlices(update).compactMap(\.self)
    }

    /// All users who are on a board, in several statements.
    static func all(_ database: Database) async throws -> [Leaderboards.Update] {
        let kinds = StreakKind.allCases.filter(\.hasLeaderboard).map(\.rawValue)
        var found: [Leaderboards.Update] = []
        var after = StreakID(high: 0, low: 0)
        while true {
            let rows = try await database.query(
                """
                SELECT id, \(columns) FROM streak WHERE id > \(after) AND kind = ANY(\(kinds)) AND current_count > 0
                    AND status = \(StreakState.Status.active.stored) AND members <> '{}'
                ORDER BY id LIMIT \(loadedAtOnce)
                """
            )
            found += try await rows.mapInSlices { try update($0, at: 1) }.compactMap(\.self)
            guard let last = rows.last, rows.count == loadedAtOnce else { return found }
            after = try last.get(at: 0)
        }
    }

    private static func update(_ row: Row) throws -> Leaderboards.Update? { try update(row, at: 0) }

    private static func update(_ row: Row, at first: Int) throws -> Leaderboards.Update? {
        guard let kind = StreakKind(rawValue: try row.get(at: first)), kind.hasLeaderboard else { return nil }
        let user: UserID = try row.get(at: first + 1)
        let (status, count): (Int32, Int32) = (try row.get(at: first + 2), try row.get(at: first + 3))
        guard status == StreakState.Status.active.stored, count > 0 else {
            return Leaderboards.Update(kind: kind, user: user, score: nil)
        }
        let longest: Int32 = try row.get(at: first + 4)
        let score = BoardScore(count: Int(count), longest: Int(longest), runStart: try row.get(at: first + 5))
        return Leaderboards.Update(kind: kind, user: user, score: score)
    }

    /// Deletes what every replica has read: all before the first row that is kept. - Returns: how many rows.
    static func purge(_ database: Database) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM board_change WHERE position IN (
                SELECT position FROM board_change WHERE position < coalesce(
                    (SELECT position FROM board_change
                        WHERE noted_at >= clock_timestamp() - make_interval(secs => \(Int32(kept.microseconds / 1_000_000)))
                        ORDER BY position LIMIT 1),
                    \(Int64.max))
                ORDER BY position LIMIT \(deletedAtOnce) FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
