internal import Database
internal import Kernel

/// A recovery on its way between billing and here (RC-4, D6).
struct RecoveryOperation: Sendable {
    /// What it has come to; the cases are the states of the table.
    enum Standing: Sendable {
        /// Billing may or may not have spent the token.
        case spending
        /// The streak is restored; so many tokens were left.
        case done(balance: Int32)
        /// The token was spent and the streak refused: it is given back.
        case returning(ServiceError)
        /// Nothing has happened, for this reason.
        case void(ServiceError)
    }

    let id: OperationID
    let streak: StreakID
    let user: UserID
    let date: CalendarDate
    let receivedAt: Instant
    let standing: Standing
}

/// Recoveries on their way; at most one a streak.
struct RecoveryOperationRepository: Sendable {
    let database: Database

    private static let columns: Query = """
        id, streak_id, user_id, for_date, received_at, state, balance, refusal_code, refusal_reason, refusal_message
        """

    /// Records that a token will be spent. The streak is locked.
    func insert(
        _ id: OperationID,
        _ streak: StreakID,
        _ user: UserID,
        date: CalendarDate,
        receivedAt: Instant,
        lease: Instant,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO recovery_operation (id, streak_id, user_id, for_date, received_at, lease_until)
            VALUES (\(id), \(streak), \(user), \(date), \(receivedAt), \(lease))
            """
        )
    }

    func find(_ id: OperationID) async throws -> RecoveryOperation? {
        try await database.query("SELECT \(Self.columns) FROM recovery_operation WHERE id = \(id)").first.map(Self.operation)
    }

    /// The one that has not ended.
    func underWay(_ streak: StreakID) async throws -> RecoveryOperation? { try await underWay(streak, database) }

    /// The same as a transaction sees it.
    func underWay(_ streak: StreakID, _ sql: some QueryExecutor) async throws -> RecoveryOperation? {
        try await sql.query(
            "SELECT \(Self.columns) FROM recovery_operation WHERE streak_id = \(streak) AND state IN (1, 3)"
        ).first.map(Self.operation)
    }

    /// Leases one that no process drives. - Returns: nil when one does, or it has ended.
    func lease(_ id: OperationID, now: Instant, until lease: Instant) async throws -> RecoveryOperation? {
        try await database.query(
            """
            UPDATE recovery_operation SET lease_until = \(lease)
            WHERE id = \(id) AND state IN (1, 3) AND lease_until <= \(now) RETURNING \(Self.columns)
            """
        ).first.map(Self.operation)
    }

    /// Leases up to `limit` that no process drives; others leave them alone until `lease`.
    func leaseStranded(now: Instant, until lease: Instant, limit: Int) async throws -> [RecoveryOperation] {
        try await database.query(
            """
            UPDATE recovery_operation SET lease_until = \(lease) WHERE id IN
                (SELECT id FROM recovery_operation WHERE state IN (1, 3) AND lease_until <= \(now)
                 ORDER BY lease_until LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING \(Self.columns)
            """
        ).map(Self.operation)
    }

    /// Ends its lease: the next process may drive it.
    func release(_ id: OperationID, now: Instant) async throws {
        _ = try await database.execute("UPDATE recovery_operation SET lease_until = \(now) WHERE id = \(id) AND state IN (1, 3)")
    }

    /// Since when the one that has waited longest has no lease.
    func oldestStranded() async throws -> Instant? {
        try await database.query("SELECT min(lease_until) FROM recovery_operation WHERE state IN (1, 3)").first?.decode(
            as: Instant?.self
        )
    }

    /// Whether its token may be spent and the streak has not decided; locks it. The streak is locked.
    func lockSpending(_ id: OperationID, _ sql: Transaction) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM recovery_operation WHERE id = \(id) AND state = 1 FOR UPDATE").isEmpty
    }

    /// 1 → 2, in the transaction that changes the streak.
    func finish(_ id: OperationID, balance: Int32, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE recovery_operation SET state = 2, balance = \(balance) WHERE id = \(id) AND state = 1")
    }

    /// 1 → 3: the streak refuses although the token was spent.
    func giveBack(_ id: OperationID, _ refusal: ServiceError, _ sql: Transaction) async throws {
        try await refuse(id, state: 3, refusal, sql)
    }

    /// 1 → 4: there was no token.
    func void(_ id: OperationID, _ refusal: ServiceError) async throws { try await refuse(id, state: 4, refusal, database) }

    /// 3 → 4: the token is back.
    func endReturn(_ id: OperationID) async throws {
        _ = try await database.execute("UPDATE recovery_operation SET state = 4 WHERE id = \(id) AND state = 3")
    }

    /// Deletes those that ended and were received before an instant. - Returns: how many.
    func purge(before limit: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM recovery_operation WHERE id IN
                (SELECT id FROM recovery_operation WHERE state IN (2, 4) AND received_at < \(limit)
                 ORDER BY received_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    private func refuse(_ id: OperationID, state: Int32, _ refusal: ServiceError, _ sql: some QueryExecutor) async throws {
        _ = try await sql.execute(
            """
            UPDATE recovery_operation SET state = \(state), refusal_code = \(refusal.code.rawValue),
                refusal_reason = \(refusal.reason), refusal_message = \(refusal.message)
            WHERE id = \(id) AND state = 1
            """
        )
    }

    private static func operation(_ row: Row) throws -> RecoveryOperation {
        let standing: RecoveryOperation.Standing
        switch try row.get("state", as: Int32.self) {
        case 1: standing = .spending
        case 2: standing = .done(balance: try row.get("balance"))
        case 3: standing = .returning(try refusal(row))
        default: standing = .void(try refusal(row))
        }
        return RecoveryOperation(
            id: try row.get("id"),
            streak: try row.get("streak_id"),
            user: try row.get("user_id"),
            date: try row.get("for_date"),
            receivedAt: try row.get("received_at"),
            standing: standing
        )
    }

    private static func refusal(_ row: Row) throws -> ServiceError {
        ServiceError(
            ServiceError.Code(rawValue: try row.get("refusal_code")) ?? .internal,
            try row.get("refusal_reason"),
            try row.get("refusal_message")
        )
    }
}
