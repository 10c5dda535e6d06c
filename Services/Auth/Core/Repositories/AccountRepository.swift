package import AuthAPI
internal import AuthDomain
package import Database
package import Kernel
internal import Replicas

/// Accounts, and the view of one that joins the facts of other services.
package struct AccountRepository: Sendable {
    let database: Database
    let avatars: AvatarLinks

    init(database: Database, avatars: AvatarLinks) { (self.database, self.avatars) = (database, avatars) }

    /// For a command of an operator, which shows no avatars.
    package init(database: Database) { self.init(database: database, avatars: AvatarLinks()) }

    static let columns: Query = """
        id, email, password_hash, username, display_name, avatar_key, time_zone, time_zone_since, is_admin, status, terms_version,
        terms_accepted_at, email_verified_at, username_changed_at, version, created_at, updated_at, window_start_hour,
        locale
        """

    /// E-mails are compared without regard to case (AU-1).
    package static func key(ofEmail email: String) -> String { EmailAddress.trimmed(email).lowercased() }

    /// The link to an account's avatar; nil when it has none.
    package func avatarURL(of account: Account) -> String? { avatars.url(account.avatarKey) }

    func insert(_ account: Account, _ sql: Transaction) async throws {
        // Apple may keep the e-mail to itself; then the id stands for it: it cannot be typed as an e-mail.
        let key = account.email.isEmpty ? account.id.description : Self.key(ofEmail: account.email)
        _ = try await sql.execute(
            """
            INSERT INTO account (id, email, email_key, password_hash, username, display_name, time_zone, time_zone_since,
                email_verified_at, locale, created_at, updated_at)
            VALUES (\(account.id), \(account.email), \(key), \(account.passwordHash), \(account.username), \(account.displayName),
                \(account.timeZone), \(account.timeZoneSince), \(account.emailVerifiedAt), \(account.locale), \(account.createdAt),
                \(account.updatedAt))
            """
        )
    }

    /// Writes what users change themselves, as the next version.
    ///
    /// - Returns: the account as it is now; the caller holds its lock.
    package func update(_ account: Account, now: Instant, _ sql: Transaction) async throws -> Account? {
        try await sql.query(
            """
            UPDATE account SET username = \(account.username), username_changed_at = \(account.usernameChangedAt),
                display_name = \(account.displayName), time_zone = \(account.timeZone), time_zone_since = \(account.timeZoneSince),
                email_verified_at = \(account.emailVerifiedAt), terms_version = \(account.termsVersion),
                terms_accepted_at = \(account.termsAcceptedAt), is_admin = \(account.isAdmin),
                window_start_hour = \(account.windowStartHour), locale = \(account.locale), version = version + 1, updated_at = \(now)
            WHERE id = \(account.id)
            RETURNING \(Self.columns)
            """
        ).first.map(Self.account)
    }

    /// Stores a password, or with nil that there is none. Nothing that others see changes; the caller holds the account's lock.
    package func store(passwordHash: String?, of id: UserID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE account SET password_hash = \(passwordHash), updated_at = \(now) WHERE id = \(id)"
        )
    }

    /// Stores another e-mail address, whose owner has proved to own it, as the account's next version; the caller holds its lock.
    ///
    /// - Returns: the account as it is now.
    /// - Throws: `DatabaseError` unique violation when another account has the address.
    func store(email: String, of id: UserID, now: Instant, _ sql: Transaction) async throws -> Account? {
        try await sql.query(
            """
            UPDATE account SET email = \(email), email_key = \(Self.key(ofEmail: email)), email_verified_at = \(now),
                version = version + 1, updated_at = \(now)
            WHERE id = \(id) RETURNING \(Self.columns)
            """
        ).first.map(Self.account)
    }

    /// An account, locked against changes until the transaction ends: a concurrent sign-in is possible, a suspension or demotion waits, so
    /// that what ends the account's sessions does not miss one that begins at this moment.
    package func lockShared(_ id: UserID, _ sql: Transaction) async throws -> Account? {
        try await sql.query("SELECT \(Self.columns) FROM account WHERE id = \(id) FOR SHARE").first.map(Self.account)
    }

    /// An account that is about to be changed, locked until the transaction ends.
    package func lock(_ id: UserID, _ sql: Transaction) async throws -> Account? {
        try await sql.query("SELECT \(Self.columns) FROM account WHERE id = \(id) FOR NO KEY UPDATE").first.map(Self.account)
    }

    /// The account that has this e-mail, about to be changed, locked until the transaction ends.
    package func lock(email: String, _ sql: Transaction) async throws -> Account? {
        try await sql.query(
            """
            SELECT \(Self.columns) FROM account WHERE email_key = \(Self.key(ofEmail: email)) AND deleted_at IS NULL
            FOR NO KEY UPDATE
            """
        ).first.map(Self.account)
    }

    /// Whether an account has this username; that of a deleted account is free.
    package func isTaken(username: String) async throws -> Bool {
        try await !database.query("SELECT 1 FROM account WHERE username = \(username) AND deleted_at IS NULL").isEmpty
    }

    /// An account, deleted ones too; nil when there is none.
    package func find(_ id: UserID) async throws -> Account? {
        try await database.lookup("SELECT \(Self.columns) FROM account WHERE id = \(id)").first.map(Self.account)
    }

    /// Accounts by id, deleted ones too, and by username; those that do not exist are absent.
    package func find(ids: [UserID], usernames: [String]) async throws -> [Account] {
        try await database.lookup(
            """
            SELECT \(Self.columns) FROM account WHERE id = ANY(\(ids)) UNION
            SELECT \(Self.columns) FROM account WHERE username = ANY(\(usernames)) AND deleted_at IS NULL LIMIT 400
            """
        ).map(Self.account)
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
    package func page(after: UserID?, limit: Int) async throws -> [Account] {
        let start = after ?? UserID(high: 0, low: 0)
        return try await database.query(
            "SELECT \(Self.columns) FROM account WHERE id > \(start) ORDER BY id LIMIT \(limit)"
        ).map(Self.account)
    }

    /// The user's own view: one row, one query, for the hottest read of all.
    ///
    /// - Parameter executor: the transaction that has just changed it; nil for none.
    package func me(_ id: UserID, now: Instant, on executor: (any QueryExecutor)? = nil) async throws -> Me? {
        let rows = try await (executor ?? database).lookup(
            """
            SELECT a.email, a.username, a.display_name, a.time_zone, coalesce(e.is_premium, false), a.is_admin, a.created_at,
                a.updated_at, a.terms_version, a.terms_accepted_at, a.email_verified_at IS NOT NULL, a.username_changed_at,
                coalesce(s.active_streaks, 0), coalesce(s.longest_streak, 0),
                coalesce(s.total_photos, 0), coalesce(r.balance, 0), a.window_start_hour, a.avatar_key, a.locale, \(RewardsRepository.columns)
            FROM account a
            LEFT JOIN streak_stats s ON s.user_id = a.id
            LEFT JOIN recovery_balance r ON r.user_id = a.id
            LEFT JOIN entitlement_replica e ON e.user_id = a.id
            LEFT JOIN profile_rewards w ON w.user_id = a.id
            WHERE a.id = \(id) AND a.status = 1
            """
        )
        guard let row = rows.first else { return nil }
        let (
            email, username, name, zone, isPremium, isAdmin, created, updated, terms, acceptedAt, isVerified, renamedAt, active,
            longest, photos, tokens, hour, avatar, locale, badge, badges, titles, frame, crown, flame
        ) =
            try row.decode(
                as: (
                    String.self, String.self, String.self, String.self, Bool.self, Bool.self, Instant.self, Instant.self,
                    String?.self, Instant?.self, Bool.self, Instant?.self,
                    Int32.self, Int32.self, Int32.self, Int32.self, Int32.self, String.self, String.self,
                    String?.self, [String].self, [String].self, Bool.self, Bool.self, String.self
                )
            )
        return Me(
            id: id,
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
            windowStartHour: hour,
            locale: locale.isEmpty ? nil : locale,
            rewards: ProfileRewards(
                badge: badge,
                badges: badges,
                titles: titles,
                goldFrame: frame,
                crown: crown,
                flame: flame
            )
        )
    }

    /// What everyone sees of what a user's check-ins have earned (CI-5).
    package func rewards(of id: UserID) async throws -> ProfileRewards { try await RewardsRepository.find(id, database) }

    static func account(_ row: Row) throws -> Account {
        let (
            id, email, hash, username, name, avatar, zone, since, isAdmin, status, terms, acceptedAt, verifiedAt, renamedAt,
            version,
            created, updated, hour, locale
        ) =
            try row.decode(
                as: (
                    UserID.self, String.self, String?.self, String.self, String.self, String.self, String.self, Instant.self,
                    Bool.self,
                    Int32.self, String?.self, Instant?.self, Instant?.self, Instant?.self, Int64.self, Instant.self, Instant.self,
                    Int32.self, String.self
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
            locale: locale,
            usernameChangedAt: renamedAt,
            version: version,
            createdAt: created,
            updatedAt: updated
        )
    }
}
