public import Bus
internal import Crypto
public import Database
internal import FoundationEssentials
public import Kernel
public import Outbox
public import Wire

/// Runs the transaction of a mutating request, once per idempotency key (D12, PF-4).
///
/// Without a key this is just a unit of work. With one, the reply is stored in the same transaction as the effects: a repeat with the
/// same body gets the stored reply, with another body it is refused, and a crash between commit and reply changes nothing for the retry.
/// A refusal is not stored, because its transaction is rolled back.
public struct Mutations: Sendable {
    /// Units of work without a stored reply, for requests that are idempotent by themselves.
    public let work: UnitOfWorkFactory
    private let database: Database

    /// - Parameter database: the one `work` writes to; it holds the table `stored_reply`.
    public init(work: UnitOfWorkFactory, database: Database) {
        self.work = work
        self.database = database
    }

    /// The answer an earlier request with this key got; nil when there is none yet, or no key.
    ///
    /// For handlers that look at the world before their transaction: a repeat gets the first answer although the world has changed.
    ///
    /// - Throws: `IDEMPOTENCY_KEY_REUSED` when the key came with another body.
    public func replay<Request: Message, Reply: Message>(_ context: CallContext, _ request: Request) async throws -> Reply? {
        guard let reply = try await StoredReply(context, request)?.known(at: work.now(), database) else { return nil }
        return try Reply(serialized: reply)
    }

    /// The transaction of one request.
    ///
    /// - Parameters:
    ///   - request: what the repeat must equal.
    ///   - body: the change; it may run more than once and must have no effect but through its unit of work.
    /// - Returns: the reply of `body`, or the one it gave the first time.
    /// - Throws: `IDEMPOTENCY_KEY_REUSED` when the key came with another body, and whatever `body` throws.
    public func run<Request: Message, Reply: Message>(
        _ context: CallContext,
        _ request: Request,
        isolation: Isolation = .readCommitted,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Reply
    ) async throws -> Reply {
        guard let stored = try StoredReply(context, request) else {
            return try await work.run(context, isolation: isolation, body)
        }
        return try await run(context, stored, isWhole: true, isolation, body).reply
    }

    /// The same for a change whose reply also shows what other services make of it.
    ///
    /// Nobody is asked inside the transaction: `complete` asks after the commit, and what it says the first time is the answer for every
    /// repeat. When it fails, or its process dies, the change stands and a repeat completes the reply.
    ///
    /// - Parameters:
    ///   - complete: makes the whole reply from that of `body`; it may run more than once.
    ///   - body: the change, as in `run` without `complete`.
    public func run<Request: Message, Reply: Message>(
        _ context: CallContext,
        _ request: Request,
        isolation: Isolation = .readCommitted,
        completedBy complete: @Sendable (Reply) async throws -> Reply,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Reply
    ) async throws -> Reply {
        guard let stored = try StoredReply(context, request) else {
            return try await complete(try await work.run(context, isolation: isolation, body))
        }
        let (reply, isWhole) = try await run(context, stored, isWhole: false, isolation, body)
        if isWhole { return reply }
        let whole = try await complete(reply)
        // A repeat at the same time may have been faster: its answer is the answer.
        guard let first = try await stored.complete(try whole.serialized(), database) else { return whole }
        return try Reply(serialized: first)
    }

    private func run<Reply: Message>(
        _ context: CallContext,
        _ stored: StoredReply,
        isWhole: Bool,
        _ isolation: Isolation,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Reply
    ) async throws -> (reply: Reply, isWhole: Bool) {
        try await work.run(context, isolation: isolation) { work in
            if let known = try await stored.claim(at: work.now, work.sql) {
                return (try Reply(serialized: known.reply), known.isWhole)
            }
            let reply = try await body(work)
            try await stored.store(try reply.serialized(), isWhole: isWhole, work.sql)
            return (reply, isWhole)
        }
    }

    /// Forgets replies that are 24 h old at `now`, by the clock that the requests were stamped with.
    public func purge(now: Instant) async throws {
        _ = try await database.execute("DELETE FROM stored_reply WHERE stored_at <= \(now - StoredReply.life)")
    }
}

/// The row of one idempotency key.
private struct StoredReply: Sendable {
    /// How long a repeat gets the first answer (PF-4).
    static let life = Interval.hours(24)

    private let caller: String
    private let method: String
    private let keyHash: [UInt8]
    private let requestHash: [UInt8]
    private let seal: SymmetricKey

