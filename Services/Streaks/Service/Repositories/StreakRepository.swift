internal import Database
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksDomain

/// Streaks and their ledgers.
struct StreakRepository: Sendable {
    let database: Database
    var avatars = AvatarLinks()
    private static let beforeEverything = CalendarDate(dayNumber: -100_000)

    /// A new streak with count 0.
    ///
    /// - Throws: `DatabaseError` unique violation when the pair has a running one.
    func insert(_ id: StreakID, friendship: FriendshipID?, _ one: UserID, _ two: UserID, state: StreakState, _ sql: Transaction)
        async throws
    {
        let (a, b) = one < two ? (one, two) : (two, one)
        _ = try await sql.execute(
            """
            INSERT INTO streak (id, friendship_id, user_a, user_b, started_at, deadline_at, at_risk_from, looked_at)
            VALUES (\(id), \(friendship), \(a), \(b), \(state.asOf), \(state.deadlineAt), \(state.atRiskFrom), \(state.asOf))
            """
        )
        try await MomentRepository.wake([a, b], now: state.asOf, sql)
    }

    /// Locks streaks in the order of their ids, so that no two transactions wait for each other, and loads their ledgers.
    func lock(_ ids: some Sequence<StreakID>, _ sql: Transaction) async throws -> [StoredStreak] {
        let wanted = Array(Set(ids))
        let rows = try await sql.query(
            "SELECT \(StreakRow.columns) FROM streak WHERE id = ANY(\(wanted)) ORDER BY id FOR UPDATE"
        ).mapInSlices(StreakRow.init)
        return try await Self.load(rows, sql)
    }

    /// Locks up to `limit` streaks whose next date is due; other replicas' are passed over (D7).
    ///
    /// - Throws: `Unsettled` with their ids when they cannot be read.
    func lockDue(at now: Instant, limit: Int, _ sql: Transaction) async throws -> [StoredStreak] {
        let found = try await sql.query(Self.dueQuery(at: now, limit: limit))
        let ids = try found.map { try $0.get(at: 0, as: StreakID.self) }
        do { return try await Self.load(try await found.mapInSlices(StreakRow.init), sql) } catch {
            throw Unsettled(streaks: ids, cause: error)
        }
    }

    static func dueQuery(at now: Instant, limit: Int) -> Query {
        "SELECT \(StreakRow.columns) FROM streak WHERE next_due <= \(now) ORDER BY next_due LIMIT \(limit) FOR UPDATE SKIP LOCKED"
    }

    /// A streak that cannot be settled makes way for the others until then.
    func postpone(_ id: StreakID, until instant: Instant) async throws {
        _ = try await database.execute("UPDATE streak SET next_due = \(instant) WHERE id = \(id) AND next_due < \(instant)")
    }

    /// The next date of the streak that has waited longest, due or not.
    func oldestDue() async throws -> Instant? {
        try await database.query("SELECT min(next_due) FROM streak").first?.decode(as: Instant?.self)
    }

    /// The next change of these streaks folds their ledgers from the start. Waits for who is changing them now.
    func forgetCheckpoints(of ids: [StreakID], _ sql: Transaction) async throws {
        _ = try await sql.query("SELECT 1 FROM streak WHERE id = ANY(\(ids)) ORDER BY id FOR UPDATE")
        try await CheckpointRepository.delete(of: ids, sql)
    }

    /// A locked streak with every entry its ledger ever had.
    func whole(_ row: StreakRow, _ sql: Transaction) async throws -> StoredStreak {
        guard let stored = try await Self.load([row], isWhole: true, sql).first else { throw ServiceError.internal }
        return stored
    }

    /// The ledgers of these rows from their checkpoints on, or from the start.
    static func load(_ rows: [StreakRow], isWhole: Bool = false, _ sql: some QueryExecutor) async throws -> [StoredStreak] {
        guard !rows.isEmpty else { return [] }
        let ids = rows.map(\.id)
        let recoveries = try await RecoveryRepository.find(ids, sql)
        let outages = try await OutageRepository.declared(sql)
        let zones = try await ZoneRepository.histories(of: rows.flatMap { [$0.userA, $0.userB] }, sql)
        var contributions: [StreakID: [StreakLedger.Contribution]] = [:]
        let stored = isWhole ? [:] : try await CheckpointRepository.find(ids, sql)
        let bases = Self.reaching(outages, of: rows, zones, stored)
        // The checkpoints that were read say where to begin: newer ones may have been stored since.
        let starts = ids.map { bases[$0]?.settledThrough ?? Self.beforeEverything }
        let entries = try await sql.query(
            """
            SELECT streak_id, user_id, on_date, received_at, recorded_at
            FROM contribution JOIN unnest(\(ids), \(starts)) AS base (id, settled_through)
                ON streak_id = base.id AND on_date > base.settled_through
            """
        )
        var slice = TimeSlice()
        for (index, entry) in entries.enumerated() {
            let (streak, user, date, received, recorded) = try entry.decode(
                as: (StreakID.self, UserID.self, CalendarDate.self, Instant.self, Instant.self)
            )
            contributions[streak, default: []].append(
                StreakLedger.Contribution(user: user, date: date, receivedAt: received, recordedAt: recorded)
            )
            if index & 15 == 15 { await slice.yieldIfOver() }
        }
        return await rows.mapInSlices { row in
            let participants = [row.userA, row.userB].map { user in
                StreakLedger.Participant(user, zones: zones[user] ?? ZoneHistory(.utc))
            }
            return StoredStreak(
                row: row,
                ledger: StreakLedger(
                    start: row.startedAt,
                    participants: participants,
                    base: bases[row.id],
                    contributions: contributions[row.id] ?? [],
                    recoveries: recoveries[row.id] ?? [],
                    outages: outages,
                    endedAt: row.endedAt,
                    brokenOff: row.brokenOff,
                    longestShown: Int(row.longest)
                ),
                isCheckpointStale: stored[row.id] != nil && bases[row.id] == nil
            )
        }
    }

