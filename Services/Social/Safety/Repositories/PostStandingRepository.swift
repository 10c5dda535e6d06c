internal import Database
internal import Kernel
internal import SocialAPI
internal import SocialDomain

/// Whether posts are shown, and whose are hidden often (SO-8, SO-9). The caller has locked the subject, `ReportRepository.lockSubject`.
enum PostStandingRepository {
    /// What is known of a post.
    static func standing(of post: PostID, _ sql: Transaction) async throws -> PostStanding {
        let row = try await sql.query("SELECT visibility, version, hidden_at FROM post_standing WHERE post_id = \(post)").first
        guard let row else { return PostStanding() }
        let (visibility, version, hiddenAt) = try row.decode(as: (Int16.self, Int64.self, Instant?.self))
        return PostStanding(
            visibility: PostStanding.Visibility(rawValue: visibility) ?? .shown,
            version: version,
            hiddenAt: hiddenAt
        )
    }

    static func store(_ standing: PostStanding, of post: PostID, by owner: UserID, _ sql: Transaction) async throws {
        try await sql.execute(
            """
            INSERT INTO post_standing (post_id, owner, version, visibility, hidden_at)
            VALUES (\(post), \(owner), \(standing.version), \(standing.visibility.rawValue), \(standing.hiddenAt))
            ON CONFLICT (post_id) DO UPDATE SET version = EXCLUDED.version, visibility = EXCLUDED.visibility,
                hidden_at = EXCLUDED.hidden_at
            """
        )
    }

    /// How many posts of a user were hidden, removed or refused since an instant, and since moderators last decided about the user for this.
    static func hiddenPosts(of owner: UserID, since: Instant, _ sql: Transaction) async throws -> Int {
        let count = try await sql.query(
            """
            WITH looked AS (
                SELECT max(taken_at) AS at FROM report WHERE owner = \(owner) AND source = \(ReportSource.oftenHidden.rawValue)
            ), hidden AS (
                SELECT post_id, hidden_at AS at FROM post_standing WHERE owner = \(owner) AND hidden_at > \(since)
                UNION ALL
                SELECT subject_id, created_at FROM report
                WHERE owner = \(owner) AND source = \(ReportSource.labels.rawValue) AND moderator IS NULL AND status = 2
                    AND created_at > \(since)
            )
            SELECT count(DISTINCT post_id) FROM hidden, looked WHERE looked.at IS NULL OR hidden.at > looked.at
            """
        ).first?.decode(as: Int64.self)
        return Int(count ?? 0)
    }

    /// A post that only its author sees, or that is gone.
    struct Hidden: Sendable {
        let id: PostID
        let isRemoved: Bool
        let hiddenAt: Instant
        /// Of the reports that were not dismissed, each once.
        let reasons: [Int32]
        /// Whether moderators have decided; otherwise it waits for them.
        let isDecided: Bool
    }

    /// A user's hidden and removed posts, the newest of these first.
    static func hidden(of owner: UserID, limit: Int, _ database: Database) async throws -> [Hidden] {
        try await database.query(
            """
            SELECT s.post_id, s.visibility = \(PostStanding.Visibility.removed.rawValue), s.hidden_at,
                ARRAY(SELECT DISTINCT r.reason::int FROM report r WHERE r.subject_type = \(ReportSubject.post.rawValue)
                    AND r.subject_id = s.post_id AND r.status <> 3 ORDER BY 1),
                EXISTS (SELECT FROM report r WHERE r.subject_type = \(ReportSubject.post.rawValue)
                    AND r.subject_id = s.post_id AND r.status = 2)
            FROM post_standing s WHERE s.owner = \(owner) AND s.hidden_at IS NOT NULL
            ORDER BY s.hidden_at DESC, s.post_id LIMIT \(limit)
            """
        ).map { row in
            let (id, isRemoved, hiddenAt, reasons, isDecided) = try row.decode(
                as: (PostID.self, Bool.self, Instant.self, [Int32].self, Bool.self)
            )
            return Hidden(id: id, isRemoved: isRemoved, hiddenAt: hiddenAt, reasons: reasons, isDecided: isDecided)
        }
    }

    /// The other pending reports of a post get the outcome of one of them. - Returns: who filed them.
    static func answerOthers(
        _ report: StoredReport,
        like action: StoredAction,
        status: Moderation.Status,
        ids: any IDSource,
        _ sql: Transaction
    ) async throws -> [UserID] {
        let others = try await sql.query(
            """
            SELECT id, reporter FROM report WHERE subject_type = \(report.subjectType.rawValue) AND subject_id = \(report.subject)
                AND status = 1 AND id <> \(report.id) ORDER BY id FOR UPDATE
            """
        ).map { try $0.decode(as: (ReportID.self, UserID?.self)) }
        guard !others.isEmpty else { return [] }
        let actions: [ModerationActionID] = others.map { _ in ids.make() }
        try await sql.execute(
            """
            UPDATE report r SET status = \(status.rawValue), action_id = o.action_id, action = \(action.action.rawValue),
                moderator = \(action.moderator), taken_at = \(action.takenAt), until = \(action.until), note = \(action.note)
            FROM unnest(\(others.map(\.0)), \(actions)) AS o (id, action_id) WHERE r.id = o.id
            """
        )
        return others.compactMap(\.1)
    }
}
