internal import Database
internal import Kernel
internal import StreaksDomain

/// A user's streak of a solo kind, or one of their habits, with its ledger, by statements of which none needs the answer of another: they are sent together.
struct SoloRepository: Sendable {
    let kind: StreakKind
    let user: UserID
    /// `NewStreak.key`.
    let key: String
    let policy: StreakPolicy

    /// What the statements found.
    enum Found {
        case none
        case loaded(StoredStreak)
        /// The ledger must be read again, from the start or from another checkpoint.
        case unusable(StreakRow)
    }

    /// What `entries` reads beside the tables of `LedgerRepository.Table`, as its second column names it.
    private enum Fact: Int32 {
        case zone = 5
        case plan = 6
        case outage = 7
        case contribution = 8
        case checkpoint = 9
    }

    private var identity: Query {
        "SELECT streak_id FROM streak_identity WHERE kind = \(kind.rawValue) AND key = \(key)"
    }

    /// Locks the row. What is read behind it, by statements of their own, is what the holder before has left: a statement that waits for a
    /// lock goes on with what it saw before.
    ///
    /// - Parameter condition: nothing is locked where it is false.
    func lock(if condition: Query) -> Query {
        "SELECT 1 FROM streak WHERE id = (\(identity) AND \(condition)) FOR UPDATE"
    }

    /// The row and its checkpoint.
    var row: Query {
        """
        SELECT mine.*, base.* FROM (SELECT \(StreakRow.columns) FROM streak WHERE id = (\(identity))) AS mine
        LEFT JOIN (SELECT \(CheckpointRepository.columns) FROM streak_checkpoint) AS base ON base.streak_id = mine.id
        """
    }

    /// Everything that the ledger has beside the row: from the checkpoint on, and the checkpoint's date with it.
    var entries: Query {
        // A habit has completions instead (`habitEntries`), and nothing covers its dates. Every table that is not asked saves a part of a plan.
        """
        WITH mine AS (\(identity)),
            base AS (SELECT settled_through FROM streak_checkpoint WHERE streak_id = (SELECT streak_id FROM mine))
        SELECT NULL::uuid, 5, since, user_id, NULL::int, NULL::date, NULL::date, NULL::timestamptz, NULL::uuid, zone,
            recorded_at, NULL::bigint
        FROM zone_change WHERE user_id = \(user)
        UNION ALL SELECT NULL, 7, from_at, NULL, NULL, NULL, NULL, until_at, NULL, NULL, declared_at, NULL
        FROM outage WHERE declared_at IS NOT NULL
        UNION ALL SELECT NULL, 9, NULL, NULL, NULL, settled_through, NULL, NULL, NULL, NULL, NULL, NULL FROM base
        \(policy.habits == nil ? Self.coversAndContributions : "")
        \(policy.asksForPlans ? plans : "")
        \(policy.freezes != nil ? Self.freezes : "")
        \(policy.longestPause != nil ? Self.pauses : "")
        \(policy.protections.isEmpty ? "" : Self.protections)
        ORDER BY 3, 12
        """
    }

    private static let coversAndContributions: Query = """
        UNION ALL SELECT streak_id, 1, used_at, user_id, kind::int, from_date, through_date, returned_at, operation_id, NULL, NULL, NULL
        FROM streak_cover WHERE streak_id = (SELECT streak_id FROM mine)
        UNION ALL SELECT streak_id, 8, received_at, user_id, NULL, on_date, NULL, recorded_at, NULL, NULL, NULL, NULL
        FROM contribution WHERE streak_id = (SELECT streak_id FROM mine)
            AND on_date > coalesce((SELECT settled_through FROM base), '-infinity')
        """
    private var plans: Query {
        """
        UNION ALL SELECT NULL, 6, since, user_id, is_premium::int, NULL, NULL, expires_at, NULL, NULL, NULL, version
        FROM plan_change WHERE user_id = \(user)
        """
    }
    private static let freezes: Query = """
        UNION ALL SELECT streak_id, 2, at, NULL, granted, on_date, NULL, NULL, operation_id, NULL, NULL, NULL
        FROM streak_freeze WHERE streak_id = (SELECT streak_id FROM mine)
        """
    private static let pauses: Query = """
        UNION ALL SELECT streak_id, 3, paused_at, NULL, NULL, from_date, until_date, NULL, NULL, NULL, NULL, NULL
        FROM streak_pause WHERE streak_id = (SELECT streak_id FROM mine)
        """
    private static let protections: Query = """
        UNION ALL SELECT streak_id, 4, held_at, NULL, kind::int, NULL, NULL, held_until, operation_id, NULL, NULL, NULL
        FROM streak_protection WHERE streak_id = (SELECT streak_id FROM mine)
        """

