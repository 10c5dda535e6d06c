internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// What users reported for their dates.
enum TrackingRepository {
    private static let columns: Query = """
        id, on_date, mood_score, energy_level, weight_kg, steps, notes, yesterday_feeling, checked_in_at, activities, created_at, updated_at
        """

    /// The entry of a date after a report.
    struct Stored: Sendable {
        let entry: TrackingEntry
        /// The report is the first one after the date's check-in.
        let isFirstUpdate: Bool
    }

    /// The reports of a date that are kept beside its entry; of further ones only the entry knows.
    private static let mostUpdates = 200

    /// Adds a report to the entry of a date: what it leaves out keeps its value. Keeps the report itself too.
    ///
    /// - Parameter checkedInAt: when it was received, if it is the date's check-in.
    /// - Returns: for `stored`; `TrackingEntry.adding` makes the same of what the entry was.
    static func store(
        _ report: TrackingReport,
        _ activities: [TrackedActivity],
        of user: UserID,
        on date: CalendarDate,
        checkedInAt: Instant?,
        ids: (entry: TrackingEntryID, update: OperationID),
        at now: Instant,
        _ sql: Transaction
    ) throws -> QueuedStatement {
        let names = activities.map(\.rawValue).joined(separator: ",")
        let feeling = checkedInAt == nil ? nil : report.yesterdayFeeling
        return try sql.enqueue(
            """
            WITH new AS (SELECT *, string_to_array(names, ',') AS activities
                FROM \(rows: .of([ids.update]), .of([user]), .of([date]), .of([now]), .of([report.mood]), .of([report.energy]),
                    .of([report.weight]), .of([report.steps]), .of([report.notes]), .of([names]), .of([ids.entry]), .of([feeling]),
                    .of([checkedInAt])) AS report (update_id, user_id, on_date, at, mood_score, energy_level, weight_kg, steps, notes,
                        names, entry_id, yesterday_feeling, checked_in_at)),
            added AS (INSERT INTO tracking_update
                (id, user_id, on_date, told_at, mood_score, energy_level, weight_kg, steps, notes, activities)
                SELECT update_id, user_id, on_date, at, mood_score, energy_level, weight_kg, steps, notes, activities FROM new
                WHERE (SELECT count(*) FROM (SELECT FROM tracking_update u WHERE u.user_id = new.user_id AND u.on_date = new.on_date
                    LIMIT \(mostUpdates)) AS kept) < \(mostUpdates))
            INSERT INTO tracking_entry AS known (user_id, on_date, id, mood_score, energy_level, weight_kg, steps, notes,
                yesterday_feeling, checked_in_at, activities, created_at)
            SELECT user_id, on_date, entry_id, mood_score, energy_level, weight_kg, steps, notes, yesterday_feeling, checked_in_at,
                activities, at FROM new
            ON CONFLICT (user_id, on_date) DO UPDATE SET
                mood_score = coalesce(EXCLUDED.mood_score, known.mood_score),
                energy_level = coalesce(EXCLUDED.energy_level, known.energy_level),
                weight_kg = coalesce(EXCLUDED.weight_kg, known.weight_kg), steps = coalesce(EXCLUDED.steps, known.steps),
                notes = coalesce(EXCLUDED.notes, known.notes),
                yesterday_feeling = coalesce(known.yesterday_feeling, EXCLUDED.yesterday_feeling),
                checked_in_at = coalesce(known.checked_in_at, EXCLUDED.checked_in_at),
                activities = known.activities || ARRAY(
                    SELECT fresh FROM unnest(EXCLUDED.activities) WITH ORDINALITY AS f (fresh, place)
                    WHERE fresh <> ALL(known.activities) ORDER BY place),
                updated_at = EXCLUDED.created_at,
                later_reports = known.later_reports + CASE WHEN known.checked_in_at IS NULL THEN 0 ELSE 1 END
            RETURNING \(columns), later_reports
            """
        )
    }

    /// What `store` has stored.
    static func stored(_ statement: QueuedStatement) async throws -> Stored {
        guard let row = try await statement.rows().first else { throw ServiceError.internal }
        return Stored(entry: try entry(row), isFirstUpdate: try row.get(at: 12, as: Int32.self) == 1)
    }

    /// The entry of a date; nil when nothing was reported.
    static func entry(of user: UserID, on date: CalendarDate, _ sql: some QueryExecutor) async throws -> TrackingEntry? {
        try await sql.query("SELECT \(columns) FROM tracking_entry WHERE user_id = \(user) AND on_date = \(date)").first.map(
            entry
        )
    }

