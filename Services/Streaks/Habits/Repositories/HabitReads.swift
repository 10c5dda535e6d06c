internal import Database
internal import Kernel
internal import Replicas
internal import StreaksCore
internal import StreaksDomain

/// Reads of the list, the detail screen and the profile.
enum HabitReads {
    /// A condition of `HabitRepository.records`.
    static func isHabit(_ id: HabitID) -> Query { "h.id = \(id)" }

    /// Which habits a list shows.
    enum State: Sendable {
        case active, archived, deleted

        var condition: Query {
            switch self {
            case .active: "h.deleted_at IS NULL AND h.archived_at IS NULL"
            case .archived: "h.deleted_at IS NULL AND h.archived_at IS NOT NULL"
            case .deleted: "h.deleted_at IS NOT NULL"
            }
        }
    }

    /// The same, in any of some categories; of all when none is named.
    static func condition(_ state: State, _ categories: [HabitCategoryID]) -> Query {
        let category: Query = categories.isEmpty ? "true" : "h.category_id = ANY(\(categories))"
        return "\(state.condition) AND \(category)"
    }

    /// What became of the dates of active habits: `lastDays` makes them of the rows.
    static func lastDays(of user: UserID, until today: CalendarDate) -> Query {
        """
        SELECT h.streak_id, d.on_date, d.status FROM habit h JOIN habit_day d ON d.streak_id = h.streak_id
        WHERE h.user_id = \(user) AND h.deleted_at IS NULL AND h.archived_at IS NULL
            AND d.on_date BETWEEN \(today.advanced(by: -6)) AND \(today)
        """
    }

    /// - Parameter rows: of `lastDays(of:until:)`.
    static func lastDays(_ rows: [Row]) throws -> [StreakID: [CalendarDate: HabitDay.Status]] {
        var days: [StreakID: [CalendarDate: HabitDay.Status]] = [:]
        for row in rows {
            days[try row.get(at: 0), default: [:]][try row.get(at: 1)] = HabitDay.Status(rawValue: try row.get(at: 2))
        }
        return days
    }

    /// How many habits a user has, by state.
    struct Counts: Sendable {
        var active = 0
        var archived = 0
        var all: Int { active + archived }
    }

    static func counts(of user: UserID) -> Query {
        """
        SELECT count(*) FILTER (WHERE archived_at IS NULL), count(*) FILTER (WHERE archived_at IS NOT NULL)
        FROM habit WHERE user_id = \(user) AND deleted_at IS NULL
        """
    }

    /// - Parameter rows: of `counts(of:)`.
    static func counts(_ rows: [Row]) throws -> Counts {
        let (active, archived) = try rows.first?.decode(as: (Int.self, Int.self)) ?? (0, 0)
        return Counts(active: active, archived: archived)
    }

    /// Whether a user is on a premium plan, how many habits they have, and how many active ones with a reminder.
    static func overview(of user: UserID, at now: Instant) -> [Query] {
        [
            "SELECT \(EntitlementReplica.isPremium(user, now: now))", counts(of: user),
            """
            SELECT count(*) FROM habit
            WHERE user_id = \(user) AND deleted_at IS NULL AND archived_at IS NULL AND reminder_minute IS NOT NULL
            """,
        ]
    }

    /// The ids of all that are not deleted, in their order.
    static func order(of user: UserID, _ sql: some QueryExecutor) async throws -> [HabitID] {
        try await sql.query("SELECT id FROM habit WHERE user_id = \(user) AND deleted_at IS NULL ORDER BY position, id")
            .map { try $0.get(at: 0) }
    }

    /// How many habits and completions a user has, deleted habits too.
    static func amounts(of user: UserID, _ sql: some QueryExecutor) async throws -> (habits: Int, completions: Int64) {
        let rows = try await sql.query(
            """
            SELECT (SELECT count(*) FROM habit WHERE user_id = \(user)),
                (SELECT count(*) FROM habit_completion WHERE user_id = \(user))
            """
        )
        let (habits, completions) = try rows.first?.decode(as: (Int.self, Int.self)) ?? (0, 0)
        return (habits, Int64(completions))
    }

    // MARK: profile

    /// Count and unit of each active habit's present run, the first date of all habits, and what was done of the slots since `first`.
    static func profile(of user: UserID, since first: CalendarDate, until today: CalendarDate) -> [Query] {
        let done = HabitDay.Outcome.done.rawValue
        return [
            """
            SELECT s.current_count, h.counts FROM habit h JOIN streak s ON s.id = h.streak_id
            WHERE h.user_id = \(user) AND h.deleted_at IS NULL AND h.archived_at IS NULL
            """,
            """
            SELECT min((SELECT min(on_date) FROM habit_day d WHERE d.streak_id = h.streak_id)) FROM habit h
            WHERE h.user_id = \(user) AND h.deleted_at IS NULL
            """,
            """
            SELECT count(*) FILTER (WHERE outcome = \(done)), count(*) FROM habit h JOIN habit_day d ON d.streak_id = h.streak_id
            WHERE h.user_id = \(user) AND h.deleted_at IS NULL AND h.archived_at IS NULL AND d.on_date >= \(first)
                AND d.outcome IN (\(done), \(HabitDay.Outcome.missed.rawValue)) AND (d.on_date <= \(today) OR d.outcome = \(done))
            """,
        ]
    }

    /// - Parameter rows: of `profile`, in their order.
    static func profile(_ rows: [[Row]]) throws -> HabitFiguresOfUser {
        HabitFiguresOfUser(
            counts: try rows[0].map { row in
                let count = Int(try row.get(at: 0, as: Int32.self))
                return (count, Schedule.Unit(stored: try row.get(at: 1, as: Int32.self)) ?? .dates)
            },
            firstDate: try rows[1].first?.get(at: 0, as: CalendarDate?.self) ?? nil,
            rate: try rows[2].first.map { row in
                let (done, counted) = try row.decode(as: (Int.self, Int.self))
                return HabitRate(done: done, counted: counted)
            } ?? HabitRate()
        )
    }
}

/// What the profile screen is made of.
struct HabitFiguresOfUser: Sendable {
    let counts: [(count: Int, unit: Schedule.Unit)]
    let firstDate: CalendarDate?
    let rate: HabitRate
}
