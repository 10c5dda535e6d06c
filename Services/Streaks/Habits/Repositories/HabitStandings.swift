internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// How the habits of a user stand on the date that each was last brought to: what the sums of a day are made of. A change reads it together with
/// what it locks, when it does not know yet which date the user's clock shows.
struct HabitStandings: Sendable {
    /// One habit that is neither deleted nor in the archive.
    struct Standing: Sendable {
        let id: HabitID
        /// The date of everything else.
        let asOf: CalendarDate
        /// nil when it has not begun.
        let shown: HabitOfToday?
    }

    let habits: [Standing]
    /// The photo of one of them on its date.
    let photo: HabitPhotoID?

    /// None.
    init() { (habits, photo) = ([], nil) }

    /// - Parameters:
    ///   - rows: of `query`.
    ///   - habit: whose photo was asked for.
    init(_ rows: [Row], of habit: HabitID) throws {
        var photo: HabitPhotoID?
        habits = try rows.map { row in
            let id: HabitID = try row.get(at: 0)
            if id == habit { photo = try row.get(at: 3) }
            let day = try row.get(at: 11, as: Int32?.self) == nil ? nil : HabitDay(row, at: 11)
            let hour = try row.get(at: 2, as: Int32?.self).map { Int($0) / 60 }
            let week = try HabitWeek(row, at: 4)
            return Standing(
                id: id,
                asOf: try row.get(at: 1),
                shown: day.map { HabitOfToday(day: $0, week: week, reminderHour: hour) }
            )
        }
        self.photo = photo
    }

    /// - Parameter habit: whose photo is asked for.
    static func query(of user: UserID, _ habit: HabitID) -> Query {
        """
        SELECT h.id, h.as_of, h.reminder_minute, CASE WHEN h.id = \(habit) THEN (SELECT p.photo_id FROM habit_photo p
                WHERE p.user_id = h.user_id AND p.habit_id = h.id AND p.on_date = h.as_of) END,
            h.week_first, h.week_last, h.week_done, h.week_excused, h.week_needed, h.week_left, h.week_is_cut,
            d.status, d.value, d.completions, d.target, d.is_open, d.outcome, d.due_dates, d.broke_run
        FROM habit h LEFT JOIN habit_day d ON d.streak_id = h.streak_id AND d.on_date = h.as_of
        WHERE h.user_id = \(user) AND h.deleted_at IS NULL AND h.archived_at IS NULL
        """
    }
}
