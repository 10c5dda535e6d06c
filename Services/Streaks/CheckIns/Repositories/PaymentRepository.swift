internal import Database
internal import Kernel

/// What was paid: in thousandths of a currency.
struct PaidPrice: Sendable, Equatable {
    var milli: Int64
    /// USD, XP or COINS.
    var currency: String
    var transaction: String
}

/// Purchases of freezes and repairs.
enum PaymentRepository {
    /// How long a purchase that was begun keeps its place under the cap.
    static let reservation = Interval.minutes(5)

    /// How many freezes are being bought now, by other operations.
    static func reserved(by user: UserID, except operation: OperationID, at now: Instant, _ sql: Transaction) async throws -> Int
    {
        try await Int(
            sql.query(
                """
                SELECT coalesce(sum(quantity), 0) FROM freeze_purchase WHERE user_id = \(user) AND bought_at IS NULL
                    AND begun_at > \(now - reservation) AND operation_id <> \(operation)
                """
            ).first?.decode(as: Int64.self) ?? 0
        )
    }

    /// A purchase of freezes that was begun.
    struct Purchase: Sendable {
        let quantity: Int32
        /// nil until the freezes are in hand.
        let done: Done?

        struct Done: Sendable {
            let price: PaidPrice
            /// Freezes in hand after it.
            let left: Int32
        }
    }

    /// The purchase of an operation; nil when it was not begun.
    static func purchase(_ operation: OperationID, by user: UserID, _ sql: some QueryExecutor) async throws -> Purchase? {
        try await sql.query(
            """
            SELECT quantity, freezes_left, price_milli, currency, transaction_id FROM freeze_purchase
            WHERE operation_id = \(operation) AND user_id = \(user)
            """
        ).first.map { row in
            guard let left = try row.get(at: 1, as: Int32?.self) else { return Purchase(quantity: try row.get(at: 0), done: nil) }
            let price = PaidPrice(milli: try row.get(at: 2), currency: try row.get(at: 3), transaction: try row.get(at: 4))
            return Purchase(quantity: try row.get(at: 0), done: .init(price: price, left: left))
        }
    }

    static func begin(
        _ operation: OperationID,
        of user: UserID,
        quantity: Int32,
        method: String,
        at now: Instant,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO freeze_purchase (operation_id, user_id, quantity, method, begun_at)
            VALUES (\(operation), \(user), \(quantity), \(method), \(now))
            ON CONFLICT (operation_id) DO UPDATE SET quantity = EXCLUDED.quantity WHERE freeze_purchase.bought_at IS NULL
            """
        )
    }

    /// The payment was refused: nothing was bought.
    static func drop(_ operation: OperationID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM freeze_purchase WHERE operation_id = \(operation) AND bought_at IS NULL")
    }

    static func finish(_ operation: OperationID, _ done: Purchase.Done, at now: Instant, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            UPDATE freeze_purchase SET bought_at = \(now), price_milli = \(done.price.milli), currency = \(done.price.currency),
                transaction_id = \(done.price.transaction), freezes_left = \(done.left)
            WHERE operation_id = \(operation) AND bought_at IS NULL
            """
        )
    }

    /// A repair that was made.
    struct Repair: Sendable {
        let count: Int32
        let method: String
        let price: PaidPrice
        let at: Instant
    }

    static func addRepair(
        _ operation: OperationID,
        of user: UserID,
        _ repair: Repair,
        on date: CalendarDate,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO check_in_repair (operation_id, user_id, streak_count, repaired_on, repaired_at, method, price_milli, currency,
                transaction_id)
            VALUES (\(operation), \(user), \(repair.count), \(date), \(repair.at), \(repair.method), \(repair.price.milli),
                \(repair.price.currency), \(repair.price.transaction))
            """
        )
    }

    /// The repair of an operation; nil when it has made none.
    static func repair(_ operation: OperationID, of user: UserID, _ sql: some QueryExecutor) async throws -> Repair? {
        try await sql.query(
            """
            SELECT streak_count, method, price_milli, currency, transaction_id, repaired_at FROM check_in_repair
            WHERE operation_id = \(operation) AND user_id = \(user)
            """
        ).first.map { row in
            Repair(
                count: try row.get(at: 0),
                method: try row.get(at: 1),
                price: PaidPrice(milli: try row.get(at: 2), currency: try row.get(at: 3), transaction: try row.get(at: 4)),
                at: try row.get(at: 5)
            )
        }
    }

    /// Whether premium's free repair of a UTC month has been used.
    static func isFreeRepairUsed(by user: UserID, from: Instant, until: Instant, _ sql: some QueryExecutor) async throws -> Bool {
        try await !sql.query(
            """
            SELECT 1 FROM check_in_repair WHERE user_id = \(user) AND method = 'free_pro_repair' AND returned_at IS NULL
                AND repaired_at >= \(from) AND repaired_at < \(until) LIMIT 1
            """
        ).isEmpty
    }

    /// A repair that was not needed after all.
    struct Returned: Sendable {
        let user: UserID
        let method: String
        /// What it cost, in thousandths of its currency.
        let milli: Int64
    }

    /// A repair was not needed after all. - Returns: what it was paid with; nil when it is no repair of a check-in streak, or is known.
    static func giveBack(_ operation: OperationID, at now: Instant, _ sql: Transaction) async throws -> Returned? {
        try await sql.query(
            """
            UPDATE check_in_repair SET returned_at = \(now) WHERE operation_id = \(operation) AND returned_at IS NULL
            RETURNING user_id, method, price_milli
            """
        ).first.map { Returned(user: try $0.get(at: 0), method: try $0.get(at: 1), milli: try $0.get(at: 2)) }
    }
}
