internal import Database
internal import Kernel
internal import MediaCore
internal import SocialAPI

/// What `social` knows of posts: who has reported them, and whether they are shown (SO-8, SO-9).
enum ReportedPostRepository {
    /// A user has reported a post. One that is gone is passed over.
    static func store(_ post: PostID, reportedBy user: UserID, _ sql: Transaction) async throws {
        try await sql.execute(
            """
            INSERT INTO place_report (post_id, user_id) SELECT id, \(user) FROM place_post WHERE id = \(post) AND state = 1
            ON CONFLICT DO NOTHING
            """
        )
    }

    /// A post is hidden, shown again, or removed, unless a newer decision is here already.
    /// Links that were made before stop working, or work again (PH-6).
    static func store(_ standing: PostStandingChanged, now: Instant, _ sql: Transaction) async throws {
        let changed = try await sql.query(
            """
            UPDATE place_post SET standing_version = \(standing.version), is_hidden = \(standing.hidden),
                state = CASE WHEN \(standing.removed) THEN 3 ELSE state END, due_at = CASE WHEN \(standing.removed) THEN \(now) END
            WHERE id = \(standing.postID) AND standing_version < \(standing.version) AND state = 1
            RETURNING user_id
            """
        )
        guard let author = try changed.first?.decode(as: UserID.self) else { return }
        let key = PostBlobKeys(user: author, id: standing.postID).displayText
        try await ClosedPictureRepository.store(key, of: author, isClosed: standing.hidden || standing.removed, sql)
    }
}
