internal import Database
internal import Kernel
internal import StreaksDomain

/// The rows of streaks and what identifies them.
enum StreakRepository {
    /// A new streak; its members come by `MemberRepository.insert`.
    ///
    /// - Throws: `DatabaseError` serialization failure when another transaction has begun one with the same key: run again, this one finds it.
    static func insert(_ id: StreakID, _ kind: StreakKind, key: String?, state: StreakState, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO streak (id, kind, started_at, open_date, deadline_at, at_risk_from, settled_at)
            VALUES (\(id), \(kind.rawValue), \(state.asOf), \(state.openDate), \(state.deadlineAt), \(state.atRiskFrom),
                \(state.asOf))
            """
        )
        guard let key else { return }
        let claimed = try await sql.execute(
            """
            INSERT INTO streak_identity (kind, key, streak_id) VALUES (\(kind.rawValue), \(key), \(id)) ON CONFLICT DO NOTHING
            """
        )
        guard claimed == 1 else { throw DatabaseError(.serializationFailure) }
    }

    /// Locks them in the order of their ids.
    static func lock(_ ids: [StreakID], _ sql: Transaction) async throws -> [StreakRow] {
        try await sql.query("SELECT \(StreakRow.columns) FROM streak WHERE id = ANY(\(ids)) ORDER BY id FOR UPDATE")
            .mapInSlices(StreakRow.init)
    }

    static func find(_ ids: [StreakID], _ sql: some QueryExecutor) async throws -> [StreakRow] {
        try await sql.query("SELECT \(StreakRow.columns) FROM streak WHERE id = ANY(\(ids))").map(StreakRow.init)
    }

    static func find(_ kind: StreakKind, key: String, _ sql: some QueryExecutor) async throws -> StreakID? {
        try await sql.query("SELECT streak_id FROM streak_identity WHERE kind = \(kind.rawValue) AND key = \(key)")
            .first?.decode(as: StreakID.self)
    }

    static func key(of id: StreakID, _ sql: some QueryExecutor) async throws -> String? {
        try await sql.query("SELECT key FROM streak_identity WHERE streak_id = \(id)").first?.decode(as: String.self)
    }

    static func dueQuery(_ kind: StreakKind, at now: Instant, limit: Int) -> Query {
        """
        SELECT \(StreakRow.columns) FROM streak WHERE kind = \(kind.rawValue) AND next_due <= \(now)
        ORDER BY next_due LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// The next date of the streak of these kinds that has waited longest, due or not.
    static func oldestDue(_ kinds: [StreakKind], _ database: Database) async throws -> Instant? {
        try await database.query(
            """
            SELECT min(next_due) FROM unnest(\(kinds.map(\.rawValue))) AS k CROSS JOIN LATERAL (
                SELECT next_due FROM streak WHERE kind = k AND next_due IS NOT NULL ORDER BY next_due LIMIT 1) AS first
            """
        ).first?.decode(as: Instant?.self)
    }

    /// A streak that cannot be settled makes way for the others until then.
    static func postpone(_ id: StreakID, until instant: Instant, _ database: Database) async throws {
        _ = try await database.execute("UPDATE streak SET next_due = \(instant) WHERE id = \(id) AND next_due < \(instant)")
    }

    /// Stores what ledgers folded to, each streak once. What has ended gives its key back.
    static func save(_ changes: [PlannedChange], _ sql: Transaction) throws {
        guard !changes.isEmpty else { return }
        let states = changes.map(\.change.state)
        try sql.enqueue(
            """
            UPDATE streak SET status = new.status, current_count = new.count, longest_count = new.longest,
                last_completed_date = new.completed, open_date = new.open, deadline_at = new.deadline, at_risk_from = new.risk,
                next_due = new.due, run_start = new.run, broken_by = new.breaker, broken_at = new.broken,
                missed_date = new.missed, ended_at = new.ended, contribution_count = contribution_count + new.contributions,
                settled_at = new.settled, newest_dates = CASE WHEN new.contributor IS NULL THEN newest_dates ELSE ARRAY(
                    SELECT CASE WHEN member = new.contributor THEN greatest(newest, new.contributed) ELSE newest END
                    FROM unnest(members, newest_dates) WITH ORDINALITY AS each (member, newest, place) ORDER BY place) END
            FROM \(rows: .of(changes.map(\.row.id)), .of(states.map(\.status.stored)), .of(states.map { Int32($0.count) }),
                .of(states.map { Int32($0.longest) }), .of(states.map(\.lastCompletedDate)), .of(states.map(\.openDate)),
                .of(states.map(\.deadlineAt)), .of(states.map(\.atRiskFrom)), .of(states.map(\.nextDue)),
                .of(states.map(\.brokenBy)), .of(states.map(\.brokenAt)), .of(states.map(\.missedDate)),
                .of(changes.map(\.change.ledger.endedAt)), .of(changes.map { Int32($0.entries.contributions.count) }),
                .of(states.map(\.asOf)), .of(changes.map(\.contribution?.user)), .of(changes.map(\.contribution?.date)),
                .of(states.map(\.runStart)))
                AS new (id, status, count, longest, completed, open, deadline, risk, due, breaker, broken, missed, ended, contributions,
                    settled, contributor, contributed, run)
            WHERE streak.id = new.id
            """
        )
        let ended = changes.filter { $0.change.state.status == .ended && $0.row.status != .ended }.map(\.row.id)
        if !ended.isEmpty { try sql.enqueue("DELETE FROM streak_identity WHERE streak_id = ANY(\(ended))") }
    }

    /// Streaks whose earliest activity was recorded after a later one: they began with it.
    static func moveStarts(_ moved: [(streak: StreakID, start: Instant)], _ sql: Transaction) throws {
        guard !moved.isEmpty else { return }
        let (ids, starts) = (moved.map(\.streak), moved.map(\.start))
        try sql.enqueue(
            """
            UPDATE streak SET started_at = new.at FROM unnest(\(ids), \(starts)) AS new (id, at) WHERE streak.id = new.id
            """
        )
        try sql.enqueue(
            """
            UPDATE streak_member m SET joined_at = new.at FROM unnest(\(ids), \(starts)) AS new (id, at)
            WHERE m.streak_id = new.id AND m.joined_at > new.at
            """
        )
    }

    /// Stores when and through whom streaks were broken off; `StreakRow` reads it back into the ledger.
    static func store(_ brokenOff: [(streak: StreakID, by: StreakLedger.BrokenOff)], _ sql: Transaction) throws {
        guard !brokenOff.isEmpty else { return }
        try sql.enqueue(
            """
            UPDATE streak SET broken_off_at = new.at, broken_off_by = new.by, earlier_break_offs = CASE
                WHEN broken_off_at IS NULL THEN earlier_break_offs ELSE earlier_break_offs || broken_off_at END
            FROM unnest(\(brokenOff.map(\.streak)), \(brokenOff.map(\.by.at)), \(brokenOff.map(\.by.user))) AS new (id, at, by)
            WHERE streak.id = new.id
            """
        )
    }
}
