internal import AuthDomain
internal import CommonAPI
internal import Database
internal import Kernel
internal import NotificationsAPI

/// A mail that `notifications` is to be asked to send.
struct PendingMail: Sendable {
    /// Of the operation.
    let id: OperationID
    let account: UserID
    let kind: MailKind
    let address: String
    let locale: String
    /// Whose link is in the mail.
    var token: EmailTokenID?
    var at: Instant?
    var newAddress: String?
    var recoveryCodesLeft: Int32?
    var ended: EndedByDeletion?
    let uselessAfter: Instant
    /// Of the replica's turn.
    var attempt: OperationID?
}

/// An address for which a new password was asked.
struct PasswordRequest: Sendable {
    let emailKey: String
    let requestedAt: Instant
}

/// Mails on their way to `notifications`, and addresses whose account is yet to be looked up (AU-13).
struct MailQueueRepository: Sendable {
    let database: Database

    static func insert(_ mail: PendingMail, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO pending_mail (id, account_id, kind, address, locale, token_id, about_time, new_address,
                recovery_codes_left, ended, created_at, useless_after)
            VALUES (\(mail.id), \(mail.account), \(mail.kind.rawValue), \(mail.address), \(mail.locale), \(mail.token), \(mail.at),
                \(mail.newAddress), \(mail.recoveryCodesLeft), \(try mail.ended?.serialized()), \(now), \(mail.uselessAfter))
            """
        )
    }

    /// Leases the mail that waits longest, for 15 s by the machine's clock; other replicas leave it alone until then.
    func lease(_ attempt: OperationID) async throws -> PendingMail? {
        try await database.query(
            """
            UPDATE pending_mail SET attempt = \(attempt), tries = tries + 1, lease_until = clock_timestamp() + interval '15 seconds'
            WHERE id = (SELECT id FROM pending_mail WHERE lease_until <= clock_timestamp() ORDER BY lease_until LIMIT 1
                FOR UPDATE SKIP LOCKED)
            RETURNING id, account_id, kind, address, locale, token_id, about_time, new_address, recovery_codes_left, ended, useless_after
            """
        ).first.map { row in
            let (id, account, kind, address, locale, token, at, newAddress, codesLeft, ended, uselessAfter) = try row.decode(
                as: (
                    OperationID.self, UserID.self, Int32.self, String.self, String.self, EmailTokenID?.self, Instant?.self,
                    String?.self, Int32?.self, [UInt8]?.self, Instant.self
                )
            )
            return PendingMail(
                id: id,
                account: account,
                kind: MailKind(rawValue: kind),
                address: address,
                locale: locale,
                token: token,
                at: at,
                newAddress: newAddress,
                recoveryCodesLeft: codesLeft,
                ended: try ended.map { try EndedByDeletion(serialized: $0) },
                uselessAfter: uselessAfter,
                attempt: attempt
            )
        }
    }

    /// `notifications` has it, or it is of no use any more.
    func delete(_ mail: PendingMail) async throws {
        _ = try await database.execute("DELETE FROM pending_mail WHERE id = \(mail.id) AND attempt = \(mail.attempt)")
    }

    /// Tries it again in a second, and later with every failure, at most a minute.
    func postpone(_ mail: PendingMail) async throws {
        _ = try await database.execute(
            """
            UPDATE pending_mail SET lease_until = clock_timestamp() + least(60, 2 ^ least(tries - 1, 6)) * interval '1 second'
            WHERE id = \(mail.id) AND attempt = \(mail.attempt)
            """
        )
    }

    /// When the mail that has waited longest was asked for; nil when none waits.
    func oldest() async throws -> Instant? {
        try await database.query("SELECT created_at FROM pending_mail ORDER BY created_at LIMIT 1").first.map {
            try $0.decode(as: Instant.self)
        }
    }

    static func insert(_ request: PasswordRequest, id: OperationID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO password_request (id, email_key, requested_at) VALUES (\(id), \(request.emailKey), \(request.requestedAt))
            """
        )
    }

    /// Removes up to `limit` requests, oldest first; those that another replica has locked are left out (D7).
    static func takeRequests(limit: Int, _ sql: Transaction) async throws -> [PasswordRequest] {
        try await sql.query(
            """
            DELETE FROM password_request WHERE id IN
                (SELECT id FROM password_request ORDER BY id LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING email_key, requested_at
            """
        ).map { row in
            let (key, requestedAt) = try row.decode(as: (String.self, Instant.self))
            return PasswordRequest(emailKey: key, requestedAt: requestedAt)
        }
    }
}
