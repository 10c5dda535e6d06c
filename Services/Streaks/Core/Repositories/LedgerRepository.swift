internal import Database
internal import Kernel
internal import StreaksDomain

/// The day ledgers: contributions, covers, freezes and pauses of each streak (D15).
struct LedgerRepository: Sendable {
    let policies: StreakPolicies
    private static let beforeEverything = CalendarDate(dayNumber: -100_000)

    /// The ledgers of these rows from their checkpoints on, or from the start. What a kind does not have is not asked for.
    func load(_ rows: [StreakRow], isWhole: Bool = false, _ sql: some QueryExecutor) async throws -> [StoredStreak] {
        guard !rows.isEmpty else { return [] }
        let ids = rows.map(\.id)
        let participants = try await participants(of: rows, sql)
        let covers = try await covers(of: ids, sql)
        let freezes = try await freezes(of: rows.filter { policies.policy(for: $0.kind).freezes != nil }.map(\.id), sql)
        let pauses = try await pauses(of: rows.filter { policies.policy(for: $0.kind).longestPause != nil }.map(\.id), sql)
        let outages = try await OutageRepository.declared(sql)
        let stored = isWhole ? [:] : try await CheckpointRepository.find(ids, sql)
        let bases = Self.reaching(outages, of: rows, participants, stored)
        // The checkpoints that were read say where to begin: newer ones may have been stored since.
        let starts = ids.map { bases[$0]?.settledThrough ?? Self.beforeEverything }
        let contributions = try await contributions(to: ids, after: starts, sql)
        return await rows.mapInSlices { row in
            StoredStreak(
                row: row,
                ledger: StreakLedger(
                    start: row.startedAt,
                    participants: participants[row.id] ?? [],
                    base: bases[row.id],
                    contributions: contributions[row.id] ?? [],
                    recoveries: covers[row.id] ?? [],
                    pauses: pauses[row.id] ?? [],
                    outages: outages,
                    freezeGrants: freezes[row.id]?.grants ?? [],
                    manualFreezes: freezes[row.id]?.byHand ?? [],
                    endedAt: row.endedAt,
                    brokenOff: row.brokenOff,
                    longestShown: Int(row.longest)
                ),
                isCheckpointStale: stored[row.id] != nil && bases[row.id] == nil
            )
        }
    }

