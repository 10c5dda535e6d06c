internal import Database
internal import Kernel

/// Votes and the counts of posts (PL-3).
struct VoteRepository: Sendable {
    let database: Database

    /// A post's votes that its row does not have yet, for a statement in which `post` is its id.
    static func pending(_ post: Query) -> Query {
        """
        SELECT coalesce(sum(up), 0) AS up, coalesce(sum(down), 0) AS down FROM place_vote_tally WHERE post_id = \(post)
        """
    }

    /// The name of the lock that keeps votes on an author's posts (`p`) and the deletion of these posts apart. Voters share it and do not wait for
    /// each other, as they would for a lock of the post's row.
    private static let voters: Query = "hashtextextended(current_schema() || ' voters ' || p.user_id, 0)"

    /// The statement that waits for those who are voting on some posts; who votes later finds what has become of these. In the transaction that
    /// deletes their votes.
    ///
    /// - Parameter condition: on `place_post`.
    static func lockVoters(ofPosts condition: Query) -> Query {
        """
        SELECT pg_advisory_xact_lock(\(voters)) FROM (SELECT DISTINCT user_id FROM place_post WHERE \(condition) ORDER BY user_id) AS p
        """
    }

    /// Queues the question who has written a post; without an answer when the user may not see it. Until the transaction ends the post is not
    /// deleted.
    static func enqueueAuthor(of post: PostID, for user: UserID, _ sql: Transaction) throws -> QueuedStatement {
        // The next statement sees what was committed while this one waited.
        try sql.enqueue("SELECT pg_advisory_xact_lock_shared(\(voters)) FROM place_post p WHERE p.id = \(post)")
        return try sql.enqueue(
            "SELECT p.user_id FROM place_post p WHERE p.id = \(post) AND p.state = 1 AND \(PostListRepository.isShown(to: user))"
        )
    }

    /// Sets the vote of a user, or takes it back (nil). - Returns: the votes after it.
    static func set(_ vote: Vote?, on post: PostID, by user: UserID, at now: Instant, _ sql: Transaction) async throws
        -> VoteCounts
    {
        if let vote {
            try sql.enqueue(
                """
                INSERT INTO place_vote AS known (post_id, user_id, vote, voted_at) VALUES (\(post), \(user), \(vote.number), \(now))
                ON CONFLICT (post_id, user_id) DO UPDATE SET vote = EXCLUDED.vote, voted_at = EXCLUDED.voted_at
                WHERE known.vote <> EXCLUDED.vote
                """
            )
        } else {
            try sql.enqueue("DELETE FROM place_vote WHERE post_id = \(post) AND user_id = \(user)")
        }
        let row = try await sql.query(
            """
            SELECT p.up + pending.up::bigint, p.down + pending.down::bigint
            FROM place_post p, LATERAL (\(pending("p.id"))) AS pending WHERE p.id = \(post)
            """
        ).first
        guard let row else { throw ServiceError.notFound("post") }
        let (up, down) = try row.decode(as: (Int64.self, Int64.self))
        return VoteCounts(up: up, down: down, own: vote)
    }

    /// Adds what votes have changed to the counts of their posts, and ranks these anew. A list that was begun before goes on with
    /// the scores of before: they are kept.
    ///
    /// - Parameters:
    ///   - most: rows at most.
    ///   - score: of a post with these votes.
    /// - Returns: how many rows were added.
    func count(most: Int, score: (_ up: Int64, _ down: Int64, _ postedAt: Instant) -> Double) async throws -> Int {
        try await database.transaction { sql in
            let taken = try await sql.query(
                """
                WITH taken AS (DELETE FROM place_vote_tally WHERE (post_id, connection) IN
                    (SELECT post_id, connection FROM place_vote_tally ORDER BY post_id, connection LIMIT \(most) FOR UPDATE SKIP LOCKED)
                    RETURNING post_id, up, down)
                SELECT post_id, sum(up)::bigint, sum(down)::bigint, count(*) FROM taken GROUP BY post_id
                """
            ).map { try $0.decode(as: (PostID.self, Int64.self, Int64.self, Int64.self)) }
            guard !taken.isEmpty else { return 0 }
            let changes = Dictionary(taken.map { ($0.0, (up: $0.1, down: $0.2)) }, uniquingKeysWith: { first, _ in first })
            let posts = try await sql.query(
                """
                SELECT id, up, down, posted_at FROM place_post WHERE id = ANY(\(Array(changes.keys))) ORDER BY id FOR NO KEY UPDATE
                """
            ).map { try $0.decode(as: (PostID.self, Int64.self, Int64.self, Instant.self)) }
            let counted = posts.compactMap { id, up, down, postedAt in
                changes[id].map { (id, up + $0.up, down + $0.down, score(up + $0.up, down + $0.down, postedAt)) }
            }
            try await Self.store(counted, sql)
            return Int(taken.reduce(0) { $0 + $1.3 })
        }
    }

    /// A new score counts two seconds from now on: what a list read before this transaction ended stays true.
    private static func store(_ counted: [(PostID, Int64, Int64, Double)], _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            WITH moment AS MATERIALIZED (SELECT clock_timestamp() + interval '2 seconds' AS at), counted AS (
                SELECT * FROM unnest(\(counted.map(\.0)), \(counted.map(\.1)), \(counted.map(\.2)), \(counted.map(\.3)))
                    AS counted (id, up, down, score)
            ), kept AS (
                INSERT INTO place_past_score (post_id, until, score, place_key)
                SELECT p.id, moment.at, p.score, p.place_key FROM place_post p JOIN counted c USING (id), moment WHERE p.score <> c.score
            )
            UPDATE place_post p SET up = c.up, down = c.down, score = c.score,
                scored_at = CASE WHEN p.score = c.score THEN p.scored_at ELSE moment.at END
            FROM counted c, moment WHERE p.id = c.id
            """
        )
    }
}
