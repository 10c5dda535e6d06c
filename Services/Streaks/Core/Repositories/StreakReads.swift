internal import AuthAPI
package import CommonAPI
package import Database
package import Kernel
package import Replicas
package import StreaksDomain

/// A streak of two as one of its members sees it: everything a list shows, from one statement.
package struct SeenStreak: Sendable {
    package let row: StreakRow
    /// The other member.
    package let partnerID: UserID
    /// The newest date that each member has contributed for, in the order of `row.members`.
    fileprivate let newestDates: [CalendarDate?]
    /// The reader's date by their own clock, and the partner's by theirs.
    package let yourDate: CalendarDate
    package let partnerDate: CalendarDate
    /// The newest dates that the two clocks have shown: the earliest that is not over for each (SD-4).
    package let yourNewest: CalendarDate
    package let partnerNewest: CalendarDate
    /// nil when it was not asked for, or the profile replica does not have the partner yet.
    package let partner: UserSummary?

    /// The newest date that a member has contributed for.
    package func newestDate(of user: UserID) -> CalendarDate? {
        row.members.firstIndex(of: user).flatMap { newestDates[$0] }
    }

    /// The earliest date that is not over for the streak (SD-4, PH-4).
    package var openFrom: CalendarDate { min(yourNewest, partnerNewest) }
}

/// Which streaks are read.
package enum StreakSelection: Sendable {
    case one(StreakID)
    /// All that run, oldest first.
    case running
    /// The one with each of these friends, or with every friend when none is named, that has not ended: a start ends what was before.
    case unended(with: [UserID])
}

