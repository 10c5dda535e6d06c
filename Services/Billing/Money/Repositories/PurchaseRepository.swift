internal import BillingDomain
internal import Database
internal import Kernel

/// A purchase as stored (BI-5).
struct StoredPurchase: Sendable {
    /// The numbers are the states of the table.
    enum State: Int32, Sendable {
        case onItsWay = 1
        case granted = 2
        case toBeTakenBack = 3
        case takenBack = 4
        case void = 5
    }

    var id: PurchaseID
    var user: UserID
    var item: String
    var title: String
    var quantity: Int32
    var coins: Int64
    var priceMilli: Int64 = 0
    var priceCurrency = ""
    var store: String?
    var key: String?
    var state = State.onItsWay
    var refusal: ServiceError?
    var purchasedAt: Instant
    /// With the quantity counted in.
    var goods: [(good: String, count: Int32)]

    /// Whether its user has its goods, or will have them.
    var isHeld: Bool { state == .onItsWay || state == .granted }

    /// What another service keeps.
    var foreignGoods: [(good: String, count: Int32)] { goods.filter { Good(rawValue: $0.good)?.currency == nil } }

    /// What the ledger keeps.
    var ownGoods: [(currency: LedgerCurrency, count: Int64)] {
        goods.compactMap { entry in Good(rawValue: entry.good)?.currency.map { ($0, Int64(entry.count)) } }
    }
}

/// A step of a purchase.
struct GoodsOperation: Sendable {
    enum Kind: Int32, Sendable {
        case grant = 1
        case takeBack = 2
        /// What is unused is taken from a user, for the step after it.
        case moveOut = 3
        /// What the step before it took is given to another user.
        case moveIn = 4
    }

    let id: OperationID
    let purchase: PurchaseID
    let place: Int32
    let kind: Kind
    let attempts: Int32
    /// Whose goods it changes.
    let user: UserID
}

/// What a step is about.
struct GoodsStep: Sendable {
    /// The goods that it gives, or takes as far as they are unused.
    let goods: StoredPurchase
    /// The operation that gave what it takes; nil when it gives.
    let grant: OperationID?
}

/// Purchases and their steps (D6).
struct PurchaseRepository: Sendable {
    let database: Database

