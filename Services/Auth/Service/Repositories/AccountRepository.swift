internal import AuthAPI
internal import AuthDomain
internal import Database
internal import Kernel
internal import Replicas

/// An account as its row stands.
struct Account: Sendable, Equatable {
    let id: UserID
    let email: String
    let passwordHash: String?
    var username: String
    var displayName: String
    let avatarKey: String
    var timeZone: String
    var timeZoneSince: Instant
    /// Local hour at which the snap window opens, 0…23 (PW-2).
    var windowStartHour: Int32 = 10
    var isAdmin: Bool
    let status: AccountStatus
    var termsVersion: String?
    var termsAcceptedAt: Instant?
    var emailVerifiedAt: Instant?
    var usernameChangedAt: Instant?
    let version: Int64
    let createdAt: Instant
    let updatedAt: Instant

    /// The state other services keep (D13): of a deleted account no name, which others may have by now (AU-7).
    var profileState: ProfileState {
        let isShown = status != .deleted
        return ProfileState(
            userID: id.description,
            version: version,
            username: isShown ? username : "",
            displayName: isShown ? displayName : "",
            avatarKey: isShown ? avatarKey : "",
            timeZone: timeZone,
            status: status,
            timeZoneSince: timeZoneSince,
            verifiedEmail: emailVerifiedAt == nil || !isShown ? "" : AccountRepository.key(ofEmail: email),
            termsVersion: termsVersion ?? "",
            windowStartHour: windowStartHour
        )
    }
}

/// Accounts and the facts other services tell about them.
struct AccountRepository: Sendable {
    let database: Database
    var avatars = AvatarLinks()

    static let columns: Query = """
        id, email, password_hash, username, display_name, avatar_key, time_zone, time_zone_since, is_admin, status, terms_version,
        terms_accepted_at, email_verified_at, username_changed_at, version, created_at, updated_at, window_start_hour
        """

    /// E-mails are compared without regard to case (AU-1).
    static func key(ofEmail email: String) -> String { email.lowercased() }

    func insert(_ account: Account, _ sql: Transaction) async throws {
        // Apple may keep the e-mail to itself; then the id stands for it: nobody can type it as an e-mail.
        let key = account.email.isEmpty ? account.id.description : Self.key(ofEmail: account.email)
        _ = try await sql.execute(
            """
            INSERT INTO account (id, email, email_key, password_hash, username, display_name, time_zone, time_zone_since,
                email_verified_at, created_at, updated_at)
            VALUES (\(account.id), \(account.email), \(key), \(account.passwordHash), \(account.username), \(account.displayName),
                \(account.timeZone), \(account.timeZoneSince), \(account.emailVerifiedAt), \(account.createdAt), \(account.updatedAt))
            """
        )
    }

    /// Writes what users change themselves, as the next version.
    ///
    /// - Returns: the account as it is now; the caller holds its lock.
    func update(_ account: Account, now: Instant, _ sql: Transaction) async throws -> Account? {
        try await sql.query(
            """
            UPDATE account SET username = \(account.username), username_changed_at = \(account.usernameChangedAt),
                display_name = \(account.displayName), time_zone = \(account.timeZone), time_zone_since = \(account.timeZoneSince),
                email_verified_at = \(account.emailVerifiedAt), terms_version = \(account.termsVersion),
                terms_accepted_at = \(account.termsAcceptedAt), is_admin = \(account.isAdmin),
                window_start_hour = \(account.windowStartHour), version = version + 1, updated_at = \(now)
            WHERE id = \(account.id)
            RETURNING \(Self.columns)
            """
        ).first.map(Self.account)
    }

    /// An account, kept as it is until the transaction ends: it can be signed in to meanwhile, but not be suspended or demoted, so that
    /// whoever ends its sessions does not miss one that begins at this moment.
    func hold(_ id: UserID, _ sql: Transaction) async throws -> Account? {
        try await sql.query("SELECT \(Self.columns) FROM account WHERE id = \(id) FOR SHARE").first.map(Self.account)
    }

    /// An account that is about to be changed.
    func lock(_ id: UserID, _ sql: Transaction) async throws -> Account? {
        try await sql.query("SELECT \(Self.columns) FROM account WHERE id = \(id) FOR NO KEY UPDATE").first.map(Self.account)
    }

    /// Who has this e-mail, about to be changed.
    func lock(email: String, _ sql: Transaction) async throws -> Account? {
        try await sql.query(
            """
            SELECT \(Self.columns) FROM account WHERE email_key = \(Self.key(ofEmail: email)) AND deleted_at IS NULL
            FOR NO KEY UPDATE
            """
        ).first.map(Self.account)
    }

    func isTaken(username: String) async throws -> Bool {
        try await !database.query("SELECT 1 FROM account WHERE username = \(username) AND deleted_at IS NULL").isEmpty
    }

    /// Who signs in with this e-mail; nil when nobody does.
    func find(email: String) async throws -> Account? {
        try await database.query(
            "SELECT \(Self.columns) FROM account WHERE email_key = \(Self.key(ofEmail: email)) AND deleted_at IS NULL"
        ).first.map(Self.account)
    }

    func find(_ id: UserID) async throws -> Account? {
        try await database.query("SELECT \(Self.columns) FROM account WHERE id = \(id)").first.map(Self.account)
    }