/// What lists and details of streaks of two read, without locks.
package struct StreakReads: Sendable {
    package let store: StreakStore
    private let kind: StreakKind
    private let avatars: AvatarLinks
    private var database: Database { store.database }

    /// Reads the streaks of one kind, which has two members.
    package init(_ kind: StreakKind, store: StreakStore, avatars: AvatarLinks) {
        (self.kind, self.store, self.avatars) = (kind, store, avatars)
    }

    /// The streaks of a user, in one statement.
    ///
    /// - Parameter withHidden: also those with a partner whom a block hides (SO-7).
    package func seen(
        _ selection: StreakSelection,
        by user: UserID,
        withPartners: Bool,
        withHidden: Bool = false,
        now: Instant
    ) async throws -> [SeenStreak] {
        let profile: Query =
            withPartners
            ? """
            , p.username, p.display_name, p.avatar_key FROM mine
            LEFT JOIN (SELECT user_id AS known, CASE WHEN status = \(AccountStatus.active.rawValue) THEN username ELSE '' END AS username,
                display_name, avatar_key FROM profile_replica) AS p ON p.known = mine.partner
            """ : " FROM mine"
        let rows = try await database.lookup(
            """
            WITH mine AS (SELECT s.*, members[CASE WHEN members[1] = \(user) THEN 2 ELSE 1 END] AS partner
                FROM (\(chosen(selection, user))) AS s)
            SELECT \(StreakRow.columns), partner, \(Self.zone("\(user)", now)),
                \(Self.zone("mine.partner", now)), newest_dates\(profile)
            WHERE \(withHidden ? "true" : BlockReplica.isShown("mine.partner", to: user))
            ORDER BY mine.started_at, mine.id
            """
        )
        let first = StreakRow.columnCount
        var clocks = try await clocks(at: now, of: rows, user)
        return try rows.map { row in
            let partner: UserID = try row.get(at: first)
            let (yours, theirs) = (
                clocks.reading(of: user, inZone: try row.get(at: first + 1)),
                clocks.reading(of: partner, inZone: try row.get(at: first + 2))
            )
            return SeenStreak(
                row: try StreakRow(row),
                partnerID: partner,
                newestDates: try row.get(at: first + 3),
                yourDate: yours.date,
                partnerDate: theirs.date,
                yourNewest: yours.newest,
                partnerNewest: theirs.newest,
                partner: withPartners ? try summary(of: partner, row, at: first + 4) : nil
            )
        }
    }

    /// What both dates follow from: a second statement only for users whose zone is not in the first.
    private func clocks(at now: Instant, of rows: [Row], _ user: UserID) async throws -> Clocks {
        let first = StreakRow.columnCount
        var missing: Set<UserID> = []
        for row in rows {
            if try row.get(at: first + 1, as: String?.self) == nil { missing.insert(user) }
            if try row.get(at: first + 2, as: String?.self) == nil { missing.insert(try row.get(at: first)) }
        }
        return Clocks(now: now, others: missing.isEmpty ? [:] : try await ZoneRepository.histories(of: Array(missing), database))
    }

    /// What a clock shows at an instant, and the newest date it has shown by then.
    private struct Reading {
        let date: CalendarDate
        let newest: CalendarDate

        init(_ clock: ZoneHistory, at now: Instant) { (date, newest) = (clock.date(at: now), clock.openFrom(at: now)) }
    }

    /// The clocks of the readers and partners at an instant.
    private struct Clocks {
        private let now: Instant
        private let others: [UserID: Reading]
        private var known: [String: Reading] = [:]

        /// - Parameter others: Those whose zone alone does not say it.
        init(now: Instant, others: [UserID: ZoneHistory]) {
            (self.now, self.others) = (now, others.mapValues { Reading($0, at: now) })
        }

        mutating func reading(of person: UserID, inZone name: String?) -> Reading {
            guard let name else { return others[person] ?? Reading(ZoneHistory(.utc), at: now) }
            if let reading = known[name] { return reading }
            let reading = Reading(ZoneHistory(Zone(name) ?? .utc), at: now)
            known[name] = reading
            return reading
        }
    }

    private func chosen(_ selection: StreakSelection, _ user: UserID) -> Query {
        switch selection {
        case .one(let id):
            return MemberRepository.rows(of: user, only: id, "kind = \(kind.rawValue)")
        case .running:
            return ofMember(user, [.active], "true")
        case .unended(let friends):
            let others = friends.filter { $0 != user }
            return ofMember(user, [.active, .broken], friends.isEmpty ? "true" : "members && \(others)")
        }
    }

    private func ofMember(_ user: UserID, _ statuses: [StreakState.Status], _ condition: Query) -> Query {
        MemberRepository.rows(
            of: user,
            "kind = \(kind.rawValue) AND status = ANY(\(statuses.map(\.stored))) AND \(condition)"
        )
    }

    /// The zone a clock follows now, when it alone decides the dates. Null when it was changed so lately that the one before may have shown
    /// a newer date (two days are more than any two zones differ), and when the first known zone is later than the instant, which may be
    /// one before the registration.
    private static func zone(_ person: Query, _ now: Instant) -> Query {
        """
        (SELECT CASE WHEN z.since <= \(now - .days(2)) OR NOT EXISTS
            (SELECT FROM zone_change e WHERE e.user_id = z.user_id AND e.since < z.since) THEN z.zone END
         FROM zone_change z WHERE z.user_id = \(person) AND z.since <= \(now) ORDER BY z.since DESC LIMIT 1)
        """
    }

    private func summary(of user: UserID, _ row: Row, at column: Int) throws -> UserSummary? {
        guard let username = try row.get(at: column, as: String?.self) else { return nil }
        // The names of a user who may not be seen are not shown.
        guard !username.isEmpty else { return .unavailable(user) }
        return UserSummary(
            userID: user,
            username: username,
            displayName: try row.get(at: column + 1),
            avatarURL: avatars.url(try row.get(at: column + 2))
        )
    }

    /// A condition on `streak`: the one of this id, if `user` is a member and no block hides another member (SO-7).
    private func isSeen(_ id: StreakID, by user: UserID) -> Query {
        """
        id = \(id) AND kind = \(kind.rawValue) AND members @> ARRAY[\(user)::uuid] AND NOT EXISTS (
            SELECT FROM unnest(members) AS other WHERE other <> \(user) AND NOT \(BlockReplica.isShown("other", to: user)))
        """
    }

    /// The status of a streak that `user` may see; nil when they are no member, or a block hides the partner (SO-7).
    package func status(of id: StreakID, seenBy user: UserID, _ sql: some QueryExecutor) async throws -> StreakState.Status? {
        try await status(isSeen(id, by: user), sql)
    }

    /// The same in a transaction that keeps the streak from being deleted meanwhile.
    package func lockStatus(of id: StreakID, seenBy user: UserID, _ sql: Transaction) async throws -> StreakState.Status? {
        try await status("\(isSeen(id, by: user)) FOR SHARE", sql)
    }

    private func status(_ condition: Query, _ sql: some QueryExecutor) async throws -> StreakState.Status? {
        try await sql.lookup("SELECT status FROM streak WHERE \(condition)").first.map {
            try StreakState.Status(stored: try $0.decode(as: Int32.self))
        }
    }

    /// A streak that `user` may see, with its whole ledger; nil as for `status`.
    package func whole(_ id: StreakID, seenBy user: UserID) async throws -> StoredStreak? {
        let rows = try await database.lookup("SELECT \(StreakRow.columns) FROM streak WHERE \(isSeen(id, by: user))")
        return try await store.load(try rows.map(StreakRow.init), isWhole: true, database).first
    }
}
