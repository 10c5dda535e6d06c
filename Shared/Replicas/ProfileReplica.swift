public import AuthAPI
public import Bus
public import CommonAPI
public import Database
public import Kernel
public import Outbox
public import ServiceRuntime

/// All users' profile summaries in a service's own schema: fed by events, complete from a snapshot, and asked for on a miss (D13).
public struct ProfileReplica: Sendable {
    private let database: Database
    private let auth: ProfilesClient
    private let avatars: AvatarLinks
    private let stored: @Sendable (ProfileState, Transaction) async throws -> Void

    /// - Parameters:
    ///   - database: the service's own; `migrations` made its table.
    ///   - bus: to ask `auth` for a user who is not known yet.
    ///   - avatars: makes the links to avatars.
    ///   - stored: runs in the transaction that stores a state newer than what was known, however it came here.
    public init(
        database: Database,
        bus: any Caller,
        avatars: AvatarLinks = AvatarLinks(),
        stored: @escaping @Sendable (ProfileState, Transaction) async throws -> Void = { _, _ in }
    ) {
        self.database = database
        self.auth = ProfilesClient(bus)
        self.avatars = avatars
        self.stored = stored
    }

    /// The replica's table, for the service's list of migrations.
    public static let migrations: [Migration] = [
        Migration(version: 1, name: "profile_replica", sql: PackageResources.profile_V0001_sql),
        Migration(version: 2, name: "profile_snapshot", sql: PackageResources.profile_V0002_sql),
        Migration(version: 3, name: "profile_terms", sql: PackageResources.profile_V0003_sql),
        Migration(version: 4, name: "profile_window", sql: PackageResources.profile_V0004_sql),
    ]

    /// Takes up every change of a profile. An older version never overwrites a newer one.
    ///
    /// - Parameter changed: runs in the same transaction when the change was newer than what was known.
    public func handler(
        changed: @escaping @Sendable (Profile, UnitOfWork) async throws -> Void = { _, _ in }
    ) -> EventHandler {
        EventHandler(ProfileChanged.self) { event, work in
            guard let state = event.profile else { return }
            for news in try await store([state], work.sql) {
                try await changed(Profile(news, avatars), work)
            }
        }
    }

    /// The profiles of these people; those that do not exist are absent. One query, and one question to `auth` for those unknown here.
    public func profiles(_ ids: some Sequence<UserID>, context: CallContext) async throws -> [UserID: Profile] {
        let wanted = Array(Set(ids))
        guard !wanted.isEmpty else { return [:] }
        var found: [UserID: Profile] = [:]
        for profile in try await select("user_id = ANY(\(wanted))") { found[profile.userID] = profile }
        let missing = wanted.filter { found[$0] == nil }
        for batch in missing.chunks(of: 200) {
            let reply = try await auth.getSummaries(GetSummariesRequest(userIDs: Array(batch)), context: context)
            for profile in try await take(reply) { found[profile.userID] = profile }
        }
        return found
    }

    /// Profiles known here, inside an event handler's transaction: `auth` is not asked.
    ///
    /// - Throws: `ServiceError` `UNAVAILABLE` when one of them is not known yet; the event is tried again a moment later.
    public func known(_ ids: some Sequence<UserID>, _ sql: Transaction) async throws -> [UserID: Profile] {
        let wanted = Set(ids)
        let found = try await knownHere(wanted, sql)
        guard found.count == wanted.count else { throw ServiceError.unavailable("A profile is not known yet.") }
        return found
    }

