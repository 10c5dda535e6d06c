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

    /// When the list was ranked.
    private var moment: Query {
        place.map { "greatest(\($0.rankedAt), statement_timestamp() - interval '50 minutes')" } ?? "statement_timestamp()"
    }

    /// Authors whom the reader blocks or is blocked by, read once for the whole statement.
    var unseenAuthors: Query {
        guard let reader else { return "" }
        return """
            WITH unseen AS MATERIALIZED (SELECT ARRAY(SELECT blocked FROM block_replica WHERE active AND blocker = \(reader)
                UNION ALL SELECT blocker FROM block_replica WHERE active AND blocked = \(reader)) AS authors)
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

    /// The best posts of cells, or the newest: PostgreSQL reads each cell's by its index and merges them, as far as the page needs. With
    /// them the posts whose score has changed since the list was ranked.
    func inCells(_ cells: PostCells) -> Query {
        let isRanked: Query = search.order == .newest ? "" : "AND p.scored_at <= \(moment)"
        let order: Query = search.order == .newest ? "p.posted_at" : "p.score"
        var parts: [Query] = cells.conditions.map {
            """
            (SELECT \(PostListRepository.columns), p.score AS rank FROM place_post p
            WHERE \($0) AND p.state = 1 AND NOT p.is_hidden \(isRanked) \(follows("p.score")) AND \(isListed)
            ORDER BY \(order) DESC, p.id DESC LIMIT 101)
            """
        }
        if search.order == .score { parts.append(changed(cells)) }
        return parts.dropFirst().reduce(parts[0]) { "\($0) UNION ALL \($1)" }
    }

    private func changed(_ cells: PostCells) -> Query {
        let near = cells.ranges.map { "s.place_key BETWEEN \($0.lowerBound) AND \($0.upperBound)" as Query }
        return """
            (SELECT \(PostListRepository.columns), past.score AS rank FROM (
                SELECT DISTINCT ON (s.post_id) s.post_id, s.score FROM place_past_score s
                WHERE s.until > \(moment) AND (\(Self.joined(near, " OR "))) ORDER BY s.post_id, s.until
            ) AS past JOIN place_post p ON p.id = past.post_id
            WHERE p.state = 1 AND NOT p.is_hidden AND p.scored_at > \(moment) \(follows("past.score")) AND \(isListed)
            ORDER BY past.score DESC, p.id DESC LIMIT 101)
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
            conditions.append("NOT EXISTS (SELECT FROM photo_owner o WHERE o.user_id = p.user_id AND o.is_withheld)")
            if reader != nil { conditions.append("NOT p.user_id = ANY ((SELECT authors FROM unseen)::uuid[])") }
        }
        guard !conditions.isEmpty else { return "true" }
        return "CASE WHEN \(Self.joined(conditions, " AND ")) THEN true ELSE false END"
    }

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
