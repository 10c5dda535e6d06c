internal import Database
internal import Kernel
internal import StreaksDomain

/// What lists and details read, without locks.
extension StreakRepository {
    /// One streak's row.
    func row(_ id: StreakID) async throws -> StreakRow? {
        try await database.query("SELECT \(StreakRow.columns) FROM streak WHERE id = \(id)").first.map(StreakRow.init)
    }

    /// The running streaks of a user, oldest first.
    func active(of user: UserID) async throws -> [StreakRow] {
        try await database.query(
            """
            SELECT \(StreakRow.columns) FROM streak WHERE user_a = \(user) AND status = 1 UNION ALL
            SELECT \(StreakRow.columns) FROM streak WHERE user_b = \(user) AND status = 1 ORDER BY started_at, id
            """
        ).map(StreakRow.init)
    }

    /// The newest streak of a user with each of these friends.
    func newest(of user: UserID, with friends: [UserID]) async throws -> [StreakRow] {
        let low = friends.filter { $0 < user }
        let high = friends.filter { $0 > user }
        return try await database.query(
            """
            SELECT DISTINCT ON (user_a, user_b) \(StreakRow.columns) FROM streak
            WHERE (user_a = \(user) AND user_b = ANY(\(high))) OR (user_b = \(user) AND user_a = ANY(\(low)))
            ORDER BY user_a, user_b, started_at DESC
            """
        ).map(StreakRow.init)
    }

    /// Who posted for which date, from a date on.
    func contributions(to streaks: [StreakID], since date: CalendarDate) async throws -> [StreakID: Set<PostedDate>] {
        guard !streaks.isEmpty else { return [:] }
        var posted: [StreakID: Set<PostedDate>] = [:]
        let rows = try await database.query(
            "SELECT streak_id, user_id, on_date FROM contribution WHERE streak_id = ANY(\(streaks)) AND on_date >= \(date)"
        )
        for row in rows {
            let (streak, user, date) = try row.decode(as: (StreakID.self, UserID.self, CalendarDate.self))
            posted[streak, default: []].insert(PostedDate(user: user, date: date))
        }
        return posted
    }

    /// A streak with its ledger, as it stands.
    func ledger(_ id: StreakID) async throws -> StoredStreak? {
        try await database.transaction { sql in try await lock([id], sql).first }
    }
}

/// Somebody posted for a date.
struct PostedDate: Hashable, Sendable {
    let user: UserID
    let date: CalendarDate
}