    /// Profiles known here, inside an event handler's transaction, from one statement: those that are not are absent. For a batch of events,
    /// of which only those that need them must wait.
    public func knownHere(_ ids: Set<UserID>, _ sql: Transaction) async throws -> [UserID: Profile] {
        guard !ids.isEmpty else { return [:] }
        let profiles = try await sql.lookup(Self.selection("user_id = ANY(\(Array(ids)))")).map(read)
        return Dictionary(profiles.map { ($0.userID, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// One person; nil when there is no such account.
    public func profile(_ id: UserID, context: CallContext) async throws -> Profile? {
        try await profiles([id], context: context)[id]
    }

    /// Runs `body`; once more when it fails because no event about this person has come here yet, after `auth` has been asked for them.
    ///
    /// - Parameter unknown: what `body` throws then.
    /// - Throws: what `body` throws, `unknown` too when there is no such account.
    public func knowing<Result>(
        _ id: UserID,
        or unknown: ServiceError,
        context: CallContext,
        _ body: () async throws -> Result
    ) async throws -> Result {
        do { return try await body() } catch let error as ServiceError where error == unknown {
            _ = try await profile(id, context: context)
            return try await body()
        }
    }

    /// Whether this person has accepted terms of service (AU-9). A yes is believed as it is known here; before a no, `auth` is asked,
    /// because its event may be on its way.
    public func hasAcceptedTerms(_ id: UserID, context: CallContext) async throws -> Bool {
        if try await select("user_id = \(id)").first?.termsVersion.isEmpty == false { return true }
        let reply = try await auth.getSummaries(GetSummariesRequest(userIDs: [id]), context: context)
        return try await take(reply).contains { $0.userID == id && !$0.termsVersion.isEmpty }
    }

    /// The person with this username; nil when there is none.
    public func profile(username: String, context: CallContext) async throws -> Profile? {
        // Old names linger here for a moment after a change, so the newest holder counts.
        if let known = try await select("username = \(username) ORDER BY version DESC LIMIT 1").first { return known }
        let reply = try await auth.getSummaries(GetSummariesRequest(usernames: [username]), context: context)
        return try await take(reply).first
    }

    /// Fetches every profile from `auth`; for a service that is new or has lost its schema. Safe to repeat.
    ///
    /// - Returns: how many were read.
    public func loadSnapshot(context: CallContext) async throws -> Int {
        var after: UserID?
        var total = 0
        while true {
            let page = try await auth.listProfileSnapshots(
                ListProfileSnapshotsRequest(after: after, limit: 500),
                context: context
            )
            _ = try await database.transaction { try await store(page.profiles, $0) }
            total += page.profiles.count
            guard let last = page.profiles.last else { return total }
            after = last.userID
        }
    }

    /// Loads the snapshot unless it was loaded before; for a job of a service that must know every user, not only those in the stream.
    public func loadSnapshotOnce(context: CallContext) async throws {
        guard try await database.query("SELECT 1 FROM profile_snapshot").isEmpty else { return }
        _ = try await loadSnapshot(context: context)
        try await database.execute("INSERT INTO profile_snapshot (loaded_at) VALUES (clock_timestamp()) ON CONFLICT DO NOTHING")
    }

    /// Fetches the profiles of before the first event, once for each schema.
    public var snapshotJob: Job {
        Job("profile_snapshot", every: .seconds(60)) { _ in
            try await loadSnapshotOnce(context: .expiring(in: .minutes(10)))
            return 0
        }
    }

    private func take(_ reply: GetSummariesReply) async throws -> [Profile] {
        guard !reply.profiles.isEmpty else { return [] }
        _ = try await database.transaction { try await store(reply.profiles, $0) }
        return reply.profiles.map { Profile($0, avatars) }
    }

    private func select(_ condition: Query) async throws -> [Profile] {
        try await database.lookup(Self.selection(condition)).map(read)
    }

    private static func selection(_ condition: Query) -> Query {
        """
        SELECT user_id, username, display_name, avatar_key, time_zone, time_zone_since, status, terms_version, window_start_hour
        FROM profile_replica WHERE \(condition)
        """
    }

    private func read(_ row: Row) throws -> Profile {
        let (id, username, displayName, avatarKey, zone, since, status, terms, hour) = try row.decode(
            as: (
                UserID.self, String.self, String.self, String.self, String.self, Instant.self, Int32.self, String.self, Int32.self
            )
        )
        return Profile(
            userID: id,
            username: username,
            displayName: displayName,
            avatarKey: avatarKey,
            avatarURL: avatars.url(avatarKey),
            zone: Zone(zone) ?? .utc,
            zoneSince: since,
            status: AccountStatus(rawValue: status),
            termsVersion: terms,
            windowStartHour: Int(hour)
        )
    }

    /// Joins what is known of the users of other rows, for a statement of the service that shows many.
    ///
    /// - Parameter user: an expression with a row's user.
    public static func join(_ user: Query) -> Query { "LEFT JOIN profile_replica joined ON joined.user_id = \(user)" }

    /// Columns of what is joined, for `JoinedProfile.init`.
    public static let joinedColumns: Query = "joined.username, joined.display_name, joined.avatar_key, joined.status"

    /// What every user may know of one who was joined.
    public func summary(_ profile: JoinedProfile, of user: UserID) -> UserSummary {
        .known(
            user,
            profile.status,
            username: profile.username,
            displayName: profile.displayName,
            avatarURL: avatars.url(profile.avatarKey)
        )
    }

    /// Stores what is newer than what is known. All by one statement in the order of ids: it takes all its locks, those of a service's
    /// triggers too, in one order, so that two of these never wait for each other in a ring.
    ///
    /// - Returns: the states that were newer, in the order of ids.
    private func store(_ states: [ProfileState], _ sql: Transaction) async throws -> [ProfileState] {
        var newest: [UserID: ProfileState] = [:]
        for state in states {
            if let other = newest[state.userID], other.version >= state.version { continue }
            newest[state.userID] = state
        }
        let sorted = newest.sorted { $0.key < $1.key }
        guard !sorted.isEmpty else { return [] }
        let rows = try await sql.query(Self.storing(sorted.map(\.key), sorted.map(\.value)))
        let stored = Set(try rows.map { try $0.decode(as: UserID.self) })
        let news = sorted.filter { stored.contains($0.key) }.map(\.value)
        for state in news { try await self.stored(state, sql) }
        return news
    }

    private static func storing(_ ids: [UserID], _ states: [ProfileState]) -> Query {
        """
        INSERT INTO profile_replica AS known
            (user_id, version, username, display_name, avatar_key, time_zone, time_zone_since, status, terms_version,
             window_start_hour)
        SELECT * FROM unnest(\(ids), \(states.map(\.version)), \(states.map(\.username)), \(states.map(\.displayName)),
            \(states.map(\.avatarKey)), \(states.map(\.timeZone)), \(states.map { $0.timeZoneSince ?? .epoch }),
            \(states.map(\.status.rawValue)), \(states.map(\.termsVersion)),
            \(states.map { $0.windowStartHour ?? Profile.defaultWindowStartHour })) AS given (user_id)
        ORDER BY given.user_id
        ON CONFLICT (user_id) DO UPDATE SET version = EXCLUDED.version, username = EXCLUDED.username,
            display_name = EXCLUDED.display_name, avatar_key = EXCLUDED.avatar_key, time_zone = EXCLUDED.time_zone,
            time_zone_since = EXCLUDED.time_zone_since, status = EXCLUDED.status,
            terms_version = EXCLUDED.terms_version, window_start_hour = EXCLUDED.window_start_hour
        WHERE known.version < EXCLUDED.version
        RETURNING user_id
        """
    }
}

/// What is shown of a user, as a statement has joined it to another row.
public struct JoinedProfile: Sendable {
    fileprivate let username: String
    fileprivate let displayName: String
    fileprivate let avatarKey: String
    fileprivate let status: AccountStatus

    /// From a row; nil when the user is not known here.
    ///
    /// - Parameter place: of the first of `ProfileReplica.joinedColumns`.
    /// - Throws: `DatabaseError`.
    public init?(_ row: Row, at place: Int) throws {
        guard let username = try row.get(at: place, as: String?.self) else { return nil }
        self.username = username
        displayName = try row.get(at: place + 1)
        avatarKey = try row.get(at: place + 2)
        status = AccountStatus(rawValue: try row.get(at: place + 3, as: Int32.self))
    }
}

extension Profile {
    init(_ state: ProfileState, _ avatars: AvatarLinks) {
        self.init(
            userID: state.userID,
            username: state.username,
            displayName: state.displayName,
            avatarKey: state.avatarKey,
            avatarURL: avatars.url(state.avatarKey),
            zone: Zone(state.timeZone) ?? .utc,
            zoneSince: state.timeZoneSince ?? .epoch,
            status: state.status,
            termsVersion: state.termsVersion,
            windowStartHour: Int(state.windowStartHour ?? Self.defaultWindowStartHour)
        )
    }
}

extension Array {
    /// The elements in runs of at most `size`.
    func chunks(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
