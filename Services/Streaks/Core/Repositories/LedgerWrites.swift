internal import Database
internal import Kernel
internal import StreaksDomain

/// What changes add to the ledgers: each kind of entry by one statement for all streaks.
extension LedgerRepository {
    /// Writes what was added to ledgers. - Returns: the operations of the covers that turned out not to be needed, by streak and use.
    static func store(_ entries: [LedgerEntries], at now: Instant, _ sql: Transaction) async throws -> [CoverUse: OperationID] {
        try insertContributions(entries, sql)
        try HabitLedger.store(entries.compactMap { entry in entry.habit.map { (entry.streak, $0) } }, at: now, sql)
        try insertCovers(entries, sql)
        try insertFreezesAndPauses(entries, sql)
        try insertProtections(entries, sql)
        try MemberRepository.leave(entries.flatMap { entry in entry.left.map { (entry.streak, $0.user, $0.at) } }, sql)
        try MemberRepository.join(entries.flatMap { entry in entry.joined.map { (entry.streak, $0.user, $0.at) } }, sql)
        return try await markReturned(entries, sql)
    }

    private static func insertContributions(_ entries: [LedgerEntries], _ sql: Transaction) throws {
        let new = entries.flatMap { entry in entry.contributions.map { (entry.streak, entry.operation, $0) } }
        guard !new.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO contribution (streak_id, user_id, on_date, received_at, recorded_at, operation_id)
            SELECT * FROM \(rows: .of(new.map(\.0)), .of(new.map(\.2.user)), .of(new.map(\.2.date)), .of(new.map(\.2.receivedAt)),
                .of(new.map(\.2.recordedAt)), .of(new.map(\.1))) AS new
            """
        )
    }

    private static func insertCovers(_ entries: [LedgerEntries], _ sql: Transaction) throws {
        let new = entries.flatMap { entry in entry.covers.map { (entry.streak, entry.operation, $0) } }
        guard !new.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO streak_cover (streak_id, used_at, kind, user_id, from_date, through_date, operation_id)
            SELECT * FROM unnest(\(new.map(\.0)), \(new.map(\.2.at)), \(new.map(\.2.kind.stored)),
                \(new.map(\.2.user)), \(new.map(\.2.from)), \(new.map(\.2.through)), \(new.map { $0.2.id ?? $0.1 }))
            """
        )
    }

    private static func insertFreezesAndPauses(_ entries: [LedgerEntries], _ sql: Transaction) throws {
        let grants = entries.flatMap { entry in entry.grants.map { (entry.streak, $0) } }
        let byHand = entries.flatMap { entry in entry.freezesByHand.map { (entry.streak, $0) } }
        if !grants.isEmpty {
            try sql.enqueue(
                """
                INSERT INTO streak_freeze (streak_id, at, granted, operation_id)
                SELECT * FROM \(rows: .of(grants.map(\.0)), .of(grants.map(\.1.at)), .of(grants.map { Int32($0.1.count) }),
                    .of(grants.map(\.1.id))) AS new
                """
            )
        }
        if !byHand.isEmpty {
            try sql.enqueue(
                """
                INSERT INTO streak_freeze (streak_id, at, on_date)
                SELECT * FROM unnest(\(byHand.map(\.0)), \(byHand.map(\.1.at)), \(byHand.map(\.1.date)))
                """
            )
        }
        let pauses = entries.flatMap { entry in entry.pauses.map { (entry.streak, $0) } }
        guard !pauses.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO streak_pause (streak_id, paused_at, from_date, until_date)
            SELECT * FROM unnest(\(pauses.map(\.0)), \(pauses.map(\.1.at)), \(pauses.map(\.1.from)), \(pauses.map(\.1.until)))
            ON CONFLICT (streak_id, paused_at) DO UPDATE SET from_date = EXCLUDED.from_date, until_date = EXCLUDED.until_date
            """
        )
    }

    private static func insertProtections(_ entries: [LedgerEntries], _ sql: Transaction) throws {
        let new = entries.flatMap { entry in entry.protections.map { (entry.streak, $0) } }
        guard !new.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO streak_protection (streak_id, kind, held_at, held_until, operation_id)
            SELECT * FROM unnest(\(new.map(\.0)), \(new.map(\.1.kind.rawValue)), \(new.map(\.1.at)), \(new.map(\.1.until)),
                \(new.map(\.1.id)))
            ON CONFLICT (streak_id, operation_id) DO UPDATE SET held_until = EXCLUDED.held_until
            """
        )
    }

    private static func markReturned(_ entries: [LedgerEntries], _ sql: Transaction) async throws -> [CoverUse: OperationID] {
        let returned = entries.flatMap { entry in entry.returned.map { (entry.streak, $0) } }
        guard !returned.isEmpty else { return [:] }
        let rows = try await sql.query(
            """
            UPDATE streak_cover SET returned_at = new.returned_at
            FROM unnest(\(returned.map(\.0)), \(returned.compactMap(\.1.id)), \(returned.map { $0.1.returnedAt ?? $0.1.at }))
                AS new (streak_id, operation_id, returned_at)
            WHERE streak_cover.streak_id = new.streak_id AND streak_cover.operation_id = new.operation_id
                AND streak_cover.returned_at IS NULL
            RETURNING streak_cover.streak_id, streak_cover.used_at, streak_cover.operation_id
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

extension StreakLedger.Recovery.Kind {
    /// The value in `streak_cover.kind`.
    fileprivate var stored: Int32 {
        switch self {
        case .token: 1
        case .cover: 2
        case .repair: 3
        case .fill: 4
        }
    }

    init?(stored value: Int32) {
        guard let kind = Self.allCases.first(where: { $0.stored == value }) else { return nil }
        self = kind
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
    /// New ones, and those whose beginning or end was moved.
    var pauses: [StreakLedger.Pause] = []
    /// New ones, and those that were taken back.
    var protections: [StreakLedger.Protection] = []
    var joined: [(user: UserID, at: Instant)] = []
    var left: [(user: UserID, at: Instant)] = []
    /// What only habits have; their completions are among it, not among the contributions.
    var habit: HabitLedgerEntries?

    /// The difference of two ledgers of one streak; both from the same checkpoint.
    init(of streak: StreakID, from before: StreakLedger, to after: StreakLedger, operation: OperationID) {
        self.streak = streak
        self.operation = operation
        habit = HabitLedgerEntries(from: before, to: after)
        if after.habit == nil, after.contributions != before.contributions {
            contributions = after.contributions.flatMap { date, all in
                all.filter { !(before.contributions[date] ?? []).contains($0) }
            }
        }
        if after.recoveries != before.recoveries {
            let known = Dictionary(before.recoveries.map { (Use($0), $0) }) { first, _ in first }
            covers = after.recoveries.filter { known[Use($0)] == nil }
            returned = after.recoveries.filter { cover in
                cover.returnedAt != nil && known[Use(cover)].map { $0.returnedAt == nil } ?? false
            }
        }
        grants = after.freezeGrants.filter { !before.freezeGrants.contains($0) }
        freezesByHand = after.manualFreezes.filter { !before.manualFreezes.contains($0) }
        pauses = after.pauses.filter { !before.pauses.contains($0) }
        protections = after.protections.filter { !before.protections.contains($0) }
        guard after.participants != before.participants else { return }
        for participant in after.participants {
            let stays = before.participant(participant.user)?.stays ?? []
            for (index, stay) in participant.stays.enumerated() {
                let old = index < stays.count ? stays[index] : nil
                if old == nil, let at = stay.joined { joined.append((participant.user, at)) }
                if old?.left == nil, let at = stay.left { left.append((participant.user, at)) }
            }
        }
    }

    /// One use of a cover: a new one may have no id yet.
    private struct Use: Hashable {
        let at: Instant
        let id: OperationID?

        init(_ cover: StreakLedger.Recovery) { (at, id) = (cover.at, cover.id) }
    }

    var isEmpty: Bool {
        contributions.isEmpty && covers.isEmpty && returned.isEmpty && grants.isEmpty && freezesByHand.isEmpty && pauses.isEmpty
            && protections.isEmpty && joined.isEmpty && left.isEmpty && habit == nil
    }
}
