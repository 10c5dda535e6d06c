internal import Bus
internal import CommonAPI
internal import Cryptography
public import Database
internal import FoundationEssentials
public import Kernel
internal import Wire

/// What a request was answered.
struct StoredAnswer: Sendable {
    /// The reply, or the status of a refusal.
    var bytes: [UInt8]
    /// False while a reply is still to be completed after its transaction.
    var isWhole: Bool
    var isRefusal: Bool

    init(bytes: [UInt8], isWhole: Bool = true, isRefusal: Bool = false) {
        self.bytes = bytes
        self.isWhole = isWhole
        self.isRefusal = isRefusal
    }

    init(refusal: ServiceError) throws {
        let status = Status(
            code: refusal.code.rawValue,
            reason: refusal.reason,
            message: refusal.message,
            details: refusal.details.map { StatusDetail(field: $0.field, message: $0.message) },
            retryAfter: Int32(clamping: refusal.retryAfter ?? 0)
        )
        self.init(bytes: try status.serialized(), isRefusal: true)
    }

    /// - Throws: the refusal, when it is one.
    func reply<Reply: Message>() throws -> Reply {
        guard isRefusal else { return try Reply(serialized: bytes) }
        throw try Status(serialized: bytes).refusal
    }
}

/// Conditions for statements that are sent with the claim of a request's idempotency key.
public struct KeyCondition: Sendable {
    /// What the transaction that has the key holds: for statements that lock, so that a repeat is refused at once instead of waiting behind the
    /// first. A repeat of what has been answered gets it too.
    public let lock: AdvisoryLock
    /// What identifies the key; nil for a request without one.
    public let caller: String?
    /// nil for a request without a key.
    public let method: String?
    /// nil for a request without a key.
    public let keyHash: [UInt8]?
    /// When the request is answered: what was stored before and has expired by then is as good as none.
    public let now: Instant

    /// Of a request without a key.
    public static func withoutKey(at now: Instant) -> KeyCondition {
        KeyCondition(lock: .none, caller: nil, method: nil, keyHash: nil, now: now)
    }

    /// Whether the request has not been answered yet, and is not being answered by another transaction: for changes.
    public var isNew: Query {
        guard let caller, let method, let keyHash else { return "true" }
        return "(\(lock.isHeld) AND \(Self.isUnanswered("\(caller)", "\(method)", "\(keyHash)", "\(now)")))"
    }

    /// The same where `caller`, `method`, `key_hash` and `now` of the condition and `high` and `low` of its lock are columns of the rows `new`
    /// that a statement is given.
    public static let isNewInRow: Query = """
        (\(AdvisoryLock.isHeldInRow)
            AND (new.key_hash IS NULL OR \(isUnanswered("new.caller", "new.method", "new.key_hash", "new.now"))))
        """

    private static func isUnanswered(_ caller: Query, _ method: Query, _ keyHash: Query, _ now: Query) -> Query {
        """
        NOT EXISTS (SELECT FROM stored_reply AS known WHERE known.caller = \(caller) AND known.method = \(method)
            AND known.key_hash = \(keyHash) AND known.expires_at > \(now))
        """
    }
}

/// The row of one idempotency key or operation.
struct StoredReply: Sendable {
    /// How long a repeat gets the first answer (PF-4).
    private static let life = Interval.hours(24)
    /// How long a caller may go on repeating its operation (D6).
    private static let lifeOfOperation = Interval.days(7)

    private let caller: String
    private let user: UserID?
    private let method: String
    private let keyHash: [UInt8]
    private let requestHash: [UInt8]
    private let seal: SymmetricKey
    /// The advisory lock of the key: two numbers of 32 bits. A collision only delays.
    private let lock: AdvisoryLock
    /// The same numbers as one: PostgreSQL keeps such locks apart.
    let number: Int64
    private let life: Interval
    /// What another request with the same key is refused with.
    private let reused: ServiceError

    /// nil for a request without a key.
    init?<Request: Message>(_ context: CallContext, _ request: Request) throws {
        guard let key = context.idempotencyKey else { return nil }
        let user = context.principal?.userID
        let life = min(context.keyLifetime ?? Self.life, Self.life)
        try self.init(caller: user?.description ?? "-", user, key: key, request, life: life, reused: .keyReused)
    }

