internal import Database
internal import Kernel
internal import ServiceRuntime

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

    /// The statement that waits for those who are voting on an author's posts; who votes later finds what has become of these. In the
    /// transaction that deletes their votes.
    ///
    /// Of one author in a transaction: voters who run as one transaction (`SharedTransactions`) take their locks in the order of voters, and
    /// one that held the lock of an author while it waits for another's could wait for these and they for it.
    static func lockVoters(onPostsOf author: UserID) -> Query {
        "SELECT pg_advisory_xact_lock(\(voters)) FROM (SELECT \(author)::uuid AS user_id) AS p"
    }

    /// Whether a vote of a user would be a row more: they may vote on the post, and have not.
    func isNew(on post: PostID, by user: UserID) async throws -> Bool {
        try await !database.query(
            """
            SELECT 1 FROM place_post p WHERE p.id = \(post) AND p.state = 1 AND \(PostListRepository.isShown(to: user))
                AND p.user_id <> \(user) AND NOT EXISTS (SELECT FROM place_vote v WHERE v.post_id = p.id AND v.user_id = \(user))
            """
        ).isEmpty
    }

    /// Queues the setting of a user's vote, or its taking back (nil): nothing changes when the user may not see the post, or votes on one of
    /// their own. Until the transaction ends the post is not deleted.
    ///
    /// - Parameter key: of a request that is not new nothing changes either. It has the instant of the vote.
    /// - Returns: for `votes`.
    static func enqueue(
        _ vote: Vote?,
        on post: PostID,
        by user: UserID,
        if key: KeyCondition,
        _ sql: Transaction
    ) throws -> QueuedStatement {
        // A deletion that was committed while this one waited is seen by the last statement only, which then has no votes.
        let isLocked: Query = "pg_advisory_xact_lock_shared(\(voters)) IS NOT NULL"
        let shown: Query = "p.id = \(post) AND p.state = 1 AND \(PostListRepository.isShown(to: user))"
        if let vote {
            try sql.enqueue(
                """
                INSERT INTO place_vote AS known (post_id, user_id, vote, voted_at)
                SELECT p.id, new.voter, new.vote, new.now
                FROM \(rows: .of([post]), .of([user]), .of([vote.number]), .of([key.now]), .of([key.caller]), .of([key.method]),
                    .of([key.keyHash]), .of([key.lock.high]), .of([key.lock.low]))
                    AS new (post_id, voter, vote, now, caller, method, key_hash, high, low)
                JOIN place_post p ON p.id = new.post_id
                WHERE p.state = 1 AND \(PostListRepository.isShown(to: "new.voter" as Query)) AND \(isLocked) AND p.user_id <> new.voter
                    AND \(KeyCondition.isNewInRow)
                ON CONFLICT (post_id, user_id) DO UPDATE SET vote = EXCLUDED.vote, voted_at = EXCLUDED.voted_at
                WHERE known.vote <> EXCLUDED.vote
                """
            )
        } else {
            try sql.enqueue(
                """
                DELETE FROM place_vote WHERE post_id = \(post) AND user_id = \(user)
                    AND EXISTS (SELECT FROM place_post p WHERE \(shown) AND \(isLocked)) AND \(key.isNew)
                """
            )
        }
        return try sql.enqueue(
            """
            SELECT p.user_id, p.up + pending.up::bigint, p.down + pending.down::bigint,
                (SELECT v.vote FROM place_vote v WHERE v.post_id = p.id AND v.user_id = \(user))
            FROM place_post p, LATERAL (\(pending("p.id"))) AS pending WHERE \(shown)
            """
        )
    }

    /// Who has written the post, and its votes after the change; nil when the user may not see it.
    static func votes(_ queued: QueuedStatement) async throws -> (author: UserID, VoteCounts)? {
        guard let row = try await queued.rows().first else { return nil }
        let (author, up, down, own) = try row.decode(as: (UserID.self, Int64.self, Int64.self, Int16?.self))
        return (author, VoteCounts(up: up, down: down, own: Vote(number: own)))
    }

    /// Adds what votes have changed to the counts of their posts, and ranks these anew. A list that was begun before goes on with
    /// the scores of before: they are kept.
    ///
    /// In two transactions: a voter waits while the row of its connection is taken, and posts that are not in memory take time to change.
    ///
    /// - Parameters:
    ///   - most: rows at most.
    ///   - score: of a post with these votes.
    /// - Returns: how many rows were added.
    func count(most: Int, score: (_ up: Int64, _ down: Int64, _ postedAt: Instant) -> Double) async throws -> Int {
        let found = try await database.query(
            """
            WITH taken AS (DELETE FROM place_vote_tally WHERE (post_id, connection) IN
                (SELECT post_id, connection FROM place_vote_tally ORDER BY post_id, connection LIMIT \(most) FOR UPDATE SKIP LOCKED)
                RETURNING post_id, up, down)
            INSERT INTO place_vote_tally (post_id, connection, up, down)
            SELECT post_id, -pg_backend_pid(), sum(up), sum(down) FROM taken GROUP BY post_id
            RETURNING post_id, connection, (SELECT count(*) FROM taken)
            """
        ).map { try $0.decode(as: (PostID.self, Int32.self, Int64.self)) }
        guard let (_, batch, rows) = found.first else { return 0 }
        try await database.transaction { sql in
            // Those that another run has taken since are counted by it.
            let taken = try await sql.query(
                """
                DELETE FROM place_vote_tally WHERE post_id = ANY(\(found.map(\.0))) AND connection = \(batch) RETURNING post_id, up, down
                """
            ).map { try $0.decode(as: (PostID.self, Int64.self, Int64.self)) }
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
        }
        return Int(rows)
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
