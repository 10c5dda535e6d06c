internal import Database
internal import Kernel
internal import MediaCore
internal import MediaDomain
internal import Replicas
internal import Videos

/// Lists of posts (PL-2).
///
/// A small or quiet area is read whole, by ranges of the Z-order key. A crowded one is read by the cells that cover it: each has an index of
/// its posts by score, so that a page reads a few of each and not all of them.
///
/// A list by score goes on as it was ranked when its first page was read: `place_past_score` has the scores that changed since.
struct PostListRepository: Sendable {
    /// How long scores of before are kept. A list that is older goes on with those of that time ago.
    static let scoresKept = Interval.hours(1)
    /// Ranges of keys that an area is read by.
    private static let mostRanges = 24
    /// Cells that a crowded area is read by.
    private static let mostCells = 64

    /// Words that more posts have are looked for in posts by their order, not posts by their words.
    private static let fewWithWords = 5_000

    let database: Database
    /// An area with more posts than this is crowded.
    var few = 500

    /// A page of a list.
    ///
    /// - Parameters:
    ///   - reader: nil for a guest.
    ///   - place: of the post before; nil at the start.
    ///   - limit: `PostListStatement.most` at most.
    func posts(_ search: PostSearch, for reader: UserID?, after place: PostPlace?, limit: Int) async throws -> [ListedPost] {
        let statement = PostListStatement(search: search, reader: reader, place: place)
        let area = search.author == nil ? search.box.map { Area(search, $0) } : nil
        // Most maps are of places with many posts: these are read at once, without a look at how many there are.
        if let area, area.isLikelyCrowded {
            let all = PostListStatement(search: search, reader: reader, place: place, hasWithheld: true)
            let crowded = all.inCells(area.cells, limit: limit, onlyIfCrowded: true)
            let posts = try await self.posts(crowded, all, limit: limit)
            guard posts.isEmpty || posts.contains(where: \.isWithheld) else { return posts }
        }
        return try await posts(try await source(statement, area, limit: limit), statement, limit: limit)
    }

    private func posts(_ found: Query, _ statement: PostListStatement, limit: Int) async throws -> [ListedPost] {
        let reader = statement.reader
        let order: Query = statement.search.order == .score ? "rank DESC, id DESC" : "posted_at DESC, id DESC"
        let page: Query = "SELECT * FROM (\(found)) AS found ORDER BY \(order) LIMIT \(limit)"
        let rows = try await database.query(
            "\(statement.unseenAuthors) \(Self.selection(page, for: reader, isWithheld: statement.isWithheld)) ORDER BY \(order)"
        )
        return try rows.map { row in
            let post = try ShownPost(row)
            let readAt: Instant = try row.get(at: 17)
            return ListedPost(
                post: post,
                place: PostPlace(
                    score: try row.get(at: 16),
                    postedAt: post.postedAt,
                    rankedAt: statement.place?.rankedAt ?? readAt,
                    id: post.id
                ),
                isWithheld: try row.get(at: 26)
            )
        }
    }

    /// Where the posts are read from.
    private func source(_ statement: PostListStatement, _ area: Area?, limit: Int) async throws -> Query {
        if statement.search.author != nil { return statement.ofAuthor }
        if let words = PostListStatement.words(statement.search) {
            let found: Query = "SELECT FROM place_post_text WHERE words @@ \(words) LIMIT \(Self.fewWithWords + 1)"
            let count = try await database.query("SELECT count(*) FROM (\(found)) AS counted").first?.decode(as: Int64.self) ?? 0
            if count <= Self.fewWithWords { return statement.withWords(words) }
        }
        guard let area else { return statement.inCells(.world, limit: limit) }
        let posts = PostListStatement.posts(in: area.ranges)
        let count: Query = "SELECT count(*) FROM (SELECT FROM \(posts) LIMIT \(few + 1)) AS counted"
        let found = try await database.query(count).first?.decode(as: Int64.self) ?? 0
        guard Int(found) > few else { return statement.inRanges(area.ranges) }
        return statement.inCells(area.cells, limit: limit)
    }

    /// What covers the area of a search.
    private struct Area {
        let ranges: [ClosedRange<Int64>]
        let cells: PostCells
        /// Whether the cells inside it may have as many posts as are wanted: it has such cells, and no other condition may leave few of their posts.
        let isLikelyCrowded: Bool

        init(_ search: PostSearch, _ box: GeoBox) {
            ranges = search.cell.map { [$0] } ?? PlaceKey.ranges(covering: box, most: PostListRepository.mostRanges)
            cells = PostCells.covering(
                box,
                ranges,
                isCell: search.cell != nil,
                most: PostListRepository.mostCells,
                levels: PostCells.levels(of: search.order)
            )
            isLikelyCrowded = search.words == nil && search.since == nil && !cells.inside.isEmpty
        }
    }

