@_spi(Once) public import Bus
public import Database
public import Kernel
public import Outbox
public import Wire

/// Runs the transaction of a mutating request, once per idempotency key (D12, PF-4).
///
/// Without a key this is just a unit of work. With one, the reply is stored in the same transaction as the effects: a repeat with the
/// same body gets the stored reply, with another body it is refused, and a crash between commit and reply changes nothing for the retry.
/// A refusal is not stored, because its transaction is rolled back.
public struct Mutations: Sendable {
    /// What is stored of a request with a key, for its repeats.
    public enum Kept: Sendable {
        /// Its reply, which every repeat gets.
        case reply
        /// That it came: a repeat runs again, another request with the key is refused. For a change that knows by itself what it has done
        /// already, and whose replies would take much space.
        case request
        /// Nothing: for a request that only reads.
        case nothing
    }

    /// Units of work without a stored reply, for requests that are idempotent by themselves.
    public let work: UnitOfWorkFactory
    private let database: Database
    private let barrier: EventBarrier?
    private let atWork: KeysAtWork

    /// - Parameters:
    ///   - database: the one `work` writes to; it holds the table `stored_reply`.
    ///   - barrier: holds replies back until what protects a user has taken effect; nil where no other service is to apply it.
    ///   - presence: shows the other replicas which keys are being worked on here (`alone`); nil where it is not shown.
    public init(
        work: UnitOfWorkFactory,
        database: Database,
        barrier: EventBarrier? = nil,
        presence: ReplicaPresence? = nil
    ) {
        self.work = work
        self.database = database
        self.barrier = barrier
        atWork = KeysAtWork(presence)
    }

    /// The answer an earlier request with this key got; nil when there is none yet, or no key.
    ///
    /// For handlers that ask other services before their transaction: a repeat gets the first answer although theirs have changed.
    ///
    /// - Throws: `IDEMPOTENCY_KEY_REUSED` when the key came with another body.
    public func known<Request: Message, Reply: Message>(_ context: CallContext, _ request: Request) async throws -> Once<Reply>? {
        guard let answer = try await StoredReply(context, request)?.known(at: work.now(), database) else { return nil }
        return Once(try answer.reply())
    }

    /// All of a request's work, for a change that costs much before its transaction, or that a limit may refuse: no other sending of it is worked
    /// on meanwhile.
    ///
    /// A repeat gets the first answer, or `REQUEST_IN_PROGRESS` at once while the first sending is being worked on: before `body` asks a limit,
    /// hashes a password or decodes a picture. Only the transaction (`once`, in `body`) makes sure that the change happens once: what is held
    /// here falls with the replica's connection, and where replicas do not show themselves (`database.presence`) the others do not know of it.
    ///
    /// - Parameters:
    ///   - request: what the repeat must equal, as in the transaction.
    ///   - tidy: deletes what a repeat has brought whose answer is there already: its upload. While the first sending is being worked on nothing
    ///     is deleted, since it may be the same one.
    ///   - body: the work.
    /// - Throws: `REQUEST_IN_PROGRESS`, `IDEMPOTENCY_KEY_REUSED`, and what `body` throws, unless the request has an answer by then.
    public func alone<Request: Message, Reply: Message>(
        _ context: CallContext,
        _ request: Request,
        answered tidy: () async -> Void = {},
        _ body: () async throws -> Once<Reply>
    ) async throws -> Once<Reply> {
        guard let stored = try StoredReply(context, request) else { return try await body() }
        guard await atWork.take(stored.number) else {
            // The first sending may have ended a moment ago.
            guard let once: Once<Reply> = try await answered(stored, tidy) else { throw ServiceError.requestInProgress }
            return once
        }
        do {
            let once: Once<Reply> = try await first(stored, tidy, body)
            await atWork.giveBack(stored.number)
            return once
        } catch {
            await atWork.giveBack(stored.number)
            throw error
        }
    }

    private func first<Reply: Message>(
        _ stored: StoredReply,
        _ tidy: () async -> Void,
        _ body: () async throws -> Once<Reply>
    ) async throws -> Once<Reply> {
        if let once: Once<Reply> = try await answered(stored, tidy) { return once }
        do { return try await body() } catch let refusal as ServiceError where !refusal.isInProgress {
            // Another replica may have been faster: then it is what that has changed which refuses this one.
            guard let once: Once<Reply> = try await answered(stored, {}) else { throw refusal }
            return once
        }
    }

