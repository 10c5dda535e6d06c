internal import Database
internal import Kernel
internal import StreaksDomain

/// The day ledgers: contributions, covers, freezes and pauses of each streak (D15).
struct LedgerRepository: Sendable {
    let policies: StreakPolicies
    static let beforeEverything = CalendarDate(dayNumber: -100_000)

    /// The ledgers of these rows from their checkpoints on, or from the start. What a kind does not have is not asked for.
    func load(_ rows: [StreakRow], isWhole: Bool = false, _ sql: some QueryExecutor) async throws -> [StoredStreak] {
        guard !rows.isEmpty else { return [] }
        let ids = rows.map(\.id)
        let changing = rows.filter(\.kind.hasChangingMembers).map(\.id)
        let histories = changing.isEmpty ? [] : try await MemberRepository.histories(of: changing, sql)
        let planned = rows.filter { policies.policy(for: $0.kind).asksForPlans }.flatMap(\.members)
        let read = try await sql.query(
            together: [
                entriesQuery(of: rows), OutageRepository.declaredQuery,
                ZoneRepository.query(of: rows.flatMap(\.members) + histories.map(\.user)),
            ] + (isWhole ? [] : [CheckpointRepository.query(of: ids)])
        )
        let entries = try Self.entries(read[0])
        let outages = try OutageRepository.outages(read[1])
        let zones = try await ZoneRepository.histories(read[2])
        let stored = isWhole ? [:] : try CheckpointRepository.checkpoints(read[3])
        let plans = try await PlanRepository.histories(of: planned, sql)
        let participants = Self.participants(of: rows, histories, zones, plans)
        let bases = Self.reaching(outages, of: rows, participants, stored)
        // The checkpoints that were read say where to begin: newer ones may have been stored since.
        let starts = ids.map { bases[$0]?.settledThrough ?? Self.beforeEverything }
        let wanted = zip(rows, starts).filter { $0.0.kind == .habit }
        let dates = try await sql.query(
            together: [contributionsQuery(to: ids, after: starts)]
                + (wanted.isEmpty ? [] : [HabitLedger.query(of: wanted.map(\.0.id), after: wanted.map(\.1))])
        )
        let contributions = try await Self.contributions(dates[0])
        let habits = wanted.isEmpty ? [:] : try HabitLedger.entries(dates[1])
        return await rows.mapInSlices { row in
            StoredStreak(
                row: row,
                ledger: StreakLedger(
                    start: row.startedAt,
                    participants: participants[row.id] ?? [],
                    base: bases[row.id],
                    contributions: habits[row.id]?.completions ?? contributions[row.id] ?? [],
                    recoveries: entries[row.id]?.covers ?? [],
                    pauses: entries[row.id]?.pauses ?? [],
                    outages: outages,
                    freezeGrants: entries[row.id]?.grants ?? [],
                    manualFreezes: entries[row.id]?.byHand ?? [],
                    protections: entries[row.id]?.protections ?? [],
                    endedAt: row.endedAt,
                    brokenOff: row.brokenOff,
                    earlierBreakOffs: row.earlierBreakOffs,
                    longestShown: Int(row.longest),
                    habit: habits[row.id]?.habit
                ),
                isCheckpointStale: stored[row.id] != nil && bases[row.id] == nil
            )
        }
    }

    /// Those of the row; for kinds whose members may change also the former ones.
    ///
    /// - Parameter histories: of the members of those.
    private static func participants(
        of rows: [StreakRow],
        _ histories: [MemberRepository.History],
        _ zones: [UserID: ZoneHistory],
        _ plans: [UserID: PlanHistory]
    ) -> [StreakID: [StreakLedger.Participant]] {
        var participants: [StreakID: [StreakLedger.Participant]] = [:]
        for row in rows where !row.kind.hasChangingMembers {
            participants[row.id] = row.members.map { user in
                StreakLedger.Participant(user, zones: zones[user] ?? ZoneHistory(.utc), plans: plans[user] ?? PlanHistory())
            }
        }
        for member in histories {
            let stay = StreakLedger.Stay(joined: member.joinedAt, left: member.leftAt)
            if let last = participants[member.streak]?.indices.last, participants[member.streak]?[last].user == member.user {
                participants[member.streak]?[last].stays.append(stay)
                continue
            }
            participants[member.streak, default: []].append(
                StreakLedger.Participant(member.user, zones: zones[member.user] ?? ZoneHistory(.utc), stays: [stay])
            )
        }
        return participants
    }

    /// Whether no outage that was declared since the streak was last settled reaches behind its checkpoint.
    static func isUsable(
        _ base: Checkpoint,
        of row: StreakRow,
        _ participants: [StreakLedger.Participant],
        _ outages: [StreakLedger.Outage]
    ) -> Bool {
        !outages.contains { outage in
            outage.declaredAt > row.settledAt
                && participants.contains { $0.zones.date(at: outage.from) <= base.settledThrough }
        }
    }