    /// Those of the row; for kinds whose members may change also the former ones.
    private func participants(of rows: [StreakRow], _ sql: some QueryExecutor) async throws
        -> [StreakID: [StreakLedger.Participant]]
    {
        let changing = rows.filter(\.kind.hasChangingMembers).map(\.id)
        let histories = changing.isEmpty ? [] : try await MemberRepository.histories(of: changing, sql)
        let people = rows.flatMap(\.members) + histories.map(\.user)
        let zones = try await ZoneRepository.histories(of: people, sql)
        var participants: [StreakID: [StreakLedger.Participant]] = [:]
        for row in rows where !row.kind.hasChangingMembers {
            participants[row.id] = row.members.map { StreakLedger.Participant($0, zones: zones[$0] ?? ZoneHistory(.utc)) }
        }
        for member in histories {
            participants[member.streak, default: []].append(
                StreakLedger.Participant(
                    member.user,
                    zones: zones[member.user] ?? ZoneHistory(.utc),
                    joined: member.joinedAt,
                    left: member.leftAt
                )
            )
        }
        return participants
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
            let isStale = outages.contains { outage in
                outage.declaredAt > row.settledAt
                    && (participants[row.id] ?? []).contains { $0.zones.date(at: outage.from) <= base.settledThrough }
            }
            if isStale { usable[row.id] = nil }
        }
        return usable
    }

    private func contributions(to ids: [StreakID], after starts: [CalendarDate], _ sql: some QueryExecutor) async throws
        -> [StreakID: [StreakLedger.Contribution]]
    {
        let entries = try await sql.query(
            """
            SELECT streak_id, user_id, on_date, received_at, recorded_at
            FROM contribution JOIN unnest(\(ids), \(starts)) AS base (id, settled_through)
                ON streak_id = base.id AND on_date > base.settled_through
            """
        )
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

    private func covers(of streaks: [StreakID], _ sql: some QueryExecutor) async throws -> [StreakID: [StreakLedger.Recovery]] {
        let rows = try await sql.query(
            """
            SELECT streak_id, kind, user_id, used_at, from_date, through_date, returned_at FROM streak_cover
            WHERE streak_id = ANY(\(streaks)) ORDER BY used_at
            """
        )
        var found: [StreakID: [StreakLedger.Recovery]] = [:]
        for row in rows {
            let cover = StreakLedger.Recovery(
                kind: try row.get(at: 1, as: Int32.self) == Self.token ? .token : .cover,
                user: try row.get(at: 2),
                at: try row.get(at: 3),
                from: try row.get(at: 4),
                through: try row.get(at: 5),
                returnedAt: try row.get(at: 6)
            )
            found[try row.get(at: 0), default: []].append(cover)
        }
        return found
    }

    private typealias Freezes = (grants: [StreakLedger.FreezeGrant], byHand: [StreakLedger.ManualFreeze])

    private func freezes(of streaks: [StreakID], _ sql: some QueryExecutor) async throws -> [StreakID: Freezes] {
        guard !streaks.isEmpty else { return [:] }
        var found: [StreakID: Freezes] = [:]
        for row in try await sql.query(
            "SELECT streak_id, at, granted, on_date FROM streak_freeze WHERE streak_id = ANY(\(streaks)) ORDER BY at"
        ) {
            let (streak, at, granted, date) = try row.decode(
                as: (StreakID.self, Instant.self, Int32?.self, CalendarDate?.self)
            )
            if let granted {
                found[streak, default: ([], [])].grants.append(StreakLedger.FreezeGrant(at: at, count: Int(granted)))
            } else if let date {
                found[streak, default: ([], [])].byHand.append(StreakLedger.ManualFreeze(at: at, date: date))
            }
        }
        return found
    }

    private func pauses(of streaks: [StreakID], _ sql: some QueryExecutor) async throws -> [StreakID: [StreakLedger.Pause]] {
        guard !streaks.isEmpty else { return [:] }
        var found: [StreakID: [StreakLedger.Pause]] = [:]
        for row in try await sql.query(
            """
            SELECT streak_id, paused_at, from_date, until_date FROM streak_pause
            WHERE streak_id = ANY(\(streaks)) ORDER BY paused_at
            """
        ) {
            let (streak, at, from, until) = try row.decode(
                as: (StreakID.self, Instant.self, CalendarDate.self, CalendarDate.self)
            )
            found[streak, default: []].append(StreakLedger.Pause(at: at, from: from, until: until))
        }
        return found
    }

    /// The value of a recovery token in `streak_cover.kind`; 2 is any other cover.
    private static let token: Int32 = 1

    /// Writes what was added to ledgers. - Returns: the operations of the covers that turned out not to be needed, by streak and use.
    static func store(_ entries: [LedgerEntries], _ sql: Transaction) async throws -> [CoverUse: OperationID] {
        try await insertContributions(entries, sql)
        try await insertCovers(entries, sql)
        try await insertFreezesAndPauses(entries, sql)
        return try await markReturned(entries, sql)
    }

    private static func insertContributions(_ entries: [LedgerEntries], _ sql: Transaction) async throws {
        let new = entries.flatMap { entry in entry.contributions.map { (entry.streak, entry.operation, $0) } }
        guard !new.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
            SELECT * FROM unnest(\(new.map(\.0)), \(new.map(\.2.user)), \(new.map(\.2.date)), \(new.map(\.2.receivedAt)),
                \(new.map(\.2.recordedAt)), \(new.map(\.1)))
            """
        )
    }

    private static func insertCovers(_ entries: [LedgerEntries], _ sql: Transaction) async throws {
        let new = entries.flatMap { entry in entry.covers.map { (entry.streak, entry.operation, $0) } }
        guard !new.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO streak_cover (streak_id, used_at, kind, user_id, from_date, through_date, operation_id)
            SELECT * FROM unnest(\(new.map(\.0)), \(new.map(\.2.at)), \(new.map { $0.2.kind == .token ? token : 2 }),
                \(new.map(\.2.user)), \(new.map(\.2.from)), \(new.map(\.2.through)), \(new.map(\.1)))
            """
        )
    }

    private static func insertFreezesAndPauses(_ entries: [LedgerEntries], _ sql: Transaction) async throws {
        let grants = entries.flatMap { entry in entry.grants.map { (entry.streak, $0) } }
        let byHand = entries.flatMap { entry in entry.freezesByHand.map { (entry.streak, $0) } }
        if !grants.isEmpty {
            _ = try await sql.execute(
                """
                INSERT INTO streak_freeze (streak_id, at, granted)
                SELECT * FROM unnest(\(grants.map(\.0)), \(grants.map(\.1.at)), \(grants.map { Int32($0.1.count) }))
                """
            )
        }
        if !byHand.isEmpty {
            _ = try await sql.execute(
                """
                INSERT INTO streak_freeze (streak_id, at, on_date)
                SELECT * FROM unnest(\(byHand.map(\.0)), \(byHand.map(\.1.at)), \(byHand.map(\.1.date)))
                """
            )
        }
        let pauses = entries.flatMap { entry in entry.pauses.map { (entry.streak, $0) } }
        guard !pauses.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO streak_pause (streak_id, paused_at, from_date, until_date)
            SELECT * FROM unnest(\(pauses.map(\.0)), \(pauses.map(\.1.at)), \(pauses.map(\.1.from)), \(pauses.map(\.1.until)))
            ON CONFLICT (streak_id, paused_at) DO UPDATE SET until_date = EXCLUDED.until_date
            """
        )
    }

    private static func markReturned(_ entries: [LedgerEntries], _ sql: Transaction) async throws -> [CoverUse: OperationID] {
        let returned = entries.flatMap { entry in entry.returned.map { (entry.streak, $0) } }
        guard !returned.isEmpty else { return [:] }
        let rows = try await sql.query(
            """
            UPDATE streak_cover SET returned_at = new.returned_at
            FROM unnest(\(returned.map(\.0)), \(returned.map(\.1.at)), \(returned.map { $0.1.returnedAt ?? $0.1.at }))
                AS new (streak_id, used_at, returned_at)
            WHERE streak_cover.streak_id = new.streak_id AND streak_cover.used_at = new.used_at AND streak_cover.returned_at IS NULL
            RETURNING streak_cover.streak_id, streak_cover.used_at, operation_id
            """
        )
        guard rows.count == returned.count else { throw ServiceError.internal }
        var operations: [CoverUse: OperationID] = [:]
        for row in rows {
            let (streak, usedAt, operation) = try row.decode(as: (StreakID.self, Instant.self, OperationID.self))
            operations[CoverUse(streak: streak, usedAt: usedAt)] = operation
        }
        return operations
    }
}

/// A cover of a streak.
struct CoverUse: Hashable, Sendable {
    let streak: StreakID
    let usedAt: Instant
}

/// What a change added to a ledger.
struct LedgerEntries: Sendable {
    let streak: StreakID
    /// What the change was asked for by: the id of its contributions and covers.
    let operation: OperationID
    var contributions: [StreakLedger.Contribution] = []
    var covers: [StreakLedger.Recovery] = []
    /// Covers that turned out not to be needed.
    var returned: [StreakLedger.Recovery] = []
    var grants: [StreakLedger.FreezeGrant] = []
    var freezesByHand: [StreakLedger.ManualFreeze] = []
    /// New ones, and those whose end was moved.
    var pauses: [StreakLedger.Pause] = []

    /// The difference of two ledgers of one streak; both from the same checkpoint.
    init(of streak: StreakID, from before: StreakLedger, to after: StreakLedger, operation: OperationID) {
        self.streak = streak
        self.operation = operation
        if after.contributions != before.contributions {
            contributions = after.contributions.flatMap { date, all in
                all.filter { !(before.contributions[date] ?? []).contains($0) }
            }
        }
        if after.recoveries != before.recoveries {
            let known = Dictionary(before.recoveries.map { ($0.at, $0) }) { first, _ in first }
            covers = after.recoveries.filter { known[$0.at] == nil }
            returned = after.recoveries.filter { cover in
                cover.returnedAt != nil && known[cover.at].map { $0.returnedAt == nil } ?? false
            }
        }
        grants = after.freezeGrants.filter { !before.freezeGrants.contains($0) }
        freezesByHand = after.manualFreezes.filter { !before.manualFreezes.contains($0) }
        pauses = after.pauses.filter { !before.pauses.contains($0) }
    }

    var isEmpty: Bool {
        contributions.isEmpty && covers.isEmpty && returned.isEmpty && grants.isEmpty && freezesByHand.isEmpty && pauses.isEmpty
    }
}
