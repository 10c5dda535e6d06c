package import Database
package import Kernel
package import NotificationsDomain
internal import Replicas
package import ServiceRuntime

/// The in-app log (NO-4).
package struct NotificationRepository: Sendable {
    package let database: Database

    /// Which entries of a log are wanted.
    package struct Filter: Sendable {
        package var kind: NotificationKind?
        /// Only unread ones, only read ones, or both.
        package var isUnread: Bool?

        package init(kind: NotificationKind? = nil, isUnread: Bool? = nil) {
            self.kind = kind
            self.isUnread = isUnread
        }
    }

    private static let columns: Query = """
        id, user_id, kind, \(BalanceRepository.wording), count, others, amount, subject, emoji, actor_id, streak_id, friendship_id,
        created_at, read_at, circle_id, code, habit_id, on_date, deadline, \(isUndone), \(isSaidByFriends)
        """

    /// Whether a later entry says that the break of this one was undone. Looked up when a text is made: so no event has to find the entry.
    private static let isUndone: Query = """
        kind IN (\(NotificationKind.streakBroken.rawValue), \(NotificationKind.repairOffer.rawValue),
            \(NotificationKind.teamBroken.rawValue)) AND EXISTS (SELECT 1 FROM notification later
            WHERE later.user_id = notification.user_id AND (later.kind = \(NotificationKind.streakRecovered.rawValue)
                    OR later.kind = \(NotificationKind.teamMilestone.rawValue) AND later.wording = \(Wording.teamRestored))
                AND later.streak_id = notification.streak_id
                AND (later.created_at, later.id) > (notification.created_at, notification.id))
        """

    /// Whether it is about daily snaps and streaks with friends say enough: of a milestone, who has any that day; of a break, who has one that
    /// broke. One snap feeds both.
    private static let isSaidByFriends: Query = """
        kind IN (\(NotificationKind.milestone.rawValue), \(NotificationKind.streakBroken.rawValue)) AND wording = \(Wording.solo)
            AND subject = 'daily_snap' AND EXISTS (SELECT 1 FROM notification other
            WHERE other.user_id = notification.user_id AND other.actor_id IS NOT NULL AND other.streak_id IS NOT NULL
                AND (notification.kind = \(NotificationKind.milestone.rawValue) OR other.kind = notification.kind)
                AND other.created_at BETWEEN notification.created_at - interval '1 day' AND notification.created_at + interval '1 day')
        """

    /// Inserts entries.
    ///
    /// - Parameter ids: as many as entries.
    static func insert(_ new: [NewNotification], ids: [NotificationID], now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO notification (id, user_id, kind, wording, count, others, amount, subject, emoji, actor_id, streak_id,
                friendship_id, circle_id, code, habit_id, on_date, deadline, read_at, created_at)
            SELECT id, user_id, kind, wording, count, others, amount, subject, emoji, actor_id, streak_id, friendship_id, circle_id,
                code, habit_id, on_date, deadline, read_at, \(now)
            FROM unnest(\(ids), \(new.map(\.user)), \(new.map { Int16(clamping: $0.kind.rawValue) }),
                \(new.map(\.values.wording)), \(new.map(\.values.count)), \(new.map(\.values.others)), \(new.map(\.values.amount)),
                \(new.map(\.values.subject)), \(new.map(\.values.emoji)), \(new.map(\.actor)), \(new.map(\.streak)),
                \(new.map(\.friendship)), \(new.map(\.circle)), \(new.map(\.code)), \(new.map(\.habit)), \(new.map(\.date)),
                \(new.map(\.deadline)), \(new.map { $0.isRead ? now : nil }))
                AS entry (id, user_id, kind, wording, count, others, amount, subject, emoji, actor_id, streak_id, friendship_id,
                    circle_id, code, habit_id, on_date, deadline, read_at)
            """
        )
    }

    /// A page of a user's log, newest first.
    package func list(
        of user: UserID,
        _ filter: Filter = Filter(),
        before cursor: PageCursor?,
        skipping skipped: Int = 0,
        limit: Int
    ) async throws -> [StoredNotification] {
        var conditions: Query = ""
        if let cursor {
            let id: NotificationID = cursor.id()
            conditions = "AND (created_at, id) < (\(cursor.instant), \(id))"
        }
        if let kind = filter.kind { conditions = "\(conditions) AND kind = \(kind.rawValue)" }
        if let isUnread = filter.isUnread {
            conditions = isUnread ? "\(conditions) AND read_at IS NULL" : "\(conditions) AND read_at IS NOT NULL"
        }
        return try await database.query(
            """
            SELECT \(Self.columns) FROM notification
            WHERE user_id = \(user) AND \(Self.isShown(to: user)) \(conditions) ORDER BY created_at DESC, id DESC
            LIMIT \(limit) OFFSET \(skipped)
            """
        ).compactMap(Self.notification)
    }

    /// One entry of a user's log; nil when there is none, or a block hides it.
    package func find(_ id: NotificationID, of user: UserID) async throws -> StoredNotification? {
        try await database.query(
            "SELECT \(Self.columns) FROM notification WHERE id = \(id) AND user_id = \(user) AND \(Self.isShown(to: user))"
        ).first.flatMap(Self.notification)
    }

    /// Entries by their ids; those that are gone are absent.
    package static func entries(_ ids: [NotificationID], _ sql: some QueryExecutor) async throws
        -> [NotificationID: StoredNotification]
    {
        let rows = try await sql.query("SELECT \(columns) FROM notification WHERE id = ANY(\(Array(Set(ids))))")
        return Dictionary(try rows.compactMap(notification).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// How many of the entries that the log shows are unread.
    ///
    /// - Parameter executor: a transaction that has just changed some; default outside any.
    package func unreadCount(of user: UserID, _ executor: (any QueryExecutor)? = nil) async throws -> Int32 {
        try await (executor ?? database).query(
            "SELECT count(*)::int FROM notification WHERE user_id = \(user) AND read_at IS NULL AND \(Self.isShown(to: user))"
        ).first?.decode(as: Int32.self) ?? 0
    }

    /// The same for several users, from one statement; users without any are absent.
    package static func unreadCounts(of users: [UserID], _ sql: some QueryExecutor) async throws -> [UserID: Int32] {
        let rows = try await sql.query(
            """
            SELECT reader, (SELECT count(*)::int FROM notification WHERE user_id = reader AND read_at IS NULL
                AND (actor_id IS NULL OR NOT EXISTS (SELECT 1 FROM block_replica WHERE active AND blocker = reader AND blocked = actor_id)
                    AND NOT EXISTS (SELECT 1 FROM block_replica WHERE active AND blocker = actor_id AND blocked = reader)))
            FROM unnest(\(Array(Set(users)))) AS reader
            """
        )
        return Dictionary(
            try rows.map { (try $0.get(at: 0, as: UserID.self), try $0.get(at: 1, as: Int32.self)) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Whether a user has unread entries about another, hidden or not.
    static func hasUnread(of user: UserID, about actor: UserID, _ sql: Transaction) async throws -> Bool {
        try await !sql.query(
            "SELECT 1 FROM notification WHERE user_id = \(user) AND actor_id = \(actor) AND read_at IS NULL LIMIT 1"
        ).isEmpty
    }

    /// Marks entries that the log shows as read. - Returns: those that were unread, counted.
    ///
    /// - Parameter ids: nil: all.
    package static func markRead(_ ids: [NotificationID]?, of user: UserID, now: Instant, _ sql: Transaction) async throws
        -> [OpenedEntries]
    {
        let chosen: Query = ids.map { "AND id = ANY(\($0))" } ?? ""
        // In the order of ids, so that no two transactions wait for each other.
        return try await sql.query(
            """
            WITH unread AS (
                SELECT id FROM notification WHERE user_id = \(user) AND read_at IS NULL AND \(isShown(to: user)) \(chosen)
                ORDER BY id FOR UPDATE),
            opened AS (
                UPDATE notification n SET read_at = \(now) FROM unread WHERE n.id = unread.id
                RETURNING n.kind, n.created_at, n.pushed_at)
            SELECT kind::int, (created_at AT TIME ZONE 'UTC')::date, count(*)::int, count(pushed_at)::int
            FROM opened GROUP BY 1, 2 ORDER BY 2, 1
            """
        ).map { row in
            OpenedEntries(
                group: EntryGroup(kind: try row.get(at: 0), date: try row.get(at: 1)),
                opened: try row.get(at: 2),
                pushed: try row.get(at: 3)
            )
        }
    }

    /// Unread reminders of a habit and date.
    package static func unreadReminders(of user: UserID, _ habit: HabitID, on date: CalendarDate, _ sql: Transaction) async throws
        -> [NotificationID]
    {
        try await sql.query(
            "SELECT id FROM notification WHERE user_id = \(user) AND habit_id = \(habit) AND on_date = \(date) AND read_at IS NULL"
        ).map { try $0.get(at: 0) }
    }

    /// An entry that says that a freeze was used.
    package struct FreezeUse: Sendable {
        package let id: NotificationID
        package let isUnread: Bool
        /// The push service has taken a push of it.
        package let isPushed: Bool
    }

    /// What says that a freeze was used on a date of a streak, the newest first.
    package static func freezeUses(of user: UserID, _ streak: StreakID, on date: CalendarDate, _ sql: Transaction) async throws
        -> [FreezeUse]
    {
        try await sql.query(
            """
            SELECT id, read_at IS NULL, pushed_at IS NOT NULL FROM notification
            WHERE user_id = \(user) AND kind IN (\(NotificationKind.freezeUsed.rawValue), \(NotificationKind.lastFreeze.rawValue))
                AND streak_id = \(streak) AND on_date = \(date)
            ORDER BY created_at DESC, id DESC
            """
        ).map { FreezeUse(id: try $0.get(at: 0), isUnread: try $0.get(at: 1), isPushed: try $0.get(at: 2)) }
    }

    /// Whether the user's log shows this entry.
    package static func exists(_ id: NotificationID, of user: UserID, _ sql: Transaction) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM notification WHERE id = \(id) AND user_id = \(user) AND \(isShown(to: user))").isEmpty
    }

    /// Deletes one entry that the log shows. What of it waits to be pushed is dropped then. - Returns: whether there was one.
    package static func delete(_ id: NotificationID, of user: UserID, _ sql: Transaction) async throws -> Bool {
        try await sql.execute("DELETE FROM notification WHERE id = \(id) AND user_id = \(user) AND \(isShown(to: user))") == 1
    }

    /// A condition on entries of `user`'s log: no block hides the user they are about (SO-7). Entries name no other user than their actor.
    static func isShown(to user: UserID) -> Query {
        "(actor_id IS NULL OR \(BlockReplica.isShown("actor_id", to: user)))"
    }

    /// Deletes a user's log, and the entries in other logs that name the user.
    static func deleteAll(of user: UserID, _ sql: Transaction) async throws {
        // In the order of ids, so that no two transactions wait for each other.
        _ = try await sql.execute(
            """
            WITH gone AS (SELECT id FROM notification WHERE user_id = \(user) OR actor_id = \(user) ORDER BY id FOR UPDATE)
            DELETE FROM notification n USING gone WHERE n.id = gone.id
            """
        )
    }

    /// Deletes old entries, up to 1,000. - Returns: how many.
    package func purge(before limit: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM notification WHERE id IN
                (SELECT id FROM notification WHERE created_at < \(limit) ORDER BY created_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    /// nil for a kind that only a newer version knows.
    private static func notification(_ row: Row) throws -> StoredNotification? {
        guard let kind = NotificationKind(rawValue: try row.get(at: 2, as: Int32.self)) else { return nil }
        return StoredNotification(
            id: try row.get(at: 0),
            user: try row.get(at: 1),
            kind: kind,
            values: NotificationValues(
                wording: try row.get(at: 3),
                count: try row.get(at: 4),
                others: try row.get(at: 5),
                amount: try row.get(at: 6),
                subject: try row.get(at: 7),
                emoji: try row.get(at: 8)
            ),
            actor: try row.get(at: 9),
            streak: try row.get(at: 10),
            friendship: try row.get(at: 11),
            createdAt: try row.get(at: 12),
            readAt: try row.get(at: 13),
            circle: try row.get(at: 14),
            code: try row.get(at: 15),
            habit: try row.get(at: 16),
            date: try row.get(at: 17),
            deadline: try row.get(at: 18),
            isUndone: try row.get(at: 19),
            isSaidByFriends: try row.get(at: 20)
        )
    }
}
