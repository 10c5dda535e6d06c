internal import Database
internal import Kernel
internal import NotificationsAPI

/// A mail to be handed over.
struct DueMail: Sendable {
    let id: OperationID
    let user: UserID
    let kind: MailKind
    /// These two may be known only when it is handed over.
    var locale: String
    var address: String
    /// `MailValues`.
    let content: [UInt8]
    let createdAt: Instant
    /// With this one.
    let tries: Int
    /// Earlier tries after which the server may have it.
    let unanswered: Int
    /// Of this replica's turn.
    let attempt: OperationID
}

/// How a mail ends. The numbers are those of the table.
enum MailEnd: Int32, Sendable, CaseIterable {
    case sent = 1
    case failed = 2
    case expired = 3
}

/// Mails that wait, and for a while those that ended.
struct MailRepository: Sendable {
    /// How long a mail may wait, and how long its bare row stays after it ended.
    static let kept = Interval.days(7)

    /// Of a mail whose address is asked when it is handed over.
    static let unknownAddress = ""

    let database: Database

    /// Stores a mail, unless it is stored already.
    static func insert(_ request: SendMailRequest, uselessAfter: Instant, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO mail (id, user_id, kind, locale, address, content, created_at, due_at, useless_after)
            VALUES (\(request.operationID), \(request.userID), \(request.kind.rawValue), \(request.locale), \(request.address),
                \(try request.values?.serialized() ?? []), \(now), \(now), \(uselessAfter))
            ON CONFLICT (id) DO NOTHING
            """
        )
    }

    /// Leases the mail that has been due longest, for two minutes by the machine's clock; other replicas leave it alone until then. Until the
    /// outcome is noted it counts as unanswered.
    func lease(_ attempt: OperationID, now: Instant) async throws -> DueMail? {
        try await database.query(
            """
            UPDATE mail SET attempt = \(attempt), tries = tries + 1, unanswered = unanswered + 1,
                lease_until = clock_timestamp() + interval '2 minutes'
            WHERE id = (SELECT id FROM mail WHERE due_at <= \(now) AND useless_after > \(now) AND lease_until <= clock_timestamp()
                ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING id, user_id, kind, locale, address, content, created_at, tries, unanswered - 1
            """
        ).first.map { row in
            let (id, user, kind, locale, address, content, createdAt, tries, unanswered) = try row.decode(
                as: (
                    OperationID.self, UserID.self, Int32.self, String.self, String.self, [UInt8].self, Instant.self, Int.self,
                    Int.self
                )
            )
            return DueMail(
                id: id,
                user: user,
                kind: MailKind(rawValue: kind),
                locale: locale,
                address: address,
                content: content,
                createdAt: createdAt,
                tries: tries,
                unanswered: unanswered,
                attempt: attempt
            )
        }
    }

    /// The mail ends; nothing personal stays but whose it was. - Returns: whether it was still this replica's to send.
    func end(_ mail: DueMail, _ end: MailEnd, problem: String?, now: Instant) async throws -> Bool {
        try await database.execute(
            """
            UPDATE mail SET state = \(end.rawValue), address = NULL, content = NULL, due_at = NULL, ended_at = \(now),
                problem = \(problem), lease_until = '-infinity'
            WHERE id = \(mail.id) AND attempt = \(mail.attempt) AND state = 0
            """
        ) == 1
    }

    /// The mail is tried again later.
    ///
    /// - Parameter isAnswered: the server certainly does not have it.
    func postpone(_ mail: DueMail, until dueAt: Instant, isAnswered: Bool, problem: String) async throws {
        _ = try await database.execute(
            """
            UPDATE mail SET due_at = \(dueAt), unanswered = \(mail.unanswered + (isAnswered ? 0 : 1)), problem = \(problem),
                lease_until = '-infinity'
            WHERE id = \(mail.id) AND attempt = \(mail.attempt) AND state = 0
            """
        )
    }

    /// Ends mails that are of no use any more, up to 100. - Returns: how many.
    func expire(now: Instant) async throws -> Int {
        try await database.execute(
            """
            UPDATE mail SET state = \(MailEnd.expired.rawValue), address = NULL, content = NULL, due_at = NULL, ended_at = \(now),
                lease_until = '-infinity'
            WHERE id IN (SELECT id FROM mail WHERE useless_after <= \(now) AND due_at IS NOT NULL
                AND lease_until <= clock_timestamp() ORDER BY useless_after LIMIT 100 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    /// Since when the mail that has waited longest is due; nil when none waits.
    func oldestDue() async throws -> Instant? {
        try await database.query("SELECT due_at FROM mail WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1").first.map {
            try $0.decode(as: Instant.self)
        }
    }

    /// Deletes rows of mails that ended a week ago, up to 1,000. - Returns: how many.
    func purge(now: Instant) async throws -> Int {
        let limit = now - Self.kept
        return try await database.execute(
            """
            DELETE FROM mail WHERE id IN
                (SELECT id FROM mail WHERE ended_at < \(limit) ORDER BY ended_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