    /// The checkpoints without those that an outage declared since their streak's last look reaches behind.
    private static func reaching(
        _ outages: [StreakLedger.Outage],
        of rows: [StreakRow],
        _ zones: [UserID: ZoneHistory],
        _ checkpoints: [StreakID: Checkpoint]
    ) -> [StreakID: Checkpoint] {
        var usable = checkpoints
        for row in rows {
            guard let base = checkpoints[row.id] else { continue }
            let clocks = [row.userA, row.userB].map { zones[$0] ?? ZoneHistory(.utc) }
            let isStale = outages.contains { outage in
                outage.declaredAt > row.lookedAt && clocks.contains { $0.date(at: outage.from) <= base.settledThrough }
            }
            if isStale { usable[row.id] = nil }
        }
        return usable
    }

    /// Stores what ledgers folded to, each streak once.
    func save(_ updates: [StreakUpdate], _ sql: Transaction) async throws {
        guard !updates.isEmpty else { return }
        let states = updates.map(\.state)
        _ = try await sql.execute(
            """
            UPDATE streak SET status = new.status, current_count = new.count, longest_count = new.longest,
                last_completed_date = new.completed, deadline_at = new.deadline, at_risk_from = new.risk, next_due = new.due,
                broken_by = new.breaker, broken_at = new.broken, missed_date = new.missed, ended_at = new.ended,
                photo_count = photo_count + new.photos, looked_at = new.looked,
                newest_a = greatest(newest_a, new.posted_a), newest_b = greatest(newest_b, new.posted_b)
            FROM unnest(\(updates.map(\.row.id)), \(states.map { StreakStatus($0.status).rawValue }),
                \(states.map { Int32($0.count) }), \(states.map { Int32($0.longest) }), \(states.map(\.lastCompletedDate)),
                \(states.map(\.deadlineAt)), \(states.map(\.atRiskFrom)), \(states.map(\.nextDue)), \(states.map(\.brokenBy)),
                \(states.map(\.brokenAt)), \(states.map(\.missedDate)), \(updates.map(\.endedAt)),
                \(updates.map { Int32($0.newPhotos) }), \(states.map(\.asOf)), \(updates.map(\.postedA)), \(updates.map(\.postedB)))
                AS new (id, status, count, longest, completed, deadline, risk, due, breaker, broken, missed, ended, photos, looked,
                    posted_a, posted_b)
            WHERE streak.id = new.id
            """
        )
    }

    func insert(
        _ contribution: StreakLedger.Contribution,
        to streak: StreakID,
        operation: OperationID,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
            VALUES (\(streak), \(contribution.user), \(contribution.date), \(contribution.receivedAt), \(contribution.recordedAt),
                \(operation))
            """
        )
    }

    /// The streaks of a user that run.
    func activeIDs(of user: UserID, _ sql: Transaction) async throws -> [StreakID] { try await Self.activeIDs(of: user, sql) }

    static func activeIDs(of user: UserID, _ sql: some QueryExecutor) async throws -> [StreakID] {
        try await sql.query(
            """
            SELECT id FROM streak WHERE user_a = \(user) AND status = 1 UNION ALL
            SELECT id FROM streak WHERE user_b = \(user) AND status = 1
            """
        ).map { try $0.decode(as: StreakID.self) }
    }

    /// The streaks of a friendship that `one` is part of, unless they have ended.
    func unendedIDs(of friendship: FriendshipID, of one: UserID, _ sql: Transaction) async throws -> [StreakID] {
        try await sql.query(
            """
            SELECT s.id FROM streak_member m JOIN streak s ON s.id = m.streak_id
            WHERE m.user_id = \(one) AND NOT m.is_ended AND s.friendship_id = \(friendship)
            """
        ).map { try $0.decode(as: StreakID.self) }
    }
}