    private func answered<Reply: Message>(_ stored: StoredReply, _ tidy: () async -> Void) async throws -> Once<Reply>? {
        guard let answer = try await stored.known(at: work.now(), database) else { return nil }
        await tidy()
        return Once(try answer.reply())
    }

    /// The transaction of one request.
    ///
    /// - Parameters:
    ///   - request: what the repeat must equal.
    ///   - kept: what is stored for repeats.
    ///   - body: the change; it may run more than once and must have no effect but through its unit of work.
    /// - Returns: the reply of `body`, or the one it gave the first time.
    /// - Throws: `IDEMPOTENCY_KEY_REUSED` when the key came with another body, and whatever `body` throws.
    public func once<Request: Message, Reply: Message>(
        _ context: CallContext,
        _ request: Request,
        isolation: Isolation = .readCommitted,
        keeping kept: Kept = .reply,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Reply
    ) async throws -> Once<Reply> {
        guard kept != .nothing, let stored = try StoredReply(context, request) else {
            return Once(try await work.run(context, isolation: isolation, body))
        }
        return Once(
            try await answer(context, stored, isWhole: true, isolation, keeping: kept, loading: { _, _ in }) { work, _ in
                .success(try await body(work))
            }.reply()
        )
    }

    /// The same for a change of which statements are known beforehand: they are sent with the claim of the key, in one round trip.
    ///
    /// - Parameters:
    ///   - load: queues the statements (`Transaction.enqueue`). They run also when the request turns out to be a repeat, so that those which
    ///     take a lock or change something must ask for the condition that `KeyCondition` has for them.
    ///   - isShared: whether the change locks and changes rows of the caller alone, so that it may run together with those of others
    ///     (`SharedTransactions`).
    ///   - body: the change, with what `load` has queued.
    public func once<Request: Message, Reply: Message, Loaded: Sendable>(
        _ context: CallContext,
        _ request: Request,
        isShared: Bool = false,
        loading load: @escaping @Sendable (UnitOfWork, KeyCondition) throws -> Loaded,
        _ body: @escaping @Sendable (UnitOfWork, Loaded) async throws -> Reply
    ) async throws -> Once<Reply> {
        let owner = isShared ? context.principal?.userID?.description : nil
        guard let stored = try StoredReply(context, request) else {
            return Once(
                try await work.run(context, sharedBy: owner) { try await body($0, try load($0, .withoutKey(at: $0.now))) }
            )
        }
        let answer = try await answer(context, stored, isWhole: true, .readCommitted, owner, loading: load) { work, loaded in
            .success(try await body(work, loaded))
        }
        return Once(try answer.reply())
    }

    /// The same for a change whose reply also shows what other services make of it.
    ///
    /// Other services are not asked inside the transaction: `complete` asks after the commit, and what it says the first time is the answer
    /// for every repeat. When it fails, or its process is killed, the change stands and a repeat completes the reply.
    ///
    /// - Parameters:
    ///   - complete: makes the whole reply from that of `body`; it may run more than once.
    ///   - body: the change, as in `once` without `complete`.
    public func once<Request: Message, Reply: Message>(
        _ context: CallContext,
        _ request: Request,
        isolation: Isolation = .readCommitted,
        completedBy complete: @Sendable (Reply) async throws -> Reply,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Reply
    ) async throws -> Once<Reply> {
        guard let stored = try StoredReply(context, request) else {
            return Once(try await complete(try await work.run(context, isolation: isolation, body)))
        }
        let answer = try await answer(context, stored, isWhole: false, isolation) { .success(try await body($0)) }
        let reply: Reply = try answer.reply()
        if answer.isWhole { return Once(reply) }
        let whole = try await complete(reply)
        // A repeat at the same time may have been faster: its answer is the answer.
        guard let first = try await stored.complete(try whole.serialized(), database) else { return Once(whole) }
        return Once(try Reply(serialized: first))
    }