    /// nil for a request without a key.
    init?<Request: Message>(_ context: CallContext, _ request: Request) throws {
        guard let key = context.idempotencyKey else { return nil }
        self.init(
            caller: context.principal?.userID?.description ?? "-",
            method: Request.fullName,
            key: key,
            request: try request.serialized()
        )
    }

    private init(caller: String, method: String, key: String, request: [UInt8]) {
        self.caller = caller
        self.method = method
        self.keyHash = Array(SHA256.hash(data: Array(key.utf8)))
        // Keyed: a plain hash would let whoever reads the table try passwords at leisure.
        self.requestHash = Array(HMAC<SHA256>.authenticationCode(for: request, using: SymmetricKey(data: Array(key.utf8))))
        // Replies may hold tokens: whoever reads the table without the client's key learns nothing.
        self.seal = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(key.utf8)),
            info: Array("stored reply \(caller) \(method)".utf8),
            outputByteCount: 32
        )
    }

    /// Takes the key for this transaction; a concurrent request with the same key waits here for its end.
    ///
    /// - Returns: the reply stored by an earlier transaction, nil when this is the first.
    func claim(at now: Instant, _ sql: Transaction) async throws -> (reply: [UInt8], isWhole: Bool)? {
        // One that is too old is as good as none, purged or not.
        let isFirst = try await sql.execute(
            """
            INSERT INTO stored_reply AS known (caller, method, key_hash, request_hash, stored_at)
            VALUES (\(caller), \(method), \(keyHash), \(requestHash), \(now))
            ON CONFLICT (caller, method, key_hash) DO UPDATE
                SET request_hash = EXCLUDED.request_hash, reply = NULL, stored_at = EXCLUDED.stored_at
                WHERE known.stored_at <= \(now - Self.life)
            """
        )
        if isFirst == 1 { return nil }
        guard let (firstHash, reply, isWhole) = try await find(sql), let reply else {
            throw ServiceError(.aborted, "REQUEST_IN_PROGRESS", "The first request with this key has not ended.", retryAfter: 1)
        }
        guard firstHash == requestHash else { throw Self.reused }
        return (try open(reply), isWhole)
    }

    /// The whole reply of an earlier transaction, if there is one.
    func known(at now: Instant, _ sql: some QueryExecutor) async throws -> [UInt8]? {
        let rows = try await sql.query(
            "SELECT request_hash, reply FROM stored_reply WHERE \(isThis) AND is_whole AND stored_at > \(now - Self.life)"
        )
        guard let (firstHash, reply) = try rows.first?.decode(as: ([UInt8].self, [UInt8]?.self)), let reply else { return nil }
        guard firstHash == requestHash else { throw Self.reused }
        return try open(reply)
    }

    private static let reused = ServiceError(
        .invalidArgument,
        "IDEMPOTENCY_KEY_REUSED",
        "This Idempotency-Key came before with a different request."
    )

    func store(_ reply: [UInt8], isWhole: Bool, _ sql: Transaction) async throws {
        let sealed = Array(try ChaChaPoly.seal(reply, using: seal).combined)
        _ = try await sql.execute("UPDATE stored_reply SET reply = \(sealed), is_whole = \(isWhole) WHERE \(isThis)")
    }

    /// Stores the whole reply unless somebody else was faster. - Returns: what was stored before, nil when it was not.
    func complete(_ reply: [UInt8], _ sql: some QueryExecutor) async throws -> [UInt8]? {
        let sealed = Array(try ChaChaPoly.seal(reply, using: seal).combined)
        let stored = try await sql.execute(
            "UPDATE stored_reply SET reply = \(sealed), is_whole = true WHERE \(isThis) AND NOT is_whole"
        )
        guard stored == 0, let (_, first, _) = try await find(sql) else { return nil }
        return try first.map(open)
    }

    private var isThis: Query { "caller = \(caller) AND method = \(method) AND key_hash = \(keyHash)" }

    private func find(_ sql: some QueryExecutor) async throws -> (requestHash: [UInt8], reply: [UInt8]?, isWhole: Bool)? {
        let rows = try await sql.query("SELECT request_hash, reply, is_whole FROM stored_reply WHERE \(isThis)")
        return try rows.first?.decode(as: ([UInt8].self, [UInt8]?.self, Bool.self))
    }

    private func open(_ sealed: [UInt8]) throws -> [UInt8] {
        Array(try ChaChaPoly.open(ChaChaPoly.SealedBox(combined: sealed), using: seal))
    }
}
