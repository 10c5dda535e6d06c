internal import AuthCore
internal import AuthDomain
internal import Cryptography
internal import Database
internal import Kernel

/// How many mails were asked for lately, by mailbox, account and client address, shared by all replicas (AU-13).
struct MailLimitRepository: Sendable {
    let database: Database

    /// What is counted. In this order, so that two transactions never wait for each other crosswise.
    enum Key: Sendable {
        case mailbox(String)
        case account(UserID)
        /// With how many it may ask for.
        case client(IPAddress, SlidingWindow)

        var window: SlidingWindow {
            switch self {
            case .mailbox: MailLimit.mailbox
            case .account: MailLimit.account
            case .client(_, let window): window
            }
        }

        /// An address counts whether an account has it or not.
        var hash: [UInt8] {
            switch self {
            case .mailbox(let email): Self.hash("mailbox \(AccountRepository.key(ofEmail: email))")
            case .account(let id): Self.hash("account \(id)")
            case .client(let address, _): Self.hash("client \(address.site)")
            }
        }

        private static func hash(_ text: String) -> [UInt8] { Array(SHA256.hash(data: text.utf8)) }
    }

    /// Counts one mail for each key, unless one of them is at its limit: then for those before it, which the caller rolls back or accepts.
    ///
    /// - Returns: in how many seconds there is room; nil when there was.
    static func count(_ keys: [Key], now: Instant, _ sql: Transaction) async throws -> Int? {
        for key in keys {
            let (hash, window) = (key.hash, key.window)
            let rows = try await sql.query(
                """
                INSERT INTO mail_limit AS known (key, sent_at, expires_at) VALUES (\(hash), '{}', \(now + window.length))
                ON CONFLICT (key) DO UPDATE SET expires_at = EXCLUDED.expires_at RETURNING sent_at
                """
            )
            let sent = try rows.first?.decode(as: [Instant].self) ?? []
            if let wait = window.wait(after: sent, now: now) { return wait }
            let next = window.adding(to: sent, now: now)
            _ = try await sql.execute("UPDATE mail_limit SET sent_at = \(next) WHERE key = \(hash)")
        }
        return nil
    }

    /// Counts one mail for each key no more.
    ///
    /// - Parameter instant: as of when it was counted.
    static func giveBack(_ keys: [Key], at instant: Instant, _ sql: Transaction) async throws {
        for key in keys {
            _ = try await sql.execute(
                """
                UPDATE mail_limit SET sent_at = sent_at[:array_position(sent_at, \(instant)) - 1]
                    || sent_at[array_position(sent_at, \(instant)) + 1:]
                WHERE key = \(key.hash) AND \(instant) = ANY(sent_at)
                """
            )
        }
    }

    /// Counts one mail for each key.
    ///
    /// - Throws: `RATE_LIMITED` when one of them is at its limit.
    static func require(_ keys: [Key], now: Instant, _ sql: Transaction) async throws {
        guard let wait = try await count(keys, now: now, sql) else { return }
        throw ServiceError(
            .resourceExhausted,
            "RATE_LIMITED",
            "Too many mails were asked for. Try again later.",
            retryAfter: wait
        )
    }

    /// Deletes counts that are over, up to 1,000. - Returns: how many.
    func purge(now: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM mail_limit WHERE key IN
                (SELECT key FROM mail_limit WHERE expires_at < \(now) ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
