internal import Database
internal import Kernel
internal import MediaDomain

/// A milestone card and where it stands.
struct StoredCard: Sendable {
    /// What has become of it.
    enum Standing: Sendable {
        /// It is being made; its maker counts as dead from that instant on.
        case beingMade(until: Instant)
        case made
        case toBeRemoved
    }

    let id: MilestoneCardID
    let streak: StreakID
    let milestone: Int32
    let style: CardStyle
    let firstDay: CalendarDate
    let lastDay: CalendarDate
    /// Whom it shows: the two of a mutual streak, the smaller id first; otherwise the one whose card it is.
    let people: [UserID]
    let subject: CardSubject
    /// The circle whose streak it is.
    let circle: CircleID?
    let blobKey: String
    var standing: Standing
    /// Of its public page; nil while there is none.
    var token: String?
}

/// Milestone cards, one row per streak, milestone, style and run; of a circle's streak one for each member who wants one.
struct CardRepository: Sendable {
    let database: Database

    private static let columns: Query = """
        id, streak_id, milestone, style, first_day, last_day, first_user, second_user, blob_key, state, lease_until, token,
        emoji, subject, title, circle_id
        """

    /// Records a card that is still to be made (state 0). - Returns: false when there is a row for it already.
    func claim(_ card: StoredCard, until lease: Instant, now: Instant) async throws -> Bool {
        try await database.execute(
            """
            INSERT INTO milestone_card (id, streak_id, milestone, style, first_day, last_day, first_user, second_user, blob_key, lease_until,
                created_at, emoji, subject, title, circle_id)
            VALUES (\(card.id), \(card.streak), \(card.milestone), \(card.style.rawValue), \(card.firstDay), \(card.lastDay),
                \(card.people[0]), \(card.people.dropFirst().first), \(card.blobKey), \(lease), \(now),
                \(card.subject.emoji), \(card.subject.name), \(card.subject.title), \(card.circle))
            ON CONFLICT DO NOTHING
            """
        ) == 1
    }

    /// The card of the same streak, milestone, style and run, and of the same people.
    func find(like card: StoredCard) async throws -> StoredCard? {
        try await first(
            """
            streak_id = \(card.streak) AND milestone = \(card.milestone) AND style = \(card.style.rawValue)
                AND last_day = \(card.lastDay) AND first_user = \(card.people[0]) AND state <> 2
            """
        )
    }

    func find(_ id: MilestoneCardID) async throws -> StoredCard? { try await first("id = \(id)") }

    /// The card with this public page, unless one of the two may not be seen (PH-6).
    func find(token: String) async throws -> StoredCard? {
        try await first(
            """
            token = \(token) AND state = 1 AND NOT EXISTS
                (SELECT 1 FROM photo_owner WHERE user_id IN (first_user, second_user) AND is_withheld)
            """
        )
    }

    /// Takes over a card whose lease was `seen`. - Returns: false when another request was faster.
    func takeOver(_ id: MilestoneCardID, seen: Instant, until lease: Instant) async throws -> Bool {
        try await database.execute(
            "UPDATE milestone_card SET lease_until = \(lease) WHERE id = \(id) AND state = 0 AND lease_until = \(seen)"
        ) == 1
    }

    /// Lets others make it at once: this maker has failed.
    func releaseLease(_ id: MilestoneCardID, now: Instant) async throws {
        _ = try await database.execute("UPDATE milestone_card SET lease_until = \(now) WHERE id = \(id) AND state = 0")
    }

    /// The picture lies in the blob store (state 1). - Returns: false when another maker was faster, or it is not wanted any more.
    func finish(_ id: MilestoneCardID, now: Instant) async throws -> Bool {
        try await database.execute("UPDATE milestone_card SET state = 1, lease_until = \(now) WHERE id = \(id) AND state = 0")
            == 1
    }

    /// Gives the card its page, if it has none; takes back that this person has withdrawn it. - Returns: its token; nil while the other one
    /// withdraws it.
    ///
    /// - Parameter takesBack: false: a page that this person has withdrawn stays so.
    func reopen(_ id: MilestoneCardID, for user: UserID, takesBack: Bool = true, token: String) async throws -> String? {
        let withdrawn: Query = takesBack ? "array_remove(withdrawn_by, \(user))" : "withdrawn_by"
        return try await database.query(
            """
            UPDATE milestone_card SET withdrawn_by = \(withdrawn),
                token = CASE WHEN \(withdrawn) = '{}' THEN coalesce(token, \(token)) END
            WHERE id = \(id) AND state = 1 RETURNING token
            """
        ).first?.decode(as: String?.self)
    }