    /// The same for a change that protects a user: the reply, to this request or a repeat of it, is given when the protective events of
    /// the change have been applied by every feature that must (`ProtectiveEvents`, D21).
    ///
    /// - Parameters:
    ///   - key: on whose behalf; whatever else is still to take effect for the same one is waited for too, also by a refusal.
    ///   - complete: as in `once` with `completedBy`; it runs when the change has taken effect.
    ///   - body: the change, as in `once`.
    /// - Throws: as `once`, and `UNAVAILABLE` with `retryAfter` 2 when it has not taken effect within 2 s: the change stands.
    public func once<Request: Message, Reply: Message, Protected>(
        _ context: CallContext,
        _ request: Request,
        isolation: Isolation = .readCommitted,
        protecting key: ID<Protected>,
        completedBy complete: @Sendable (Reply) async throws -> Reply = { $0 },
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Reply
    ) async throws -> Once<Reply> {
        let key = key.cast(to: ProtectiveEvents.self)
        do {
            return try await once(
                context,
                request,
                isolation: isolation,
                completedBy: { reply in
                    try await takeEffect(key, context)
                    return try await complete(reply)
                },
                { work in try await body(work.protecting(key)) }
            )
        } catch let refusal as ServiceError where refusal.code != .unavailable {
            // Of a repeat without a key, for example: what it asks for has happened already, and must have its effect too.
            try await takeEffect(key, context)
            throw refusal
        }
    }

    private func takeEffect(_ key: ProtectionKey, _ context: CallContext) async throws {
        try await barrier?.pass(key, until: min(context.deadline, SystemClock.now() + EventBarrier.limit), context)
    }

    /// The transaction of one step of a change across services (D6): its caller has made an id for it and repeats it until it is answered.
    ///
    /// - Parameters:
    ///   - operation: the id of the change; its reply is kept for 7 days.
    ///   - user: whose change it is: the reply is deleted with the account.
    ///   - request: what the repeat must equal.
    ///   - body: the change, as in `once`. A refusal that it returns is an answer like any other: every repeat gets it, although the
    ///     change might be allowed by then. A refusal that it throws is not stored.
    /// - Throws: `OPERATION_CONFLICT` when the operation came with another request, the refusal that `body` returned the first time, and
    ///   whatever it throws.
    public func once<Request: Message, Reply: Message>(
        operation: OperationID,
        of user: UserID,
        _ context: CallContext,
        _ request: Request,
        isolation: Isolation = .readCommitted,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Result<Reply, ServiceError>
    ) async throws -> Once<Reply> {
        let stored = try StoredReply(operation: operation, of: user, request)
        return Once(try await answer(context, stored, isWhole: true, isolation, body).reply())
    }

    private func answer<Reply: Message>(
        _ context: CallContext,
        _ stored: StoredReply,
        isWhole: Bool,
        _ isolation: Isolation,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Result<Reply, ServiceError>
    ) async throws -> StoredAnswer {
        try await answer(context, stored, isWhole: isWhole, isolation, loading: { _, _ in }) { work, _ in try await body(work) }
    }

    private func answer<Reply: Message, Loaded: Sendable>(
        _ context: CallContext,
        _ stored: StoredReply,
        isWhole: Bool,
        _ isolation: Isolation,
        _ owner: String? = nil,
        keeping kept: Kept = .reply,
        loading load: @escaping @Sendable (UnitOfWork, KeyCondition) throws -> Loaded,
        _ body: @escaping @Sendable (UnitOfWork, Loaded) async throws -> Result<Reply, ServiceError>
    ) async throws -> StoredAnswer {
        @Sendable func attempt(_ work: UnitOfWork) async throws -> StoredAnswer {
            let claim = try stored.enqueueClaim(work.sql)
            let loaded = try load(work, stored.condition(at: work.now))
            if let known = try await stored.known(claim, at: work.now, work.sql) { return known }
            let answer: StoredAnswer
            switch try await body(work, loaded) {
            case .success(let reply): answer = StoredAnswer(bytes: try reply.serialized(), isWhole: isWhole)
            case .failure(let refusal): answer = try StoredAnswer(refusal: refusal)
            }
            if kept == .reply {
                try stored.store(answer, at: work.now, work.sql)
            } else {
                try stored.storeRequest(at: work.now, work.sql)
            }
            return answer
        }
        do {
            return try await work.run(context, isolation: isolation, sharedBy: owner, attempt)
        } catch  where StoredReply.isAnsweredMeanwhile(error) {
            return try await work.run(context, isolation: isolation, attempt)
        }
    }

    /// Deletes the replies that have expired at `now`, by the clock that the requests were stamped with.
    public func purge(now: Instant) async throws {
        _ = try await database.execute("DELETE FROM stored_reply WHERE expires_at <= \(now)")
    }
}