    func insert(_ purchase: StoredPurchase, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO purchase (id, user_id, item, title, quantity, coins, price_milli, price_currency, store, transaction_key, state,
                purchased_at)
            VALUES (\(purchase.id), \(purchase.user), \(purchase.item), \(purchase.title), \(purchase.quantity), \(purchase.coins),
                \(purchase.priceMilli), \(purchase.priceCurrency), \(purchase.store), \(purchase.key), \(purchase.state.rawValue),
                \(purchase.purchasedAt))
            """
        )
        _ = try await sql.execute(
            """
            INSERT INTO purchased_good (purchase_id, good, count)
            SELECT \(purchase.id)::uuid, good, count FROM unnest(\(purchase.goods.map(\.good)), \(purchase.goods.map(\.count))) AS g (good, count)
            """
        )
    }

    /// Records a next step.
    func insert(
        _ operation: OperationID,
        _ kind: GoodsOperation.Kind,
        of purchase: PurchaseID,
        for user: UserID,
        lease: Instant,
        _ sql: Transaction
    )
        async throws
    {
        _ = try await sql.execute(
            """
            INSERT INTO goods_operation (id, purchase_id, place, kind, user_id, lease_until)
            SELECT \(operation)::uuid, \(purchase)::uuid, count(*)::integer, \(kind.rawValue)::smallint, \(user)::uuid,
                \(lease)::timestamptz
            FROM goods_operation WHERE purchase_id = \(purchase)
            """
        )
    }

    func find(_ id: PurchaseID) async throws -> StoredPurchase? { try await purchase("id = \(id)", database) }

    func lock(_ id: PurchaseID, _ sql: Transaction) async throws -> StoredPurchase? {
        try await purchase("id = \(id) FOR UPDATE", sql)
    }

    /// The purchase of a store's transaction.
    func lock(_ store: String, _ key: String, _ sql: Transaction) async throws -> StoredPurchase? {
        try await purchase("store = \(store) AND transaction_key = \(key) FOR UPDATE", sql)
    }

    /// Whether a transaction of any store has come to a purchase.
    func isKnown(_ transaction: String) async throws -> Bool {
        try await !database.query("SELECT 1 FROM purchase WHERE transaction_key = \(transaction)").isEmpty
    }

    /// The purchase of a transaction, whatever its store; of several, the user's own.
    func lock(transaction: String, of user: UserID, _ sql: Transaction) async throws -> StoredPurchase? {
        try await purchase(
            "transaction_key = \(transaction) ORDER BY user_id = \(user) DESC, state, purchased_at LIMIT 1 FOR UPDATE",
            sql
        )
    }

    /// Notes which operation has confirmed a purchase. - Returns: false when another one has.
    func setConfirmed(_ id: PurchaseID, by operation: OperationID, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            UPDATE purchase SET confirmed_by = \(operation)
            WHERE id = \(id) AND (confirmed_by IS NULL OR confirmed_by = \(operation))
            """
        ) > 0
    }

    /// It has another owner.
    func setUser(_ user: UserID, of id: PurchaseID, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE purchase SET user_id = \(user) WHERE id = \(id)")
    }

    func setState(_ state: StoredPurchase.State, of id: PurchaseID, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE purchase SET state = \(state.rawValue) WHERE id = \(id)")
    }

    /// It comes to nothing, for this reason.
    func setVoid(_ id: PurchaseID, _ refusal: ServiceError, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE purchase SET state = 5, refusal_code = \(refusal.code.rawValue), refusal_reason = \(refusal.reason),
                refusal_message = \(refusal.message)
            WHERE id = \(id)
            """
        )
    }

    /// How many of an item a user has bought since an instant; what came to nothing does not count.
    func bought(_ item: String, by user: UserID, since start: Instant, _ sql: some QueryExecutor) async throws -> Int64 {
        try await sql.query(
            """
            SELECT coalesce(sum(quantity), 0)::bigint FROM purchase
            WHERE user_id = \(user) AND item = \(item) AND purchased_at > \(start) AND state IN (1, 2)
            """
        ).first?.decode(as: Int64.self) ?? 0
    }

    /// The first step that is not done.
    func next(of purchase: PurchaseID, _ sql: some QueryExecutor) async throws -> GoodsOperation? {
        try await sql.query(
            """
            SELECT \(Self.columns) FROM goods_operation
            WHERE purchase_id = \(purchase) AND NOT is_done ORDER BY place LIMIT 1
            """
        ).first.map(Self.operation)
    }

    /// What a step of a purchase is about. The steps before it are done.
    func step(_ operation: GoodsOperation, of purchase: StoredPurchase, _ sql: some QueryExecutor) async throws -> GoodsStep {
        switch operation.kind {
        case .grant: return GoodsStep(goods: purchase, grant: nil)
        case .moveIn: return GoodsStep(goods: try await moved(into: operation.place, purchase, sql), grant: nil)
        case .takeBack, .moveOut:
            let row = try await sql.query(
                """
                SELECT id, place, kind FROM goods_operation
                WHERE purchase_id = \(purchase.id) AND place < \(operation.place) AND kind IN (1, 4) ORDER BY place DESC LIMIT 1
                """
            ).first
            guard let row else { return GoodsStep(goods: purchase, grant: nil) }
            let (id, place, kind) = try row.decode(as: (OperationID.self, Int32.self, Int32.self))
            let isWhole = kind == GoodsOperation.Kind.grant.rawValue
            return GoodsStep(goods: isWhole ? purchase : try await moved(into: place, purchase, sql), grant: id)
        }
    }

    /// The purchase with the goods that the step before `place` took.
    private func moved(into place: Int32, _ purchase: StoredPurchase, _ sql: some QueryExecutor) async throws -> StoredPurchase {
        var part = purchase
        part.goods = try await sql.query(
            """
            SELECT g.good, g.count FROM moved_good g JOIN goods_operation o ON o.id = g.operation_id
            WHERE o.purchase_id = \(purchase.id) AND o.place = \(place - 1) ORDER BY g.good
            """
        ).map { row in
            let (good, count) = try row.decode(as: (String.self, Int32.self))
            return (good: good, count: count)
        }
        return part
    }

    /// Notes what a step took for the one after it.
    func setMoved(_ goods: [(good: String, count: Int64)], by operation: OperationID, _ sql: Transaction) async throws {
        let goods = goods.filter { $0.count > 0 }
        guard !goods.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO moved_good (operation_id, good, count)
            SELECT \(operation)::uuid, good, count
            FROM unnest(\(goods.map(\.good)), \(goods.map { Int32(clamping: $0.count) })) AS g (good, count)
            """
        )
    }

    /// Locks a step that is not done. The purchase is locked. - Returns: whether it is still to be done.
    func lockOpen(_ id: OperationID, _ sql: Transaction) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM goods_operation WHERE id = \(id) AND NOT is_done FOR UPDATE").isEmpty
    }

    /// The step is done; with what could not be taken back.
    func setDone(_ id: OperationID, missing: String? = nil, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE goods_operation SET is_done = true, missing = \(missing) WHERE id = \(id)")
    }

    /// Leases a step that no process drives.
    ///
    /// - Parameter far: later than any lease of a process: a step with such a time has failed and waits for the job.
    /// - Returns: false when a process drives it, or it is done.
    func lease(_ id: OperationID, now: Instant, until lease: Instant, orLaterThan far: Instant) async throws -> Bool {
        try await database.execute(
            """
            UPDATE goods_operation SET lease_until = \(lease)
            WHERE id = \(id) AND NOT is_done AND (lease_until <= \(now) OR lease_until > \(far))
            """
        ) > 0
    }

    /// Leases steps that no process drives and that no earlier step holds back.
    func leaseStranded(now: Instant, until lease: Instant, limit: Int) async throws -> [GoodsOperation] {
        try await database.query(
            """
            UPDATE goods_operation SET lease_until = \(lease) WHERE id IN
                (SELECT id FROM goods_operation o WHERE NOT is_done AND lease_until <= \(now)
                     AND NOT EXISTS (SELECT 1 FROM goods_operation e
                         WHERE e.purchase_id = o.purchase_id AND e.place < o.place AND NOT e.is_done)
                 ORDER BY lease_until LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING \(Self.columns)
            """
        ).map(Self.operation)
    }

    /// It failed, and is tried again.
    func release(_ id: OperationID, until later: Instant) async throws {
        _ = try await database.execute(
            "UPDATE goods_operation SET lease_until = \(later), attempts = attempts + 1 WHERE id = \(id) AND NOT is_done"
        )
    }

    /// Since when the one that has waited longest has no lease.
    func oldestStranded() async throws -> Instant? {
        try await database.query("SELECT min(lease_until) FROM goods_operation WHERE NOT is_done").first?.decode(
            as: Instant?.self
        )
    }

    private func purchase(_ condition: Query, _ sql: some QueryExecutor) async throws -> StoredPurchase? {
        guard
            let row = try await sql.query(
                """
                SELECT id, user_id, item, title, quantity, coins, price_milli, price_currency, store, transaction_key, state, refusal_code,
                    refusal_reason, refusal_message, purchased_at
                FROM purchase WHERE \(condition)
                """
            ).first
        else { return nil }
        let id: PurchaseID = try row.get("id")
        let goods = try await sql.query("SELECT good, count FROM purchased_good WHERE purchase_id = \(id) ORDER BY good").map {
            try $0.decode(as: (String.self, Int32.self))
        }
        var refusal: ServiceError?
        if let code = try row.get("refusal_code", as: Int32?.self), let reason = try row.get("refusal_reason", as: String?.self) {
            refusal = ServiceError(
                ServiceError.Code(rawValue: code) ?? .internal,
                reason,
                try row.get("refusal_message", as: String?.self) ?? ""
            )
        }
        return StoredPurchase(
            id: id,
            user: try row.get("user_id"),
            item: try row.get("item"),
            title: try row.get("title"),
            quantity: try row.get("quantity"),
            coins: try row.get("coins"),
            priceMilli: try row.get("price_milli"),
            priceCurrency: try row.get("price_currency"),
            store: try row.get("store", as: String?.self),
            key: try row.get("transaction_key", as: String?.self),
            state: StoredPurchase.State(rawValue: try row.get("state")) ?? .void,
            refusal: refusal,
            purchasedAt: try row.get("purchased_at"),
            goods: goods.map { (good: $0.0, count: $0.1) }
        )
    }

    private static func operation(_ row: Row) throws -> GoodsOperation {
        let (id, purchase, place, kind, attempts, user) = try row.decode(
            as: (OperationID.self, PurchaseID.self, Int32.self, Int32.self, Int32.self, UserID.self)
        )
        return GoodsOperation(
            id: id,
            purchase: purchase,
            place: place,
            kind: GoodsOperation.Kind(rawValue: kind) ?? .grant,
            attempts: attempts,
            user: user
        )
    }

    private static let columns: Query = """
        id, purchase_id, place, kind, attempts, coalesce(user_id, (SELECT p.user_id FROM purchase p WHERE p.id = purchase_id))
        """
}