    /// Withdraws the page. - Returns: false when the user has no such card.
    static func withdraw(_ id: MilestoneCardID, by user: UserID, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            UPDATE milestone_card SET token = NULL, withdrawn_by = array_append(array_remove(withdrawn_by, \(user)), \(user))
            WHERE id = \(id) AND state = 1 AND \(user) IN (first_user, second_user)
            """
        ) == 1
    }

    /// Notes a share. - Returns: the streak that the card is about; nil when the user has no such card.
    static func share(_ id: MilestoneCardID, by user: UserID, on platform: String, at now: Instant, _ sql: Transaction)
        async throws
        -> StreakID?
    {
        try await sql.query(
            """
            WITH card AS (SELECT id, streak_id FROM milestone_card
                    WHERE id = \(id) AND state = 1 AND \(user) IN (first_user, second_user)),
                noted AS (INSERT INTO milestone_share (card_id, user_id, platform, shared_at)
                    SELECT id, \(user), \(platform), \(now) FROM card
                    ON CONFLICT (card_id, user_id, platform) DO UPDATE SET shared_at = excluded.shared_at)
            SELECT streak_id FROM card
            """
        ).first?.decode(as: StreakID.self)
    }

    /// A block withdraws every card of the two, for both: an unblock restores nothing (SO-7).
    static func withdraw(between one: UserID, and other: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE milestone_card SET token = NULL, withdrawn_by = ARRAY[first_user, second_user]
            WHERE (first_user = \(one) AND second_user = \(other)) OR (first_user = \(other) AND second_user = \(one))
            """
        )
    }

    /// A circle is another: who is not in it any more has no page about its streak.
    ///
    /// - Parameter members: present ones.
    static func withdraw(ofCircle circle: CircleID, exceptOf members: [UserID], _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE milestone_card SET token = NULL, withdrawn_by = ARRAY[first_user]
            WHERE circle_id = \(circle) AND NOT first_user = ANY(\(members)) AND token IS NOT NULL
            """
        )
    }

    /// Cards to be removed: those of purged users, and those that were not finished within an hour.
    func removable(now: Instant, limit: Int) async throws -> [StoredCard] {
        _ = try await database.execute("UPDATE milestone_card SET state = 2 WHERE state = 0 AND lease_until < \(now - .hours(1))")
        // A maker that still runs deletes what it has written, when it finds the row gone from its state; one that dies leaves it here.
        return try await select("state = 2 AND lease_until <= \(now) ORDER BY lease_until LIMIT \(limit)")
    }

    func delete(_ id: MilestoneCardID) async throws {
        _ = try await database.execute("DELETE FROM milestone_card WHERE id = \(id) AND state = 2")
    }

    private func first(_ condition: Query) async throws -> StoredCard? { try await select("\(condition) LIMIT 1").first }

    private func select(_ condition: Query) async throws -> [StoredCard] {
        try await database.query("SELECT \(Self.columns) FROM milestone_card WHERE \(condition)").map(Self.card)
    }

    private static func card(_ row: Row) throws -> StoredCard {
        let standing: StoredCard.Standing
        switch try row.get("state", as: Int32.self) {
        case 0: standing = .beingMade(until: try row.get("lease_until"))
        case 1: standing = .made
        default: standing = .toBeRemoved
        }
        let circle: CircleID? = try row.get("circle_id")
        return StoredCard(
            id: try row.get("id"),
            streak: try row.get("streak_id"),
            milestone: try row.get("milestone"),
            style: CardStyle(rawValue: try row.get("style")) ?? .orange,
            firstDay: try row.get("first_day"),
            lastDay: try row.get("last_day"),
            people: try [row.get("first_user", as: UserID.self)] + [row.get("second_user", as: UserID?.self)].compactMap(\.self),
            subject: CardSubject(
                emoji: try row.get("emoji"),
                name: try row.get("subject"),
                title: try row.get("title"),
                isTeam: circle != nil
            ),
            circle: circle,
            blobKey: try row.get("blob_key"),
            standing: standing,
            token: try row.get("token")
        )
    }
}
