internal import Database
internal import Kernel
internal import MediaCore
internal import MediaDomain
internal import Replicas

/// A post's row, whatever has become of it.
struct StoredPost: Sendable {
    /// Where it stands.
    enum Standing: Sendable, Equatable {
        /// Its renditions are being made; its maker counts as dead from that instant on.
        case beingMade(until: Instant)
        case shown
        /// Its maker has failed; the job deletes what there is of it.
        case givenUp
        /// By its author.
        case removed
    }

    let user: UserID
    let sha256: String
    let standing: Standing
}

/// A post that its reader may see.
struct ShownPost: Sendable {
    let id: PostID
    let user: UserID
    let caption: String?
    /// As others see it.
    let position: Coordinate
    let precision: PositionPrecision
    let capturedAt: Instant
    let postedAt: Instant
    let width: Int32
    let height: Int32
    let isHidden: Bool
    let countryCode: String?
    let country: String?
    let city: String?
    /// By its reader.
    let isReported: Bool
    let votes: VoteCounts
    /// nil for a photo.
    var video: PostVideo?
    /// nil for an author who is not known here yet.
    var author: JoinedProfile?
}

/// Posts by their ids.
struct PostRepository: Sendable {
    let database: Database

    /// What is stored under an id; nil for nothing.
    func stored(_ id: PostID) async throws -> StoredPost? {
        try await database.query("SELECT user_id, sha256, state, due_at FROM place_post WHERE id = \(id)").first.map { row in
            let (user, sha256, state, due) = try row.decode(as: (UserID.self, String.self, Int16.self, Instant?.self))
            let standing: StoredPost.Standing =
                switch state {
                case 0: .beingMade(until: due ?? .epoch)
                case 1: .shown
                case 2: .givenUp
                default: .removed
                }
            return StoredPost(user: user, sha256: sha256, standing: standing)
        }
    }

    /// Who has removed the post of an id; nil when no user has.
    func removedBy(_ id: PostID) async throws -> UserID? {
        try await database.query("SELECT user_id FROM place_removed_post WHERE id = \(id)").first?.decode(as: UserID.self)
    }

    /// The post that a user has made of a presigned upload; nil when there is none.
    func made(from upload: UploadID, by user: UserID) async throws -> PostID? {
        try await database.query("SELECT id FROM place_post WHERE upload_id = \(upload) AND user_id = \(user) AND state = 1")
            .first?
            .decode(as: PostID.self)
    }

    /// Records a post whose renditions are still to be made (state 0).
    ///
    /// - Parameter bytes: what they may take, for the quota of the author until they are stored.
    /// - Returns: false when its id is taken.
    func claim(_ draft: PostDraft, until lease: Instant, bytes: Int64 = 0) async throws -> Bool {
        try await database.execute(
            """
            WITH made AS (
                INSERT INTO place_post (id, user_id, sha256, caption, latitude, longitude, position_precision, place_key, captured_at,
                    posted_at, score, upload_id, due_at, country_code, country, city, is_named, file_bytes)
                VALUES (\(draft.id), \(draft.user), \(draft.sha256), \(draft.caption), \(draft.position.latitude),
                    \(draft.position.longitude), \(draft.precision.rawValue), \(PlaceKey(draft.position).value), \(draft.capturedAt),
                    \(draft.receivedAt), \(PostScore.value(up: 0, down: 0, received: draft.receivedAt)), \(draft.upload), \(lease),
                    \(draft.place?.countryCode), \(draft.place?.country), \(draft.place?.city), true, \(bytes))
                ON CONFLICT DO NOTHING RETURNING id
            )
            INSERT INTO place_post_text (post_id, user_id, words) SELECT id, \(draft.user), \(Self.words(draft.words)) FROM made
            """
        ) == 1
    }

    /// Words as they are stored.
    private static func words(_ words: [String]) -> Query {
        "array_to_tsvector(ARRAY(SELECT place_fold(word) FROM unnest(\(words)) AS word WHERE place_fold(word) <> ''))"
    }

    /// Names the places of posts of before. - Returns: how many.
    func nameSome(_ limit: Int) async throws -> Int {
        try await database.transaction { sql in
            let posts = try await sql.query(
                """
                SELECT id, user_id, caption, latitude, longitude FROM place_post WHERE NOT is_named ORDER BY id LIMIT \(limit)
                FOR NO KEY UPDATE SKIP LOCKED
                """
            ).map { try $0.decode(as: (PostID.self, UserID.self, String?.self, Double.self, Double.self)) }
            for (id, user, caption, latitude, longitude) in posts {
                let place = PlaceNames.known?.name(of: Coordinate(nearestLatitude: latitude, longitude: longitude))
                try sql.enqueue(
                    """
                    UPDATE place_post SET country_code = \(place?.countryCode), country = \(place?.country), city = \(place?.city),
                        is_named = true WHERE id = \(id)
                    """
                )
                try sql.enqueue(
                    """
                    INSERT INTO place_post_text (post_id, user_id, words)
                    VALUES (\(id), \(user), \(Self.words(PostDraft.words(caption, place)))) ON CONFLICT DO NOTHING
                    """
                )
            }
            return posts.count
        }
    }