    /// Of one step of a change across services.
    init<Request: Message>(operation: OperationID, of user: UserID, _ request: Request) throws {
        // Not under the user: an operation with another user is the same operation, and a conflict.
        let key = operation.description
        try self.init(caller: "operation", user, key: key, request, life: Self.lifeOfOperation, reused: .operationReused)
    }

    private init<Request: Message>(
        caller: String,
        _ user: UserID?,
        key: String,
        _ request: Request,
        life: Interval,
        reused: ServiceError
    ) throws {
        self.caller = caller
        self.user = user
        self.method = Request.fullName
        self.life = life
        self.reused = reused
        self.keyHash = Array(SHA256.hash(data: key.utf8))
        let digest = SHA256.hash(data: "\(caller) \(Request.fullName) \(key)".utf8)
        let (high, low) = (Self.number(digest[0..<4]), Self.number(digest[4..<8]))
        lock = AdvisoryLock(high, low)
        number = Int64(high) << 32 | Int64(UInt32(bitPattern: low))
        // Keyed: with a plain hash, a reader of the table could try passwords.
        self.requestHash = Array(HMACSHA256(key: key.utf8).code(for: try request.serialized()))
        // Replies may hold tokens: a reader of the table without the client's key learns nothing.
        self.seal = SymmetricKey(derivedFrom: key.utf8, info: "stored reply \(caller) \(Request.fullName)".utf8)
    }

    /// What a transaction has queued first: the taking of the key, and the reading of what is stored for it.
    struct Claim: Sendable {
        fileprivate let lock: QueuedStatement
        fileprivate let row: QueuedStatement
    }

    /// Queues both; what came of them says `known(_:at:_:)`.
    ///
    /// By two statements: one that takes a lock goes on with what it saw before, and a transaction may end between the two.
    func enqueueClaim(_ sql: Transaction) throws -> Claim {
        Claim(lock: try sql.enqueue("SELECT \(lock.isHeld)"), row: try sql.enqueue(row()))
    }

    /// For statements behind the claim.
    func condition(at now: Instant) -> KeyCondition {
        KeyCondition(lock: lock, caller: caller, method: method, keyHash: keyHash, now: now)
    }

    /// What came of a claim.
    ///
    /// - Returns: the answer stored by an earlier transaction; nil when this is the first, or the request is to be done again.
    /// - Throws: `REQUEST_IN_PROGRESS` at once while another transaction has the key. Waiting would hold a connection for each repeat of a
    ///   request whose process is frozen; callers ask again instead.
    func known(_ claim: Claim, at now: Instant, _ sql: Transaction) async throws -> StoredAnswer? {
        let isHeld = try await claim.lock.rows().first?.decode(as: Bool.self) ?? false
        let found = try await stored(claim.row.rows())
        if let found, found.expiry > now { return try checked(found, isHeld: isHeld) }
        guard isHeld else { return try checked(try await stored(sql.query(row("AND expires_at > \(now)"))), isHeld: false) }
        // One that has expired is as good as none, purged or not.
        if found != nil { try sql.enqueue("DELETE FROM stored_reply WHERE \(isThis) AND expires_at <= \(now)") }
        return nil
    }

