package import Database
package import Kernel

/// The photos of habits' dates, as media last said, and their ids on the completions of the date.
package enum HabitPhotoRepository {
    /// Stores what media says of a date. The account is locked.
    ///
    /// - Returns: whether it is newer than what was known; else nothing has changed.
    static func store(
        _ photo: HabitPhotoID?,
        version: Int64,
        of habit: HabitID,
        on date: CalendarDate,
        _ change: HabitStamp,
        _ sql: Transaction
    ) async throws -> Bool {
        try await sql.execute(
            """
            INSERT INTO habit_photo AS known (user_id, habit_id, on_date, version, photo_id, changed_at)
            VALUES (\(change.user), \(habit), \(date), \(version), \(photo), \(change.now))
            ON CONFLICT (user_id, habit_id, on_date) DO UPDATE
                SET version = EXCLUDED.version, photo_id = EXCLUDED.photo_id, changed_at = EXCLUDED.changed_at
                WHERE known.version < EXCLUDED.version
            """
        ) > 0
    }

    /// Shows a photo, or none, on the completions of a date; devices are sent them again.
    ///
    /// - Returns: whether there are any.
    static func show(_ photo: HabitPhotoID?, of habit: HabitID, on date: CalendarDate, _ change: HabitStamp, _ sql: Transaction)
        async throws -> Bool
    {
        try await sql.execute(
            """
            UPDATE habit_completion SET photo_id = \(photo), sequence = \(change.sequence), updated_at = \(change.now)
            WHERE on_date = \(date)
                AND streak_id = (SELECT streak_id FROM habit WHERE user_id = \(change.user) AND id = \(habit))
            """
        ) > 0
    }

    /// Which dates of a user are looked at.
    enum Dates: Sendable {
        case all
        case only([(habit: HabitID, date: CalendarDate)])

        /// On `habit_photo` p.
        fileprivate var condition: Query {
            switch self {
            case .all: "true"
            case .only(let dates):
                "(p.habit_id, p.on_date) IN (SELECT * FROM unnest(\(dates.map(\.habit)), \(dates.map(\.date))))"
            }
        }
    }

    /// Drops the photos of dates that have no completion. The account is locked.
    ///
    /// - Returns: their ids.
    static func dropStray(of user: UserID, _ dates: Dates, at now: Instant, _ sql: Transaction) async throws -> [HabitPhotoID] {
        try await sql.query(
            """
            WITH stray AS (
                SELECT p.habit_id, p.on_date, p.photo_id FROM habit_photo p
                WHERE p.user_id = \(user) AND p.photo_id IS NOT NULL AND \(dates.condition) AND NOT EXISTS (
                    SELECT FROM habit h JOIN habit_completion c ON c.streak_id = h.streak_id AND c.on_date = p.on_date
                    WHERE h.user_id = \(user) AND h.id = p.habit_id))
            UPDATE habit_photo SET photo_id = NULL, changed_at = \(now) FROM stray
            WHERE habit_photo.user_id = \(user) AND habit_photo.habit_id = stray.habit_id AND habit_photo.on_date = stray.on_date
            RETURNING stray.photo_id
            """
        ).map { try $0.get(at: 0) }
    }

    /// Drops all photos of habits that are about to be deleted for good.
    ///
    /// - Returns: their ids, by user.
    package static func dropAll(of streaks: [StreakID], at now: Instant, _ sql: Transaction) async throws -> [UserID:
        [HabitPhotoID]]
    {
        let rows = try await sql.query(
            """
            WITH gone AS (
                SELECT p.user_id, p.habit_id, p.on_date, p.photo_id
                FROM habit h JOIN habit_photo p ON p.user_id = h.user_id AND p.habit_id = h.id
                WHERE h.streak_id = ANY(\(streaks)) AND p.photo_id IS NOT NULL)
            UPDATE habit_photo SET photo_id = NULL, changed_at = \(now) FROM gone
            WHERE habit_photo.user_id = gone.user_id AND habit_photo.habit_id = gone.habit_id AND habit_photo.on_date = gone.on_date
            RETURNING gone.user_id, gone.photo_id
            """
        )
        var photos: [UserID: [HabitPhotoID]] = [:]
        for row in rows { photos[try row.get(at: 0), default: []].append(try row.get(at: 1)) }
        return photos
    }

    /// Deletes what is known of dates that have had no photo since before `instant`: no event of media is that late. - Returns: how many.
    package static func deleteGone(before instant: Instant, limit: Int, _ sql: some QueryExecutor) async throws -> Int {
        try await sql.execute(
            """
            DELETE FROM habit_photo WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM habit_photo WHERE photo_id IS NULL AND changed_at < \(instant) LIMIT \(limit)))
            """
        )
    }
}

extension HabitAccountRepository {
    /// Locks the account of a user until the end of the transaction and gives out the next number; nil when there is none, and none is made.
    static func nextSequence(of user: UserID, _ sql: Transaction) async throws -> Int64? {
        try await sql.query("UPDATE habit_account SET sequence = sequence + 1 WHERE user_id = \(user) RETURNING sequence").first?
            .get(at: 0)
    }
}