    /// Shows a post whose renditions are stored (state 1). - Returns: false when it was given up meanwhile.
    static func show(_ id: PostID, _ made: RenderedPost, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            UPDATE place_post SET state = 1, due_at = NULL, width = \(made.width), height = \(made.height),
                scored_at = clock_timestamp(), file_bytes = \(made.fileBytes),
                video_format = \(made.video?.format.rawValue), video_length = \(made.video?.milliseconds)
            WHERE id = \(id) AND state = 0
            """
        ) == 1
    }

    /// Gives up a post that is not shown (state 2), due at once. - Returns: false when there is none to give up.
    @discardableResult
    func giveUp(_ id: PostID, now: Instant) async throws -> Bool {
        try await database.execute("UPDATE place_post SET state = 2, due_at = \(now) WHERE id = \(id) AND state = 0") == 1
    }

    /// Removes a post of its author's (state 3). - Returns: false when the user has no such post.
    static func remove(_ id: PostID, of user: UserID, now: Instant, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            "UPDATE place_post SET state = 3, due_at = \(now) WHERE id = \(id) AND user_id = \(user) AND state = 1"
        ) == 1
    }

    /// Locks up to `limit` posts that are to be deleted; other replicas leave them alone until `lease`. - Returns: where their blobs lie.
    func lockDue(now: Instant, until lease: Instant, limit: Int) async throws -> [PostBlobKeys] {
        try await database.query(
            """
            UPDATE place_post SET state = CASE state WHEN 0 THEN 2 ELSE state END, due_at = \(lease) WHERE id IN
                (SELECT id FROM place_post WHERE due_at <= \(now) ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING user_id, id
            """
        ).map { row in
            let (user, id) = try row.decode(as: (UserID.self, PostID.self))
            return PostBlobKeys(user: user, id: id)
        }
    }

    /// Deletes the rows of an author's posts whose blobs are deleted, with their votes; of those that were removed the id is kept.
    func delete(_ ids: [PostID], of author: UserID, now: Instant) async throws {
        guard !ids.isEmpty else { return }
        try await database.transaction { sql in
            try sql.enqueue(
                """
                INSERT INTO place_removed_post (id, user_id, removed_at)
                SELECT id, user_id, \(now)::timestamptz FROM place_post WHERE id = ANY(\(ids)) AND state = 3 ON CONFLICT DO NOTHING
                """
            )
            // A vote that found its post just before it was removed is committed before these are deleted.
            try sql.enqueue(VoteRepository.lockVoters(onPostsOf: author))
            try sql.enqueue("DELETE FROM place_vote WHERE post_id = ANY(\(ids))")
            try await ClosedPictureRepository.reopen(
                ids.map { PostBlobKeys(user: author, id: $0).displayText },
                of: author,
                sql
            )
            _ = try await sql.execute("DELETE FROM place_post WHERE id = ANY(\(ids)) AND state IN (2, 3)")
        }
    }

    /// Deletes the ids of posts that were removed before an instant. - Returns: how many.
    func forgetRemoved(before limit: Instant, limit count: Int) async throws -> Int {
        try await database.execute(
            """
            WITH old AS (
                SELECT id FROM place_removed_post WHERE removed_at < \(limit) ORDER BY removed_at LIMIT \(count) FOR UPDATE SKIP LOCKED
            ), votes AS (DELETE FROM place_vote v USING old WHERE v.post_id = old.id)
            DELETE FROM place_removed_post p USING old WHERE p.id = old.id
            """
        )
    }

    /// Deletes scores that posts have not had since an instant. - Returns: how many.
    func deletePastScores(before limit: Instant, limit count: Int) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM place_past_score WHERE (post_id, until) IN
                (SELECT post_id, until FROM place_past_score WHERE until < \(limit) ORDER BY until LIMIT \(count) FOR UPDATE SKIP LOCKED)
            """
        )
    }

    /// Deletes the votes on a user's posts: for accounts that are purged.
    static func deleteVotes(onPostsOf user: UserID, _ sql: Transaction) async throws {
        try sql.enqueue(VoteRepository.lockVoters(onPostsOf: user))
        _ = try await sql.execute("DELETE FROM place_vote WHERE post_id IN (SELECT id FROM place_post WHERE user_id = \(user))")
    }

    /// A post as a reader may see it; nil when there is none.
    ///
    /// - Parameter reader: nil for a guest.
    func find(_ id: PostID, for reader: UserID?) async throws -> ShownPost? {
        try await database.query(PostListRepository.post(id, for: reader)).first.map { try ShownPost($0) }
    }

    /// Who has written a post that is shown; nil when there is none.
    func owner(of id: PostID) async throws -> UserID? {
        try await database.query("SELECT user_id FROM place_post WHERE id = \(id) AND state = 1 AND NOT is_hidden").first?
            .decode(as: UserID.self)
    }

    /// Posts as moderators see them: hidden ones too.
    func all(_ ids: [PostID]) async throws -> [ShownPost] {
        try await database.query(PostListRepository.all(ids)).map { try ShownPost($0) }
    }

    /// The same within a transaction.
    static func find(_ id: PostID, for reader: UserID?, _ sql: Transaction) async throws -> ShownPost? {
        try await sql.query(PostListRepository.post(id, for: reader)).first.map { try ShownPost($0) }
    }
}