    /// What only a habit has.
    var habitEntries: Query { HabitLedger.query(of: identity) }

    /// - Parameters:
    ///   - rows: of `row`.
    ///   - entries: of `entries`.
    ///   - habitEntries: of `habitEntries`, of a habit.
    func found(_ rows: [Row], _ entries: [Row], _ habitEntries: [Row] = []) throws -> Found {
        guard let first = rows.first else { return .none }
        let row = try StreakRow(first)
        let hasBase = try first.get(at: StreakRow.columnCount, as: StreakID?.self) != nil
        let base = hasBase ? try CheckpointRepository.checkpoint(first, at: StreakRow.columnCount) : nil
        let facts = try Facts(entries)
        let habit = try HabitLedger.entries(habitEntries)[row.id]
        let participants = row.members.map { member in
            StreakLedger.Participant(
                member,
                zones: ZoneHistory(entries: facts.zones) ?? ZoneHistory(.utc),
                plans: PlanHistory(facts.plans)
            )
        }
        // Without a lock a checkpoint may have been stored between the two.
        guard facts.settledThrough == base?.settledThrough,
            base.map({ LedgerRepository.isUsable($0, of: row, participants, facts.outages) }) ?? true
        else { return .unusable(row) }
        return .loaded(
            StoredStreak(
                row: row,
                ledger: StreakLedger(
                    start: row.startedAt,
                    participants: participants,
                    base: base,
                    contributions: habit?.completions ?? facts.contributions,
                    recoveries: facts.entries.covers,
                    pauses: facts.entries.pauses,
                    outages: facts.outages,
                    freezeGrants: facts.entries.grants,
                    manualFreezes: facts.entries.byHand,
                    protections: facts.entries.protections,
                    endedAt: row.endedAt,
                    brokenOff: row.brokenOff,
                    earlierBreakOffs: row.earlierBreakOffs,
                    longestShown: Int(row.longest),
                    habit: habit?.habit
                )
            )
        )
    }

    /// The rows of `entries`, each where it belongs.
    private struct Facts {
        var entries = LedgerRepository.Entries()
        var contributions: [StreakLedger.Contribution] = []
        var zones: [ZoneHistory.Entry] = []
        var plans: [PlanHistory.Entry] = []
        var outages: [StreakLedger.Outage] = []
        var settledThrough: CalendarDate?

        init(_ rows: [Row]) throws {
            for row in rows { try add(row) }
            outages.sort { $0.declaredAt < $1.declaredAt }
        }

        private mutating func add(_ row: Row) throws {
            switch Fact(rawValue: try row.get(at: 1)) {
            case nil: try LedgerRepository.add(row, to: &entries)
            case .zone:
                let zone = Zone(try row.get(at: 9)) ?? .utc
                zones.append(ZoneHistory.Entry(since: try row.get(at: 2), zone: zone, recordedAt: try row.get(at: 10)))
            case .plan:
                let isPremium = try row.get(at: 4, as: Int32.self) == 1
                plans.append(PlanHistory.Entry(since: try row.get(at: 2), isPremium: isPremium, until: try row.get(at: 7)))
            case .outage:
                let (from, until) = (try row.get(at: 2, as: Instant.self), try row.get(at: 7, as: Instant.self))
                outages.append(StreakLedger.Outage(from: from, until: until, declaredAt: try row.get(at: 10)))
            case .contribution:
                contributions.append(
                    StreakLedger.Contribution(
                        user: try row.get(at: 3),
                        date: try row.get(at: 5),
                        receivedAt: try row.get(at: 2),
                        recordedAt: try row.get(at: 7)
                    )
                )
            case .checkpoint: settledThrough = try row.get(at: 5)
            }
        }
    }
}
