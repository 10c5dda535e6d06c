internal import AuthDomain
internal import Cryptography
internal import Database
internal import Kernel

/// Failed logins by account and by address, shared by all replicas (AU-12).
///
/// A login that succeeds takes no lock unless its account has failures: only those that fail write here. The limit is checked before the
/// password is hashed, to save the work, and again under the row's lock before the reply, so that however many guesses are made at once, no
/// more than the limit are answered.
struct LoginFailureRepository: Sendable {
    let database: Database

    /// What a login counts for. An address is unknown when no client stands behind the call.
    struct Keys: Sendable {
        /// The account's, or the share that a known client has of it.
        let account: [UInt8]
        let address: [UInt8]?

        /// By the e-mail as it is compared, whether an account has it or not: both must behave alike.
        ///
        /// - Parameter client: at which the account was signed in lately (`KnownClientRepository.hash`).
        fileprivate init(emailKey: String, client: String? = nil, address: IPAddress? = nil) {
            account = Self.hash("account \(emailKey)\(client.map { " \($0)" } ?? "")")
            self.address = address.map { Self.hash("address \($0.site)") }
        }

        private static func hash(_ text: String) -> [UInt8] { Array(SHA256.hash(data: text.utf8)) }
    }

    /// What a login with an e-mail from an address counts for.
    func keys(emailKey: String, address: IPAddress?, now: Instant) async throws -> Keys {
        let client = address.map(KnownClientRepository.hash)
        let known = try await KnownClientRepository.clients(ofEmailKey: emailKey, now: now, database)
        return Keys(emailKey: emailKey, client: client.flatMap { known.contains($0) ? $0 : nil }, address: address)
    }

    /// - Throws: `RATE_LIMITED` when the account or the address is at its limit.
    func requireRoom(_ keys: Keys, now: Instant) async throws {
        let wanted = [keys.account] + (keys.address.map { [$0] } ?? [])
        for row in try await database.query(Self.selection(wanted[0], wanted.count > 1 ? wanted[1] : nil)) {
            let (key, failed) = try row.decode(as: ([UInt8].self, [Instant].self))
            try Self.check(key == keys.account ? .account : .address, failed, now)
        }
    }

    /// One more failure of both.
    ///
    /// - Throws: `RATE_LIMITED` when one of them has reached its limit meanwhile: then the outcome must not be answered.
    func record(_ keys: Keys, now: Instant) async throws {
        // The account first, always: two transactions never wait for each other crosswise.
        let limits = [(keys.account, LoginLimit.account)] + (keys.address.map { [($0, LoginLimit.address)] } ?? [])
        try await database.transaction { sql in
            for (key, limit) in limits {
                let expiresAt = now + LoginLimit.window
                let rows = try await sql.query(
                    """
                    INSERT INTO login_failure AS known (key, failed_at, expires_at) VALUES (\(key), '{}', \(expiresAt))
                    ON CONFLICT (key) DO UPDATE SET expires_at = EXCLUDED.expires_at RETURNING failed_at
                    """
                )
                let failed = try rows.first?.decode(as: [Instant].self) ?? []
                try Self.check(limit, failed, now)
                let next = limit.adding(to: failed, now: now)
                _ = try await sql.execute("UPDATE login_failure SET failed_at = \(next) WHERE key = \(key)")
            }
        }
    }

    /// What was counted by `record` at an instant was right after all: the account's failures are deleted, and this one of the address.
    func takeBack(_ keys: Keys, at instant: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM login_failure WHERE key = \(keys.account)")
        guard let address = keys.address else { return }
        _ = try await sql.execute(
            "UPDATE login_failure SET failed_at = array_remove(failed_at, \(instant)) WHERE key = \(address)"
        )
    }

    /// A new password was set by a mail to this address: earlier guesses of the old one no longer count.
    static func deleteAll(ofEmailKey emailKey: String, now: Instant, _ sql: Transaction) async throws {
        let clients: [String?] = try await KnownClientRepository.clients(ofEmailKey: emailKey, now: now, sql)
        for client in clients + [nil] {
            let keys = Keys(emailKey: emailKey, client: client)
            _ = try await sql.execute("DELETE FROM login_failure WHERE key = \(keys.account)")
        }
    }

    /// A right password: the account's failures are deleted, those of the address stay.
    ///
    /// - Throws: `RATE_LIMITED` when a limit has been reached meanwhile.
    func delete(_ keys: Keys, now: Instant, _ sql: Transaction) async throws {
        for row in try await sql.query("SELECT failed_at FROM login_failure WHERE key = \(keys.account) FOR UPDATE") {
            try Self.check(.account, try row.decode(as: [Instant].self), now)
            _ = try await sql.execute("DELETE FROM login_failure WHERE key = \(keys.account)")
        }
        guard let address = keys.address else { return }
        for row in try await sql.query("SELECT failed_at FROM login_failure WHERE key = \(address)") {
            try Self.check(.address, try row.decode(as: [Instant].self), now)
        }
    }

    /// Deletes what left the window, up to 1,000. - Returns: how many.
    func purge(now: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM login_failure WHERE key IN
                (SELECT key FROM login_failure WHERE expires_at < \(now) ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    private static func selection(_ account: [UInt8], _ address: [UInt8]?) -> Query {
        "SELECT key, failed_at FROM login_failure WHERE key = \(account) OR key = \(address)"
    }

    private static func check(_ limit: LoginLimit, _ failed: [Instant], _ now: Instant) throws(ServiceError) {
        guard case .refused(let seconds) = limit.decide(failed, now: now) else { return }
        throw ServiceError(
            .resourceExhausted,
            "RATE_LIMITED",
            "Too many failed sign-ins. Try again later.",
            retryAfter: seconds
        )
    }
}
