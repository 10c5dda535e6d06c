internal import BlobStore
internal import Database
internal import Kernel

/// A file that a user has announced.
struct AnnouncedUpload: Sendable {
    let id: UploadID
    let user: UserID
    let size: Int64
    let contentType: String
    /// In hex.
    let sha256: String
    /// The only post that may be made of it; nil until it is named.
    let post: PostID?

    /// Where the file will lie.
    var key: BlobKey { get throws { try Self.key(user: user, id: id) } }

    static func key(user: UserID, id: UploadID) throws(ServiceError) -> BlobKey {
        try BlobKey("\(SignedUpload.folder)/\(user)/\(id)")
    }
}

/// Files that clients send by presigned links.
struct UploadRepository: Sendable {
    /// How long a file waits to be used.
    static let kept = Interval.hours(24)

    let database: Database

    /// Records a file that a user will send.
    ///
    /// - Returns: false when the user has `most` that are not used yet and whose day is not over.
    static func announce(_ upload: AnnouncedUpload, most: Int, now: Instant, _ sql: Transaction) async throws -> Bool {
        // Two at once would see one too few.
        try await sql.lock(named: "uploads of \(upload.user)")
        return try await sql.execute(
            """
            INSERT INTO place_upload (id, user_id, size, content_type, sha256, post_id, due_at)
            SELECT \(upload.id), \(upload.user), \(upload.size), \(upload.contentType), \(upload.sha256), \(upload.post),
                \(now + kept)
            WHERE (SELECT count(*) FROM place_upload WHERE user_id = \(upload.user) AND NOT is_used AND due_at > \(now)) < \(most)
            """
        ) == 1
    }

    /// An upload of a user's, with the post that it is for.
    ///
    /// - Parameter post: what it is for from now on, unless it is for another.
    /// - Returns: nil when the user has no such upload.
    func assign(_ id: UploadID, of user: UserID, to post: PostID) async throws -> AnnouncedUpload? {
        try await database.query(
            """
            UPDATE place_upload SET post_id = coalesce(post_id, \(post)) WHERE id = \(id) AND user_id = \(user)
            RETURNING size, content_type, sha256, post_id
            """
        ).first.map { row in
            let (size, type, sha256, post) = try row.decode(as: (Int64.self, String.self, String.self, PostID?.self))
            return AnnouncedUpload(id: id, user: user, size: size, contentType: type, sha256: sha256, post: post)
        }
    }

    /// Notes that the post of an upload is made.
    static func use(_ id: UploadID, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE place_upload SET is_used = true WHERE id = \(id)")
    }

    /// Locks up to `limit` uploads whose time is over; other replicas leave them alone until `lease`.
    func lockDue(now: Instant, until lease: Instant, limit: Int) async throws -> [(id: UploadID, key: BlobKey)] {
        try await database.query(
            """
            UPDATE place_upload SET due_at = \(lease) WHERE id IN
                (SELECT id FROM place_upload WHERE due_at <= \(now) ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING user_id, id
            """
        ).map { row in
            let (user, id) = try row.decode(as: (UserID.self, UploadID.self))
            return (id, try AnnouncedUpload.key(user: user, id: id))
        }
    }

    /// Deletes the rows of uploads whose files are deleted.
    func delete(_ ids: [UploadID]) async throws {
        guard !ids.isEmpty else { return }
        _ = try await database.execute("DELETE FROM place_upload WHERE id = ANY(\(ids))")
    }
}
