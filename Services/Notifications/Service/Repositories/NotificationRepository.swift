internal import Database
internal import Kernel
internal import NotificationsAPI
internal import NotificationsDomain
internal import Replicas
internal import ServiceRuntime

/// An entry that is about to be written.
struct NewNotification: Sendable {
    var user: UserID
    var kind: Kind
    var text: NotificationText
    var actor: UserID?
    var streak: StreakID?
    var friendship: FriendshipID?
}

/// The in-app log.
struct NotificationRepository: Sendable {
    let database: Database

    func insert(_ new: NewNotification, id: NotificationID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO notification (id, user_id, kind, title, body, actor_id, streak_id, friendship_id, created_at)
            VALUES (\(id), \(new.user), \(new.kind.rawValue), \(new.text.title), \(new.text.body), \(new.actor), \(new.streak),
                \(new.friendship), \(now))
            """
        )
    }

    /// A page of a user's log, newest first.
    func list(of user: UserID, before cursor: PageCursor?, skipping skipped: Int = 0, limit: Int) async throws
        -> [(item: NotificationItem, createdAt: Instant)]
    {
        let position: Query
        if let cursor {
            let id: NotificationID = cursor.id()
            position = "AND (created_at, id) < (\(cursor.instant), \(id))"
        } else {
            position = ""
        }
        return try await database.query(
            """
            SELECT id, kind, title, body, actor_id, streak_id, friendship_id, created_at, read_at FROM notification
            WHERE user_id = \(user) AND \(Self.isShown(to: user)) \(position) ORDER BY created_at DESC, id DESC
            LIMIT \(limit) OFFSET \(skipped)
            """
        ).map { row in
            let (id, kind, title, body, actor, streak, friendship, createdAt, readAt) = try row.decode(
                as: (
                    NotificationID.self, Int32.self, String.self, String.self, UserID?.self, StreakID?.self, FriendshipID?.self,
                    Instant.self, Instant?.self
                )
            )
            let item = NotificationItem(
                id: id,
                type: Kind(rawValue: kind),
                title: title,
                body: body,
                actorID: actor,
                streakID: streak,
                friendshipID: friendship,
                createdAt: createdAt,
                readAt: readAt
            )
            return (item, createdAt)
        }
    }

    func unreadCount(of user: UserID) async throws -> Int32 {
        try await database.query(Self.unread(user)).first?.decode(as: Int32.self) ?? 0
    }

    func unreadCount(of user: UserID, _ sql: Transaction) async throws -> Int32 {
        try await sql.query(Self.unread(user)).first?.decode(as: Int32.self) ?? 0
    }

    private static func unread(_ user: UserID) -> Query {
        "SELECT count(*)::int FROM notification WHERE user_id = \(user) AND read_at IS NULL AND \(isShown(to: user))"
    }

    /// A condition on entries of `user`'s log: no block hides the user they are about (SO-7). Entries name no other user than their actor.
    static func isShown(to user: UserID) -> Query {
        "(actor_id IS NULL OR \(BlockReplica.isShown("actor_id", to: user)))"
    }

    /// Deletes a user's log, and the entries in other logs that name the user.
    static func deleteAll(of user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM notification WHERE user_id = \(user)")
        _ = try await sql.execute("DELETE FROM notification WHERE actor_id = \(user)")
    }

    /// Deletes old entries, up to 1,000. - Returns: how many.
    func purge(before limit: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM notification WHERE id IN
                (SELECT id FROM notification WHERE created_at < \(limit) ORDER BY created_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