    /// The statement for one post.
    static func post(_ id: PostID, for reader: UserID?) -> Query {
        selection(
            """
            SELECT \(columns), p.score AS rank FROM place_post p
            WHERE p.id = \(id) AND p.state = 1 AND (p.user_id = \(reader) OR \(isShown(to: reader)))
            """,
            for: reader
        )
    }

    /// Posts by their ids that a reader may see, those with the best scores first.
    ///
    /// - Parameter reader: nil for a guest.
    func best(of posts: [PostID], for reader: UserID?, limit: Int) async throws -> [ShownPost] {
        let page: Query = """
            SELECT \(Self.columns), p.score AS rank FROM place_post p
            WHERE p.id = ANY(\(posts)) AND p.state = 1 AND \(Self.isShown(to: reader)) ORDER BY p.score DESC, p.id DESC LIMIT \(limit)
            """
        return try await database.query(Self.selection(page, for: reader)).map { try ShownPost($0) }
    }

    /// The statement for posts as moderators see them.
    static func all(_ ids: [PostID]) -> Query {
        selection("SELECT \(columns), p.score AS rank FROM place_post p WHERE p.id = ANY(\(ids)) AND p.state = 1", for: nil)
    }

    /// A condition on `place_post p`: whether others see the post, and this one does.
    ///
    /// - Parameter reader: nil for a guest.
    static func isShown(to reader: UserID?) -> Query { isShown(to: reader.map { "\($0)" as Query }) }

    /// The same where the reader is an expression of the statement.
    static func isShown(to reader: Query?) -> Query {
        let isUnblocked: Query = reader.map { "AND \(BlockReplica.isShown("p.user_id", to: $0))" } ?? ""
        // As an expression for each row: the table grows with every account that is deleted, and must not be read whole.
        return """
            NOT p.is_hidden AND CASE WHEN EXISTS (SELECT FROM photo_owner o WHERE o.user_id = p.user_id AND o.is_withheld)
                THEN false ELSE true END \(isUnblocked)
            """
    }

    /// Of a post, for `selection`.
    static let columns: Query = """
        p.id, p.user_id, p.caption, p.latitude, p.longitude, p.position_precision, p.captured_at, p.posted_at, p.width, p.height, p.up,
        p.down, p.is_hidden, p.country_code, p.country, p.city, p.video_format, p.video_length
        """

    /// Posts with all their votes and the reader's own, for `ShownPost.init`.
    ///
    /// - Parameter isWithheld: whether the author's posts are withheld, for an author of `page`.
    private static func selection(_ posts: Query, for reader: UserID?, isWithheld: Query = "false") -> Query {
        """
        SELECT page.id, page.user_id, page.caption, page.latitude, page.longitude, page.position_precision, page.captured_at,
            page.posted_at, page.width, page.height, page.is_hidden, page.country_code, page.country, page.city, page.video_format,
            page.video_length, page.rank, statement_timestamp() AS read_at,
            page.up + pending.up::bigint AS up, page.down + pending.down::bigint AS down,
            EXISTS (SELECT FROM place_report r WHERE r.post_id = page.id AND r.user_id = \(reader)) AS is_reported,
            (SELECT v.vote FROM place_vote v WHERE v.post_id = page.id AND v.user_id = \(reader)) AS vote,
            \(ProfileReplica.joinedColumns), \(isWithheld) AS is_withheld
        FROM (\(posts)) AS page CROSS JOIN LATERAL (\(VoteRepository.pending("page.id"))) AS pending
            \(ProfileReplica.join("page.user_id"))
        """
    }
}

extension ShownPost {
    /// - Parameter row: of `PostListRepository.selection`, by the places of its columns: their names would be compared for each value.
    init(_ row: Row) throws {
        self.init(
            id: try row.get(at: 0),
            user: try row.get(at: 1),
            caption: try row.get(at: 2),
            position: Coordinate(nearestLatitude: try row.get(at: 3), longitude: try row.get(at: 4)),
            precision: PositionPrecision(rawValue: try row.get(at: 5)) ?? .exact,
            capturedAt: try row.get(at: 6),
            postedAt: try row.get(at: 7),
            width: try row.get(at: 8),
            height: try row.get(at: 9),
            isHidden: try row.get(at: 10),
            countryCode: try row.get(at: 11),
            country: try row.get(at: 12),
            city: try row.get(at: 13),
            isReported: try row.get(at: 20),
            votes: VoteCounts(
                up: try row.get(at: 18),
                down: try row.get(at: 19),
                own: Vote(number: try row.get(at: 21, as: Int16?.self))
            ),
            video: try row.get(at: 14, as: String?.self).flatMap(StoredVideoFormat.init).map {
                PostVideo(format: $0, milliseconds: try row.get(at: 15, as: Int64?.self) ?? 0)
            },
            author: try JoinedProfile(row, at: 22)
        )
    }
}