    func find(ids: [UserID], usernames: [String]) async throws -> [Account] {
        try await database.query(
            """
            SELECT \(Self.columns) FROM account WHERE id = ANY(\(ids)) UNION
            SELECT \(Self.columns) FROM account WHERE username = ANY(\(usernames)) AND deleted_at IS NULL LIMIT 400
            """
        ).map(Self.account)
    }

    /// Stores which terms an active account has accepted (AU-9). - Returns: the account as it is now; nil when there is none.
    func acceptTerms(_ terms: String, by id: UserID, now: Instant, _ sql: Transaction) async throws -> Account? {
        try await sql.query(
            """
            UPDATE account SET terms_version = \(terms), terms_accepted_at = \(now), version = version + 1, updated_at = \(now)
            WHERE id = \(id) AND status = 1 RETURNING \(Self.columns)
            """
        ).first.map(Self.account)
    }

    /// Stores which avatar an account has, as the account's next version; also of one that is suspended or deleted, which may come back.
    ///
    /// - Returns: the account as it is now; nil when a newer avatar is known, or there is no such account.
    func store(avatar key: String, version: Int64, of id: UserID, now: Instant, _ sql: Transaction) async throws -> Account? {
        try await sql.query(
            """
            UPDATE account SET avatar_key = \(key), avatar_version = \(version), version = version + 1, updated_at = \(now)
            WHERE id = \(id) AND avatar_version < \(version) RETURNING \(Self.columns)
            """
        ).first.map(Self.account)
    }

    /// Accounts after an id, in the order of ids.
    func page(after: UserID?, limit: Int) async throws -> [Account] {
        let start = after ?? UserID(high: 0, low: 0)
        return try await database.query(
            "SELECT \(Self.columns) FROM account WHERE id > \(start) ORDER BY id LIMIT \(limit)"
        ).map(Self.account)
    }

    /// The user's own view: one row, one query, for the hottest read of all.
    ///
    /// - Parameter executor: the transaction that has just changed it; nil for none.
    func me(_ id: UserID, now: Instant, on executor: (any QueryExecutor)? = nil) async throws -> Me? {
        let rows = try await (executor ?? database).query(
            """
            SELECT a.email, a.username, a.display_name, a.time_zone, coalesce(e.is_premium, false), a.is_admin, a.created_at,
                a.updated_at, a.terms_version, a.terms_accepted_at, a.email_verified_at IS NOT NULL, a.username_changed_at,
                coalesce(s.active_streaks, 0), coalesce(s.longest_streak, 0),
                coalesce(s.total_photos, 0), coalesce(r.balance, 0), a.window_start_hour, a.avatar_key
            FROM account a
            LEFT JOIN streak_stats s ON s.user_id = a.id
            LEFT JOIN recovery_balance r ON r.user_id = a.id
            LEFT JOIN entitlement_replica e ON e.user_id = a.id
            WHERE a.id = \(id) AND a.status = 1
            """
        )
        guard let row = rows.first else { return nil }
        let (
            email, username, name, zone, isPremium, isAdmin, created, updated, terms, acceptedAt, isVerified, renamedAt, active,
            longest, photos, tokens, hour, avatar
        ) =
            try row.decode(
                as: (
                    String.self, String.self, String.self, String.self, Bool.self, Bool.self, Instant.self, Instant.self,
                    String?.self, Instant?.self, Bool.self, Instant?.self,
                    Int32.self, Int32.self, Int32.self, Int32.self, Int32.self, String.self
                )
            )
        return Me(
            id: id.description,
            email: email,
            username: username,
            displayName: name,
            avatarURL: avatars.url(avatar),
            timeZone: zone,
            isPremium: isPremium,
            isAdmin: isAdmin,
            createdAt: created,
            updatedAt: updated,
            stats: MyStreakStats(
                totalActiveStreaks: active,
                longestStreak: longest,
                totalPhotos: photos,
                recoveryTokens: tokens
            ),
            termsVersion: terms,
            termsAcceptedAt: acceptedAt,
            emailVerified: isVerified,
            usernameChangeableAt: Username.changeableAt(changedAt: renamedAt, now: now),
            windowStartHour: hour
        )
    }

    static func account(_ row: Row) throws -> Account {
        let (
            id, email, hash, username, name, avatar, zone, since, isAdmin, status, terms, acceptedAt, verifiedAt, renamedAt,
            version,
            created, updated, hour
        ) =
            try row.decode(
                as: (
                    UserID.self, String.self, String?.self, String.self, String.self, String.self, String.self, Instant.self,
                    Bool.self,
                    Int32.self, String?.self, Instant?.self, Instant?.self, Instant?.self, Int64.self, Instant.self, Instant.self,
                    Int32.self
                )
            )
        return Account(
            id: id,
            email: email,
            passwordHash: hash,
            username: username,
            displayName: name,
            avatarKey: avatar,
            timeZone: zone,
            timeZoneSince: since,
            windowStartHour: hour,
            isAdmin: isAdmin,
            status: AccountStatus(rawValue: status),
            termsVersion: terms,
            termsAcceptedAt: acceptedAt,
            emailVerifiedAt: verifiedAt,
            usernameChangedAt: renamedAt,
            version: version,
            createdAt: created,
            updatedAt: updated
        )
    }
}