    /// The checkpoints without those that an outage declared since their streak was last settled reaches behind.
    private static func reaching(
        _ outages: [StreakLedger.Outage],
        of rows: [StreakRow],
        _ participants: [StreakID: [StreakLedger.Participant]],
        _ checkpoints: [StreakID: Checkpoint]
    ) -> [StreakID: Checkpoint] {
        var usable = checkpoints
        for row in rows {
            guard let base = checkpoints[row.id] else { continue }
            if !isUsable(base, of: row, participants[row.id] ?? [], outages) { usable[row.id] = nil }
        }
        return usable
    }

    private func contributionsQuery(to ids: [StreakID], after starts: [CalendarDate]) -> Query {
        """
        SELECT streak_id, user_id, on_date, received_at, recorded_at
        FROM contribution JOIN unnest(\(ids), \(starts)) AS base (id, settled_through)
            ON streak_id = base.id AND on_date > base.settled_through
        """
    }

    /// - Parameter entries: of `contributionsQuery`.
    private static func contributions(_ entries: [Row]) async throws -> [StreakID: [StreakLedger.Contribution]] {
        var contributions: [StreakID: [StreakLedger.Contribution]] = [:]
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
        return contributions
    }

    /// What one streak's ledger has beside its contributions.
    struct Entries {
        var covers: [StreakLedger.Recovery] = []
        var grants: [StreakLedger.FreezeGrant] = []
        var byHand: [StreakLedger.ManualFreeze] = []
        var pauses: [StreakLedger.Pause] = []
        var protections: [StreakLedger.Protection] = []
    }

    /// The tables of a ledger beside its contributions, as the second column of `entriesQuery` names them.
    enum Table: Int32 {
        case cover = 1
        case freeze = 2
        case pause = 3
        case protection = 4
    }

    /// Everything but contributions, in one statement. What a kind does not have is not asked for.
    private func entriesQuery(of rows: [StreakRow]) -> Query {
        func ids(_ has: (StreakPolicy) -> Bool) -> [StreakID] {
            rows.filter { has(policies.policy(for: $0.kind)) }.map(\.id)
        }
        var query: Query = """
            SELECT streak_id, 1, used_at, user_id, kind::int, from_date, through_date, returned_at, operation_id
            FROM streak_cover WHERE streak_id = ANY(\(rows.map(\.id)))
            """
        let freezes = ids { $0.freezes != nil }
        if !freezes.isEmpty {
            query = """
                \(query) UNION ALL SELECT streak_id, 2, at, NULL, granted, on_date, NULL, NULL, operation_id
                FROM streak_freeze WHERE streak_id = ANY(\(freezes))
                """
        }
        let pauses = ids { $0.longestPause != nil }
        if !pauses.isEmpty {
            query = """
                \(query) UNION ALL SELECT streak_id, 3, paused_at, NULL, NULL, from_date, until_date, NULL, NULL
                FROM streak_pause WHERE streak_id = ANY(\(pauses))
                """
        }
        let protections = ids { !$0.protections.isEmpty }
        if !protections.isEmpty {
            query = """
                \(query) UNION ALL SELECT streak_id, 4, held_at, NULL, kind::int, NULL, NULL, held_until, operation_id
                FROM streak_protection WHERE streak_id = ANY(\(protections))
                """
        }
        return "\(query) ORDER BY 3"
    }

    /// - Parameter rows: of `entriesQuery`.
    private static func entries(_ rows: [Row]) throws -> [StreakID: Entries] {
        var found: [StreakID: Entries] = [:]
        for row in rows { try add(row, to: &found[try row.get(at: 0), default: Entries()]) }
        return found
    }

    /// - Parameter row: as `entriesQuery` reads it: the streak, the table, and what the entry has.
    static func add(_ row: Row, to entries: inout Entries) throws {
        let at: Instant = try row.get(at: 2)
        let number = try row.get(at: 4, as: Int32?.self)
        let (from, through) = (try row.get(at: 5, as: CalendarDate?.self), try row.get(at: 6, as: CalendarDate?.self))
        let until = try row.get(at: 7, as: Instant?.self)
        let operation = try row.get(at: 8, as: OperationID?.self)
        switch Table(rawValue: try row.get(at: 1)) {
        case .cover:
            guard let number, let from, let through, let kind = StreakLedger.Recovery.Kind(stored: number) else {
                throw ServiceError.internal
            }
            entries.covers.append(
                StreakLedger.Recovery(
                    kind: kind,
                    user: try row.get(at: 3),
                    at: at,
                    from: from,
                    through: through,
                    returnedAt: until,
                    id: operation
                )
            )
        case .freeze:
            if let number { entries.grants.append(StreakLedger.FreezeGrant(at: at, count: Int(number), id: operation)) }
            if let from { entries.byHand.append(StreakLedger.ManualFreeze(at: at, date: from)) }
        case .pause:
            guard let from, let through else { throw ServiceError.internal }
            entries.pauses.append(StreakLedger.Pause(at: at, from: from, until: through))
        case .protection:
            guard let number, let operation, let kind = StreakLedger.Protection.Kind(rawValue: number) else {
                throw ServiceError.internal
            }
            entries.protections.append(StreakLedger.Protection(kind: kind, at: at, until: until, id: operation))
        case nil: throw ServiceError.internal
        }
    }
}
