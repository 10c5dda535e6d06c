package import Database
package import Kernel
package import NotificationsDomain

/// A push that is claimed by this replica.
package struct ClaimedDelivery: Sendable {
    package let id: DeliveryID
    package let entry: NotificationID
    package let device: DeviceID
    package let user: UserID
    package let uselessAt: Instant
    /// The provider's name for it; nil until it has it.
    package let ticket: String?
    package let sentAt: Instant?
    package var life: DeliveryLife
}

/// What a claimed push came to.
package struct DeliveryResult: Sendable {
    package var id: DeliveryID
    package var state: DeliveryState
    /// When it is due next; nil: never.
    package var dueAt: Instant?
    /// Whether the hand-over that was noted at the claim has got its answer.
    package var isAnswered: Bool
    package var attempts: Int
    package var ticket: String?
    package var sentAt: Instant?
    /// Why it failed or expired.
    package var reason: String?

    package init(
        _ delivery: ClaimedDelivery,
        dueAt: Instant?,
        isAnswered: Bool,
        ticket: String? = nil,
        sentAt: Instant? = nil,
        reason: String? = nil
    ) {
        id = delivery.id
        state = delivery.life.state
        self.dueAt = dueAt
        self.isAnswered = isAnswered
        attempts = delivery.life.attempts
        self.ticket = ticket
        self.sentAt = sentAt
        self.reason = reason
    }
}

/// Pushes to devices, found by when they are due and claimed by one replica at a time (D7).
///
/// A claim is a lease by the machine's clock, 60 s; it outlives the transaction, because the provider is not asked inside one.
package enum DeliveryRepository {
    /// Locks queued pushes that are due, earliest first; those that others have claimed are skipped.
    package static func lockDue(at now: Instant, limit: Int, _ sql: Transaction) async throws -> [ClaimedDelivery] {
        try await sql.query(dueQuery(at: now, limit: limit)).map(claimed)
    }

    static func dueQuery(at now: Instant, limit: Int) -> Query {
        """
        SELECT \(columns) FROM delivery
        WHERE state = 0 AND due_at <= \(now) AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())
        ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// Locks sent pushes whose receipts are to be asked for, and claims them.
    package static func claimReceipts(at now: Instant, limit: Int, _ sql: Transaction) async throws -> [ClaimedDelivery] {
        let due = try await sql.query(
            """
            SELECT \(columns) FROM delivery
            WHERE state = 1 AND due_at <= \(now) AND (claimed_until IS NULL OR claimed_until <= clock_timestamp())
            ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            """
        ).map(claimed)
        _ = try await claim(due.map(\.id), sql)
        return due
    }

    private static let columns: Query =
        "id, notification_id, device_id, user_id, useless_at, ticket, sent_at, state, unanswered, attempts"

    /// Since when the push that has waited longest is due, or will be.
    package static func oldestDue(_ database: Database) async throws -> Instant? {
        try await database.query("SELECT min(due_at) FROM delivery WHERE state = 0").first?.decode(as: Instant?.self)
    }

    /// Notes that locked pushes are handed over now, and claims them.
    package static func noteHandOver(_ ids: [DeliveryID], _ sql: Transaction) async throws {
        guard !ids.isEmpty else { return }
        _ = try await sql.execute(
            """
            UPDATE delivery SET unanswered = unanswered + 1, attempts = attempts + 1,
                claimed_until = clock_timestamp() + interval '60 seconds'
            WHERE id = ANY(\(ids))
            """
        )
    }

    private static func claim(_ ids: [DeliveryID], _ sql: Transaction) async throws {
        guard !ids.isEmpty else { return }
        _ = try await sql.execute(
            "UPDATE delivery SET claimed_until = clock_timestamp() + interval '60 seconds' WHERE id = ANY(\(ids))"
        )
    }

    /// Ends claims without a result.
    package static func release(_ ids: [DeliveryID], _ sql: Transaction) async throws {
        guard !ids.isEmpty else { return }
        _ = try await sql.execute("UPDATE delivery SET claimed_until = NULL WHERE id = ANY(\(ids))")
    }

    /// Lengthens claims that still hold. - Returns: how many do.
    package static func renew(_ ids: [DeliveryID], _ sql: Transaction) async throws -> Int {
        try await sql.execute(
            """
            UPDATE delivery SET claimed_until = clock_timestamp() + interval '60 seconds'
            WHERE id = ANY(\(ids)) AND claimed_until > clock_timestamp()
            """
        )
    }

    /// Stores results and ends the claims. One that comes late, after another replica has noted the end of the same push, changes nothing;
    /// hand-overs are counted relative to what is stored, so that a late answer is not taken for that of another hand-over.
    ///
    /// - Parameter state: in which the pushes are.
    /// - Returns: those that it changed.
    @discardableResult
    package static func store(_ results: [DeliveryResult], from state: DeliveryState, _ sql: Transaction) async throws
        -> Set<DeliveryID>
    {
        guard !results.isEmpty else { return [] }
        // In the order of ids, so that no two transactions wait for each other.
        let results = results.sorted { $0.id < $1.id }
        let changed = try await sql.query(
            """
            WITH new AS (
                SELECT * FROM unnest(\(results.map(\.id)), \(results.map(\.state.rawValue)), \(results.map(\.dueAt)),
                    \(results.map { Int16($0.isAnswered ? 1 : 0) }), \(results.map { Int16(clamping: $0.attempts) }),
                    \(results.map(\.ticket)), \(results.map(\.sentAt)), \(results.map(\.reason)))
                    AS new (id, state, due_at, answered, attempts, ticket, sent_at, reason)),
            locked AS (
                SELECT d.id FROM delivery d JOIN new ON new.id = d.id WHERE d.state = \(state.rawValue) ORDER BY d.id FOR UPDATE OF d)
            UPDATE delivery d SET state = new.state, due_at = new.due_at, unanswered = greatest(d.unanswered - new.answered, 0),
                attempts = new.attempts, ticket = coalesce(new.ticket, d.ticket), sent_at = coalesce(new.sent_at, d.sent_at),
                reason = new.reason, claimed_until = NULL
            FROM new JOIN locked ON locked.id = new.id WHERE d.id = new.id
            RETURNING d.id
            """
        )
        return Set(try changed.map { try $0.get(at: 0, as: DeliveryID.self) })
    }

    /// Deletes pushes made before `limit`, up to 5,000. - Returns: how many.
    package static func purge(before limit: Instant, _ database: Database) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM delivery WHERE id IN
                (SELECT id FROM delivery WHERE created_at < \(limit) ORDER BY created_at LIMIT 5000 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    /// Deletes the counts of dates before `date`, up to 5,000. - Returns: how many.
    package static func purgeDays(before date: CalendarDate, _ database: Database) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM push_day WHERE (user_id, on_date) IN
                (SELECT user_id, on_date FROM push_day WHERE on_date < \(date) ORDER BY on_date LIMIT 5000 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    private static func claimed(_ row: Row) throws -> ClaimedDelivery {
        ClaimedDelivery(
            id: try row.get(at: 0),
            entry: try row.get(at: 1),
            device: try row.get(at: 2),
            user: try row.get(at: 3),
            uselessAt: try row.get(at: 4),
            ticket: try row.get(at: 5),
            sentAt: try row.get(at: 6),
            life: DeliveryLife(
                state: DeliveryState(rawValue: try row.get(at: 7)) ?? .failed,
                unanswered: Int(try row.get(at: 8, as: Int16.self)),
                attempts: Int(try row.get(at: 9, as: Int16.self))
            )
        )
    }
}
