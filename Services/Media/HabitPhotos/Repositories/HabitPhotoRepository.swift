internal import BlobStore
internal import Database
internal import Kernel

/// A date of a habit of a user.
struct HabitDay: Hashable, Sendable {
    let user: UserID
    let habit: HabitID
    let date: CalendarDate
}

/// A photo of a date: its renditions are made once and never changed.
struct StoredPhoto: Sendable {
    let id: HabitPhotoID
    let day: HabitDay
    /// Of the upload, lower-case hex.
    let sha256: String
    var width: Int32 = 0
    var height: Int32 = 0
    /// Bytes of its renditions.
    var fileBytes: Int64 = 0
    let createdAt: Instant

    var display: BlobKey { get throws { try Self.key(id, of: day.user, "display") } }
    var thumbnail: BlobKey { get throws { try Self.key(id, of: day.user, "thumbnail") } }

    static func key(_ id: HabitPhotoID, of user: UserID, _ rendition: String) throws -> BlobKey {
        try BlobKey("habit-photos/\(user)/\(id)/\(rendition).jpg")
    }
}

/// Which photos there are, and which one a date shows.
struct HabitPhotoRepository: Sendable {
    let database: Database

    /// The photo that a date shows.
    func shown(on day: HabitDay) async throws -> StoredPhoto? {
        try await database.query(
            """
            SELECT id, sha256, width, height, created_at FROM habit_photo
            WHERE user_id = \(day.user) AND habit_id = \(day.habit) AND on_date = \(day.date) AND state = 1
            """
        ).first.map { row in
            StoredPhoto(
                id: try row.get(at: 0),
                day: day,
                sha256: try row.get(at: 1),
                width: try row.get(at: 2),
                height: try row.get(at: 3),
                createdAt: try row.get(at: 4)
            )
        }
    }

    /// Records a photo whose renditions are about to be stored; it is to be deleted at `deadline` unless it is shown by then.
    func begin(_ photo: StoredPhoto, deadline: Instant) async throws {
        _ = try await database.execute(
            """
            INSERT INTO habit_photo (id, user_id, habit_id, on_date, sha256, width, height, file_bytes, created_at, due_at)
            VALUES (\(photo.id), \(photo.day.user), \(photo.day.habit), \(photo.day.date), \(photo.sha256), \(photo.width),
                \(photo.height), \(photo.fileBytes), \(photo.createdAt), \(deadline))
            """
        )
    }

    /// Shows a photo in place of the one before, which is to be deleted at once.
    ///
    /// - Returns: the version of this change; nil when the photo was given up meanwhile.
    func show(_ photo: StoredPhoto, now: Instant, _ sql: Transaction) async throws -> Int64? {
        try await Self.lock(photo.day, sql)
        _ = try await Self.retire(photo.day, now: now, sql)
        let shown = try await sql.execute("UPDATE habit_photo SET state = 1, due_at = NULL WHERE id = \(photo.id) AND state = 0")
        return shown == 1 ? try await Self.nextVersion(sql) : nil
    }

    /// Shows no photo on a date any more. - Returns: the version of this change; nil when there was none.
    func remove(from day: HabitDay, now: Instant, _ sql: Transaction) async throws -> Int64? {
        try await Self.lock(day, sql)
        return try await Self.retire(day, now: now, sql) == 0 ? nil : try await Self.nextVersion(sql)
    }

    /// Changes of one date come one after the other, in the order of their versions.
    private static func lock(_ day: HabitDay, _ sql: Transaction) async throws {
        try await sql.lock(named: "habit photo \(day.user) \(day.habit) \(day.date)")
    }

    private static func retire(_ day: HabitDay, now: Instant, _ sql: Transaction) async throws -> Int {
        try await sql.execute(
            """
            UPDATE habit_photo SET state = 2, due_at = \(now)
            WHERE user_id = \(day.user) AND habit_id = \(day.habit) AND on_date = \(day.date) AND state = 1
            """
        )
    }

    private static func nextVersion(_ sql: Transaction) async throws -> Int64 {
        guard let row = try await sql.query("SELECT nextval('habit_photo_version')").first else { throw ServiceError.internal }
        return try row.get(at: 0)
    }

    /// Gives up these photos of a user, whether they are shown or still being made. Streaks shows none of them any more.
    static func drop(_ photos: [HabitPhotoID], of user: UserID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE habit_photo SET state = 2, due_at = \(now) WHERE id = ANY(\(photos)) AND user_id = \(user) AND state <> 2"
        )
    }

    /// Gives up a photo that was never shown.
    func giveUp(_ photo: StoredPhoto, now: Instant) async throws {
        _ = try await database.execute("UPDATE habit_photo SET state = 2, due_at = \(now) WHERE id = \(photo.id) AND state = 0")
    }

    /// Locks up to `limit` photos that are to be deleted; from now on they are not shown, and other replicas leave them alone until `lease`.
    ///
    /// - Returns: their ids, and the keys of their blobs.
    func lockDue(now: Instant, until lease: Instant, limit: Int) async throws -> [(id: HabitPhotoID, keys: [BlobKey])] {
        try await database.query(
            """
            UPDATE habit_photo SET state = 2, due_at = \(lease) WHERE id IN
                (SELECT id FROM habit_photo WHERE due_at <= \(now) ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING id, user_id
            """
        ).map { row in
            let (id, user) = try row.decode(as: (HabitPhotoID.self, UserID.self))
            return (id, try ["display", "thumbnail"].map { try StoredPhoto.key(id, of: user, $0) })
        }
    }

    /// Deletes the rows of photos whose blobs are deleted.
    func delete(_ ids: [HabitPhotoID]) async throws {
        _ = try await database.execute("DELETE FROM habit_photo WHERE id = ANY(\(ids)) AND state = 2")
    }
}