    /// - Throws: `REQUEST_IN_PROGRESS` when there is none yet, and what the same key with another request is refused with.
    private func checked(_ known: Found?, isHeld: Bool) throws -> StoredAnswer? {
        guard let known else { throw ServiceError.requestInProgress }
        guard known.requestHash == requestHash else { throw reused }
        guard known.answer != nil || isHeld else { throw ServiceError.requestInProgress }
        return known.answer
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> Int32 {
        Int32(bitPattern: bytes.reduce(0) { $0 << 8 | UInt32($1) })
    }

    /// The whole answer of an earlier transaction, if there is one.
    func known(at now: Instant, _ sql: some QueryExecutor) async throws -> StoredAnswer? {
        let found = try await stored(sql.lookup(row("AND is_whole AND expires_at > \(now)")))
        return found?.answer == nil ? nil : try checked(found, isHeld: false)
    }

    /// Stores the answer of this transaction, with its commit, which fails with `isAnsweredMeanwhile` where there is one already: one that a
    /// transaction with an isolation above read committed did not see.
    func store(_ answer: StoredAnswer, at now: Instant, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            INSERT INTO stored_reply (caller, user_id, method, key_hash, request_hash, reply, is_whole, is_refusal, expires_at)
            SELECT caller, user_id, method, key_hash, request_hash, reply, is_whole, is_refusal, expires_at
            FROM \(rows: .of([caller]), .of([user]), .of([method]), .of([keyHash]), .of([requestHash]), .of([try sealed(answer.bytes)]),
                .of([answer.isWhole]), .of([answer.isRefusal]), .of([now + life]))
                AS new (caller, user_id, method, key_hash, request_hash, reply, is_whole, is_refusal, expires_at)
            """
        )
    }

    /// Stores that the request came, unless that is known: it has no answer but its own when it is done again.
    func storeRequest(at now: Instant, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            INSERT INTO stored_reply (caller, user_id, method, key_hash, request_hash, expires_at)
            VALUES (\(caller), \(user), \(method), \(keyHash), \(requestHash), \(now + life)) ON CONFLICT DO NOTHING
            """
        )
    }

    /// Whether a transaction failed because the request was answered by another: it is to be run again, and finds that answer.
    static func isAnsweredMeanwhile(_ error: any Error) -> Bool {
        (error as? DatabaseError)?.isUniqueViolation("stored_reply_pkey") == true
    }

    /// Stores the whole reply unless a repeat was faster. - Returns: what was stored before, nil when it was not.
    func complete(_ reply: [UInt8], _ sql: some QueryExecutor) async throws -> [UInt8]? {
        let stored = try await sql.execute(
            "UPDATE stored_reply SET reply = \(try sealed(reply)), is_whole = true WHERE \(isThis) AND NOT is_whole"
        )
        return stored == 0 ? try await self.stored(sql.query(row()))?.answer?.bytes : nil
    }

    private var isThis: Query { "caller = \(caller) AND method = \(method) AND key_hash = \(keyHash)" }

    /// What is stored.
    private struct Found {
        let requestHash: [UInt8]
        /// nil: the request is done again.
        let answer: StoredAnswer?
        let expiry: Instant
    }

    private func row(_ condition: Query = "") -> Query {
        "SELECT request_hash, reply, is_whole, is_refusal, expires_at FROM stored_reply WHERE \(isThis) \(condition)"
    }

    private func stored(_ rows: [Row]) throws -> Found? {
        guard let row = rows.first else { return nil }
        let (hash, reply, isWhole, isRefusal, expiry) = try row.decode(
            as: ([UInt8].self, [UInt8]?.self, Bool.self, Bool.self, Instant.self)
        )
        let answer = try reply.map { StoredAnswer(bytes: try open($0), isWhole: isWhole, isRefusal: isRefusal) }
        return Found(requestHash: hash, answer: answer, expiry: expiry)
    }

    private func sealed(_ bytes: [UInt8]) throws -> [UInt8] { try ChaChaPoly.seal(bytes, using: seal) }

    private func open(_ sealed: [UInt8]) throws -> [UInt8] { try ChaChaPoly.open(sealed, using: seal) }
}

extension ServiceError {
    fileprivate static let keyReused = ServiceError(
        .invalidArgument,
        "IDEMPOTENCY_KEY_REUSED",
        "This Idempotency-Key came before with a different request."
    )
    fileprivate static let operationReused = ServiceError(
        .aborted,
        "OPERATION_CONFLICT",
        "This operation belongs to another request."
    )
}

extension Status {
    /// The refusal that was stored.
    fileprivate var refusal: ServiceError {
        var refusal = ServiceError(ServiceError.Code(rawValue: code) ?? .unknown, reason, message)
        refusal.details = details.map { ServiceError.Detail(field: $0.field, message: $0.message) }
        refusal.retryAfter = retryAfter > 0 ? Int(retryAfter) : nil
        return refusal
    }
}
