internal import Database
internal import Kernel
internal import MediaCore
internal import MediaDomain

/// The parts of a list's statement: what is searched for, by whom, and after which post. Each source has the posts that the reader may see.
struct PostListStatement: Sendable {
    let search: PostSearch
    /// nil for a guest.
    let reader: UserID?
    /// Of the post before; nil at the start.
    let place: PostPlace?
    /// Whether posts of authors whose posts are withheld may be among those of cells, marked. There are few of them, and a look at the author of
    /// each post on the way to a page is half of the index pages that it reads: who finds one reads the page anew without them.
    var hasWithheld = false

    /// When the list was ranked.
    private var moment: Query {
        place.map { "greatest(\($0.rankedAt), statement_timestamp() - interval '50 minutes')" } ?? "statement_timestamp()"
    }

    /// Authors whom the reader blocks or is blocked by, read once for the whole statement.
    var unseenAuthors: Query {
        reader.map { "WITH unseen AS MATERIALIZED (SELECT ARRAY(\(Self.authors(unseenBy: $0))) AS authors)" } ?? ""
    }

    /// Authors whom a reader blocks or is blocked by.
    static func authors(unseenBy reader: UserID) -> Query {
        """
        SELECT blocked FROM block_replica WHERE active AND blocker = \(reader)
        UNION ALL SELECT blocker FROM block_replica WHERE active AND blocked = \(reader)
        """
    }

    /// Shown posts with keys of these ranges, as `p`: range after range by the index of keys.
    static func posts(in ranges: [ClosedRange<Int64>]) -> Query {
        """
        unnest(\(ranges.map(\.lowerBound)), \(ranges.map(\.upperBound))) AS range (low, high) CROSS JOIN LATERAL
            (SELECT * FROM place_post WHERE place_key BETWEEN range.low AND range.high AND state = 1 AND NOT is_hidden LIMIT 10000) AS p
        """
    }

    /// All posts of ranges of keys: for a quiet area.
    func inRanges(_ ranges: [ClosedRange<Int64>]) -> Query { whole(Self.posts(in: ranges), "true") }

    /// Posts with the words that are searched for, as `t` and `p`.
    static func posts(with words: Query) -> Query {
        "(SELECT post_id FROM place_post_text WHERE words @@ \(words)) AS t JOIN place_post p ON p.id = t.post_id"
    }

    /// What the words of posts are compared with; nil when none are searched for.
    static func words(_ search: PostSearch) -> Query? {
        guard let words = search.words else { return nil }
        return """
            (SELECT string_agg(quote_literal(place_fold(word)) || ':*', ' & ')::tsquery FROM unnest(\(words)) AS word
            WHERE place_fold(word) <> '')
            """
    }

    /// All posts with the words: for rare ones.
    func withWords(_ words: Query) -> Query { whole(Self.posts(with: words), "p.state = 1 AND NOT p.is_hidden") }

    /// All posts of an author.
    var ofAuthor: Query {
        whole(
            "place_post p",
            search.isOwn
                ? "p.user_id = \(search.author) AND p.state = 1"
                : "p.user_id = \(search.author) AND p.state = 1 AND NOT p.is_hidden"
        )
    }

    /// Posts of a list at once, at most.
    static let most = 500

    /// The best posts of cells, or the newest, and those whose score has changed since the list was ranked.
    ///
    /// Cells at the edge may have many posts, and few of the area. So the cells inside it are asked first: as many posts as are wanted have a
    /// rank of theirs or a better one. Each cell is then read from its best post on, by its index, to that rank and no further.
    ///
    /// - Parameters:
    ///   - limit: `most` at most.
    ///   - onlyIfCrowded: there are none if the cells inside the area have fewer than are wanted.
    func inCells(_ cells: PostCells, limit: Int, onlyIfCrowded: Bool = false) -> Query {
        let order: Query = search.order == .newest ? "p.posted_at" : "p.score"
        let inside = best(
            of: cells,
            cells.inside,
            "\(order) AS value",
            "true",
            "ORDER BY \(order) DESC LIMIT \(share(of: limit, cells))"
        )
        let columns: Query = "\(PostListRepository.columns), p.score AS rank"
        let found = best(
            of: cells,
            cells.numbers,
            columns,
            "\(order) >= (SELECT value FROM least)",
            // As the index has them; those with the same rank as the last one come too, and are put in order with all the others.
            "ORDER BY \(order) DESC FETCH FIRST \(Self.page(limit)) ROWS WITH TIES"
        )
        // Nothing is above NULL.
        let otherwise: Query = onlyIfCrowded ? "NULL" : "'-infinity'"
        let least: Query = """
            WITH least AS MATERIALIZED (SELECT coalesce((SELECT best.value FROM \(inside) ORDER BY best.value DESC OFFSET \(limit - 1) LIMIT 1),
                \(otherwise)) AS value)
            """
        let all: Query = search.order == .score ? "UNION ALL \(changed(cells, limit: limit))" : ""
        return "\(least) SELECT best.* FROM \(found) \(all)"
    }

    /// Some posts of each of these cells that the reader may see, as `best`.
    private func best(of cells: PostCells, _ numbers: [Int64], _ columns: Query, _ condition: Query, _ order: Query) -> Query {
        let isRanked: Query = search.order == .newest ? "" : "AND p.scored_at <= \(moment)"
        return """
            unnest(\(numbers)) AS c (cell) CROSS JOIN LATERAL (SELECT \(columns) FROM place_post p
            WHERE \(cells.condition) AND p.state = 1 AND NOT p.is_hidden \(isRanked) \(follows("p.score")) AND \(condition) AND \(isListed)
            \(order)) AS best
            """
    }