    /// The entries of some dates, ascending.
    static func entries(of user: UserID, in dates: ClosedRange<CalendarDate>, _ sql: some QueryExecutor) async throws
        -> [TrackingEntry]
    {
        try await sql.query(
            """
            SELECT \(columns) FROM tracking_entry
            WHERE user_id = \(user) AND on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound) ORDER BY on_date
            """
        ).map(entry)
    }

    /// The end of a statement of one row: the last date with a check-in and when that was received, and the entries from a date on, each in a
    /// row of its own.
    static func recent(of user: UserID, from date: CalendarDate) -> Query {
        """
        last.on_date, last.checked_in_at, recent.* FROM (SELECT) AS one
        LEFT JOIN (SELECT on_date, checked_in_at FROM tracking_entry WHERE user_id = \(user) AND checked_in_at IS NOT NULL
            ORDER BY on_date DESC LIMIT 1) AS last ON true
        LEFT JOIN (SELECT \(columns) FROM tracking_entry WHERE user_id = \(user) AND on_date >= \(date)) AS recent ON true
        """
    }

    /// - Parameter first: where the columns of `recent` begin.
    static func lastCheckIn(_ row: Row, at first: Int) throws -> CheckedInDate? {
        guard let date = try row.get(at: first, as: CalendarDate?.self) else { return nil }
        return CheckedInDate(date: date, at: try row.get(at: first + 1))
    }

    /// The entries of `recent` by their dates.
    ///
    /// - Parameter first: where its columns of entries begin.
    static func entries(_ rows: [Row], at first: Int) throws -> [CalendarDate: TrackingEntry] {
        var found: [CalendarDate: TrackingEntry] = [:]
        for row in rows where try row.get(at: first, as: TrackingEntryID?.self) != nil {
            found[try row.get(at: first + 1)] = try entry(row, at: first)
        }
        return found
    }

    /// Every report of a date, the oldest first.
    static func updates(of user: UserID, on date: CalendarDate, _ sql: some QueryExecutor) async throws -> [TrackingUpdate] {
        try await sql.query(
            """
            SELECT told_at, mood_score, energy_level, weight_kg, steps, notes, activities FROM tracking_update
            WHERE user_id = \(user) AND on_date = \(date) ORDER BY told_at, id LIMIT \(mostUpdates)
            """
        ).map { row in
            TrackingUpdate(
                at: try row.get(at: 0),
                moodScore: try row.get(at: 1),
                energyLevel: try row.get(at: 2),
                weightKg: try row.get(at: 3),
                steps: try row.get(at: 4),
                notes: try row.get(at: 5),
                activities: try row.get(at: 6)
            )
        }
    }

    /// The latest weight with its date.
    static func latestWeight(of user: UserID, _ sql: some QueryExecutor) async throws -> DatedWeight? {
        try await sql.query(
            """
            SELECT on_date, weight_kg FROM tracking_entry WHERE user_id = \(user) AND weight_kg IS NOT NULL
            ORDER BY on_date DESC LIMIT 1
            """
        ).first.map { DatedWeight(date: try $0.get(at: 0), weightKg: try $0.get(at: 1)) }
    }

    /// The person's own goal; null when they have set none.
    static func stepsGoal(of user: UserID) -> Query { "(SELECT steps FROM tracking_goal WHERE user_id = \(user))" }

    /// The same by a statement of its own.
    static func stepsGoal(of user: UserID, _ sql: some QueryExecutor) async throws -> Int32? {
        try await sql.query("SELECT \(stepsGoal(of: user))").first?.decode(as: Int32?.self) ?? nil
    }

    static func setStepsGoal(_ steps: Int32, of user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO tracking_goal (user_id, steps) VALUES (\(user), \(steps))
            ON CONFLICT (user_id) DO UPDATE SET steps = EXCLUDED.steps
            """
        )
    }

    private static func entry(_ row: Row) throws -> TrackingEntry { try entry(row, at: 0) }

    private static func entry(_ row: Row, at first: Int) throws -> TrackingEntry {
        let checkedInAt: Instant? = try row.get(at: first + 8)
        return TrackingEntry(
            id: try row.get(at: first),
            trackingDate: try row.get(at: first + 1),
            moodScore: try row.get(at: first + 2),
            energyLevel: try row.get(at: first + 3),
            weightKg: try row.get(at: first + 4),
            steps: try row.get(at: first + 5),
            createdAt: try row.get(at: first + 10),
            updatedAt: try row.get(at: first + 11),
            notes: try row.get(at: first + 6),
            yesterdayFeeling: try row.get(at: first + 7),
            isStreakCheckIn: checkedInAt != nil,
            checkInTimestamp: checkedInAt,
            activities: try row.get(at: first + 9)
        )
    }
}
