internal import AuthAPI
internal import Database
internal import Kernel
internal import Replicas
internal import SocialAPI
internal import SocialDomain

/// The search index (SO-5): every user with an active account, by the texts that find them.
struct SearchRepository: Sendable {
    let database: Database
    let avatars: AvatarLinks

    /// Indexes a profile that is newer than what was known, in the transaction that stores it.
    static func store(_ state: ProfileState, _ sql: Transaction) async throws {
        let id = state.userID
        let new = state.status == .active ? [state.username, state.displayName, state.verifiedEmail] : nil
        let row = try await sql.query("SELECT username, display_name, email FROM search_person WHERE user_id = \(id)").first
        let old = try row?.decode(as: (String.self, String.self, String.self))
        // Most changes of a profile are of its zone or plan.
        if let old, let new, [old.0, old.1, old.2] == new { return }
        if let old {
            try await sql.execute(
                """
                DELETE FROM search_term t USING search_terms(\(old.0), \(old.1), \(old.2)) AS gone
                WHERE t.kind = gone.kind AND t.term = gone.term AND t.user_id = \(id)
                """
            )
            try await sql.execute("DELETE FROM search_person WHERE user_id = \(id)")
        }
        guard let new else { return }
        try await sql.execute(
            """
            INSERT INTO search_person (user_id, username, display_name, email) VALUES (\(id), \(new[0]), \(new[1]), \(new[2]))
            """
        )
        try await sql.execute(
            "INSERT INTO search_term (kind, term, user_id) SELECT kind, term, \(id) FROM search_terms(\(new[0]), \(new[1]), \(new[2]))"
        )
    }

    /// Users whom `user` may find, best first: this very username, names that begin with it, this very e-mail address, names that contain it.
    /// Of an address no part finds a user: it could be guessed letter by letter.
    ///
    /// Each part reads the index in order and stops when it has enough, so the work is bounded by the limit and by the users who block
    /// or are blocked, never by how many match. The candidates are more than the limit because a user may be found by several names.
    func search(_ search: SearchText, by user: UserID, limit: Int) async throws -> [FoundUser] {
        try await database.query(Self.query(search, by: user, limit: limit)).map { row in
            let (id, username, name, state, friendship, requester, avatar) = try row.decode(
                as: (UserID.self, String.self, String.self, Int32?.self, FriendshipID?.self, UserID?.self, String?.self)
            )
            return FoundUser(
                user: .init(userID: id, username: username, displayName: name, avatarURL: avatars.url(avatar ?? "")),
                friendshipStatus: state.map { FriendshipStatus(rawValue: $0) },
                friendshipID: friendship,
                direction: state == Friendship.State.pending.rawValue ? (requester == user ? .outgoing : .incoming) : nil
            )
        }
    }

    /// The statement of `search`.
    static func query(_ search: SearchText, by user: UserID, limit: Int) -> Query {
        let candidates = limit * 4
        let inside: Query =
            search.findsInside
            ? """
            UNION ALL \(part(rank: 3, kind: 2, search, by: user, candidates))
            """ : ""
        return """
            SELECT p.user_id, p.username, p.display_name, f.state, f.id, f.requester, known.avatar_key
            FROM (
                SELECT user_id, min(rank) AS rank, min(term) AS term FROM (
                    (SELECT 0 AS rank, username COLLATE "C" AS term, user_id FROM search_person t
                     WHERE username COLLATE "C" = lower(\(search.text)) AND \(mayBeSeen(by: user)) LIMIT 1)
                    UNION ALL \(part(rank: 1, kind: 1, search, by: user, candidates))
                    UNION ALL (SELECT 2 AS rank, term, user_id FROM search_term t
                        WHERE kind = 3 AND term = lower(\(search.text)) AND \(mayBeSeen(by: user)) LIMIT 1)
                    \(inside)
                ) AS hit GROUP BY user_id ORDER BY rank, term, user_id LIMIT \(limit)
            ) AS best
            JOIN search_person p ON p.user_id = best.user_id
            LEFT JOIN profile_replica known ON known.user_id = best.user_id
            LEFT JOIN friendship f ON f.user_low = least(p.user_id, \(user)) AND f.user_high = greatest(p.user_id, \(user))
                AND f.state IN (1, 2)
            ORDER BY best.rank, best.term, best.user_id
            """
    }

    /// The first entries of one kind that begin with the text.
    private static func part(rank: Int32, kind: Int32, _ search: SearchText, by user: UserID, _ limit: Int) -> Query {
        """
        (SELECT \(rank)::int AS rank, term, user_id FROM search_term t
         WHERE kind = \(kind) AND term >= search_key(\(search.text)) AND term < search_key(\(search.text)) || chr(1114111)
            AND \(mayBeSeen(by: user))
         ORDER BY kind, term, user_id LIMIT \(limit))
        """
    }

    /// Not the user who searches, and not blocked either way (SO-7).
    private static func mayBeSeen(by user: UserID) -> Query {
        """
        t.user_id <> \(user) AND NOT EXISTS (SELECT FROM block WHERE blocker = \(user) AND blocked = t.user_id AND active)
            AND NOT EXISTS (SELECT FROM block WHERE blocker = t.user_id AND blocked = \(user) AND active)
        """
    }
}