    // Limits are words of the statement and no values: PostgreSQL would sort whole cells if it did not know how few posts are wanted.

    /// How many posts of each cell inside the area are looked at.
    private func share(of limit: Int, _ cells: PostCells) -> Query {
        switch 4 + 2 * limit / max(1, cells.inside.count) {
        case ...8: "8"
        case ...32: "32"
        case ...128: "128"
        default: "500"
        }
    }

    private static func page(_ limit: Int) -> Query { limit <= 51 ? "51" : limit <= 101 ? "101" : "500" }

    private func changed(_ cells: PostCells, limit: Int) -> Query {
        """
        (SELECT \(PostListRepository.columns), past.score AS rank FROM (
            SELECT DISTINCT ON (s.post_id) s.post_id, s.score FROM place_past_score s
            WHERE s.until > \(moment) AND EXISTS (SELECT FROM unnest(\(cells.ranges.map(\.lowerBound)), \(cells.ranges.map(\.upperBound)))
                AS near (low, high) WHERE s.place_key BETWEEN near.low AND near.high)
            ORDER BY s.post_id, s.until
        ) AS past JOIN place_post p ON p.id = past.post_id
        WHERE p.state = 1 AND NOT p.is_hidden AND p.scored_at > \(moment) \(follows("past.score")) AND \(isListed)
            AND (SELECT value FROM least) IS NOT NULL
        ORDER BY past.score DESC, p.id DESC LIMIT \(Self.page(limit)))
        """
    }

    /// All posts of a source, each with the score that it had when the list was ranked.
    private func whole(_ source: Query, _ condition: Query) -> Query {
        let rank: Query =
            search.order == .newest
            ? "p.score"
            : """
            CASE WHEN p.scored_at <= \(moment) THEN p.score ELSE
                (SELECT s.score FROM place_past_score s WHERE s.post_id = p.id AND s.until > \(moment) ORDER BY s.until LIMIT 1) END
            """
        return """
            SELECT \(PostListRepository.columns), ranked.rank FROM \(source) CROSS JOIN LATERAL (SELECT \(rank) AS rank) AS ranked
            WHERE \(condition) AND ranked.rank IS NOT NULL \(follows("ranked.rank")) AND \(isListed)
            """
    }

    /// Whether `p` is what is searched for, and the reader may see its author. As one expression, of which PostgreSQL expects that half of
    /// the posts pass: it would take the area for nearly empty otherwise, and read and sort whole cells.
    var isListed: Query {
        var conditions: [Query] = []
        if let box = search.box {
            let parts = box.parts.map {
                "p.latitude BETWEEN \($0.south) AND \($0.north) AND p.longitude BETWEEN \($0.west) AND \($0.east)" as Query
            }
            conditions.append("(\(Self.joined(parts, " OR ")))")
        }
        if let cell = search.cell { conditions.append("p.place_key BETWEEN \(cell.lowerBound) AND \(cell.upperBound)") }
        if let circle = search.circle { conditions.append("\(Self.distance(to: circle.center)) <= \(circle.radius)") }
        if let words = Self.words(search) {
            conditions.append("EXISTS (SELECT FROM place_post_text t WHERE t.post_id = p.id AND t.words @@ \(words))")
        }
        if let since = search.since { conditions.append("p.posted_at > \(since)") }
        if !search.isOwn {
            // One by one (`OFFSET 0`): the table grows with every account that is deleted, and must not be read whole.
            if !hasWithheld { conditions.append("NOT \(Self.isWithheld("p.user_id"))") }
            if reader != nil { conditions.append("NOT p.user_id = ANY ((SELECT authors FROM unseen)::uuid[])") }
        }
        guard !conditions.isEmpty else { return "true" }
        return "CASE WHEN \(Self.joined(conditions, " AND ")) THEN true ELSE false END"
    }

    private static func isWithheld(_ author: Query) -> Query {
        "EXISTS (SELECT FROM photo_owner o WHERE o.user_id = \(author) AND o.is_withheld OFFSET 0)"
    }

    /// Whether a post of `page` is one of those.
    var isWithheld: Query { hasWithheld ? Self.isWithheld("page.user_id") : "false" }

    /// Metres from `p` to a point, as `Coordinate.distance` has them.
    private static func distance(to center: Coordinate) -> Query {
        """
        2 * \(Earth.radius) * asin(least(1, sqrt(sin(radians(p.latitude - \(center.latitude)) / 2) ^ 2
            + cos(radians(\(center.latitude))) * cos(radians(p.latitude)) * sin(radians(p.longitude - \(center.longitude)) / 2) ^ 2)))
        """
    }

    /// Whether `p`, ranked by an expression, comes after the place.
    private func follows(_ rank: Query) -> Query {
        guard let place else { return "" }
        return search.order == .score
            ? "AND \(rank) <= \(place.score) AND (\(rank) < \(place.score) OR p.id < \(place.id))"
            : "AND p.posted_at <= \(place.postedAt) AND (p.posted_at < \(place.postedAt) OR p.id < \(place.id))"
    }

    private static func joined(_ conditions: [Query], _ separator: StaticString) -> Query {
        conditions.dropFirst().reduce(conditions.first ?? "true") { "\($0)\(raw: separator)\($1)" }
    }
}
