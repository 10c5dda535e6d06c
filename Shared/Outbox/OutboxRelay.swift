public import Bus
public import Database
public import Kernel
public import Logging
private import Synchronization

/// Publishes committed outbox rows to JetStream, in order, and marks them when the broker has them (D5).
///
/// One replica of a service relays at a time (a lease row); the others are standby and wake it over the bus. It is woken after a commit in its
/// own process, and every replica polls every `pollInterval` as a fallback. A row is published at least once: the event id is the
/// `Nats-Msg-Id`, and inboxes make the effect happen once. What the broker has lost is published again (`OutboxStream`).
public final class OutboxRelay: Sendable {
    /// Rows of one batch. After a midnight each query steps over the index entries of some thousand rows that were just published, so a batch
    /// should not be small.
    private static let batch = 1_000
    /// How long a standby replica that sees events wait leaves them to the active one before it looks whether that one lives.
    private static let standbyPause = Duration.milliseconds(200)
    /// Rows that one statement deletes.
    private static let purged = 5_000
    /// How long one batch may wait for the broker.
    private static let publishLimit = Interval.seconds(3)
    /// How long one round may take altogether before it is cancelled and begun anew: statements and the broker have shorter limits of their own.
    private static let roundLimit = Duration.seconds(30)
    /// When the last round of a batch begins at the latest.
    private static let lastRound = Interval.seconds(1)

    let database: Database
    private let jetStream: JetStream
    private let bus: BusConnection
    private let service: String
    private let stream: OutboxStream
    private let replica: ID<OutboxRelay>
    private let logger: Logger
    private let pollInterval: Duration
    /// How long a replica that died holds up the others. Two that overlap publish some events twice, in the same order.
    private let leaseLength: Duration
    private let presence: ReplicaPresence?
    private let signal = WakeSignal()
    private let turn = Mutex(Turn())
    private let publishedCount = Atomic(0)

    /// Whose turn it is to relay, as far as is known here.
    private struct Turn {
        /// This replica's until then.
        var mineUntil: ContinuousClock.Instant?
        /// Another's, not asked about again before then.
        var otherUntil: ContinuousClock.Instant?
    }

    /// - Parameters:
    ///   - service: the bus name; its stream is `EVT_<SERVICE>`.
    ///   - pollInterval: how long an event may wait when a wake-up was lost.
    ///   - leaseLength: how long a replica that died holds up the others when nothing shows that it did, at least 100 ms.
    ///   - presence: by which the others see that it did.
    public init(
        database: Database,
        jetStream: JetStream,
        bus: BusConnection,
        service: String,
        ids: any IDSource,
        logger: Logger,
        pollInterval: Duration = .seconds(1),
        leaseLength: Duration = .seconds(6),
        presence: ReplicaPresence? = nil
    ) {
        self.database = database
        self.jetStream = jetStream
        self.bus = bus
        self.service = service
        self.stream = OutboxStream(service: service, database: database, jetStream: jetStream, logger: logger)
        self.replica = ids.make()
        self.logger = logger
        self.pollInterval = pollInterval
        self.leaseLength = leaseLength
        self.presence = presence
    }

    /// How many events the broker has taken from this replica so far.
    public var published: Int { publishedCount.load(ordering: .sequentiallyConsistent) }

    /// Says that there may be rows to publish. Cheap; many calls become one round.
    public func wake() { signal.wake() }

    /// Relays until the task is cancelled. Failures are logged and tried again.
    public func run() async {
        await withTaskExecutorPreference(jetStream.executor()) { await goOn() }
    }

    private func goOn() async {
        let subscription = try? bus.subscribe("relay.\(service).wake") { [self] _ in
            // A standby replica does not answer its own call, or those of others: they would call each other for as long as anything waits.
            if !isOthersTurn { signal.wake() }
        }
        defer { subscription?.cancel() }
        var failures = 0
        while !Task.isCancelled {
            do {
                var began = ContinuousClock.now
                while try await withTimeLimit(Self.roundLimit, relay).isMoreLikely {
                    try await giveWay(after: ContinuousClock.now - began)
                    began = .now
                }
                failures = 0
                await signal.wait(atMost: isOthersTurn ? min(pollInterval, Self.standbyPause) : pollInterval)
            } catch {
                if Task.isCancelled { break }
                failures += 1
                await leaveTurn(after: error)
                // The first, and then ever more rarely.
                if failures & (failures - 1) == 0 {
                    logger.warning("events wait in the outbox", metadata: ["error": "\(error)", "failures": "\(failures)"])
                }
                try? await Task.sleep(for: .milliseconds(min(1_000, 100 << min(failures, 4))))
            }
        }
        // The task is cancelled by now, and what is cancelled sends no statement.
        await Task { [self] in await releaseLease() }.value
    }

    /// Rests after a full batch while transactions run here: where thousands of events wait, what makes them comes first, because a streak
    /// that is settled late shows a wrong count and an event that leaves late is only late.
    private func giveWay(after batch: Duration) async throws {
        if database.health.leased > 0 { try await Task.sleep(for: min(batch * 3, .seconds(1))) }
    }

    /// Publishes what waits, for at most five seconds, and leaves the rest to the other replicas at once. For a replica that stops.
    public func finish() async {
        let end = ContinuousClock.now.advanced(by: .seconds(5))
        // The other one may have stopped just now.
        turn.withLock { $0.otherUntil = nil }
        do {
            while ContinuousClock.now < end, try await withTimeLimit(Self.roundLimit, relayBatch) > 0 {}
        } catch {
            logger.warning("events stay in the outbox", metadata: ["error": "\(error)"])
        }
        await releaseLease()
    }

    /// Publishes what waits, up to one batch.
    ///
    /// - Returns: how many rows were published; 0 also when another replica relays.
    @discardableResult @Sendable
    public func relayBatch() async throws -> Int { try await relay().published }

    /// - Returns: how many were published, and whether there are more: this batch was full, or its time was up.
    @Sendable private func relay() async throws -> (published: Int, isMoreLikely: Bool) {
        // A standby replica reads no rows: it would do so in vain again and again while the active one publishes thousands.
        if !isMyTurn {
            guard !isOthersTurn else { return try wakeTheActive() }
            var hasWork = try await hasStreamLostEvents()
            if !hasWork { hasWork = try await isAnyWaiting() }
            guard hasWork else { return (0, false) }
            // Its database alone would let it keep the lease, from replicas that have a broker.
            guard bus.isConnected else { throw ServiceError.unavailable("The broker is away.") }
            guard try await takesLease() else { return try wakeTheActive() }
        }
        if stream.isCheckDue, try await !stream.check() {
            try await stream.recover { [self] in
                if isMyTurn { return true }
                return try await takesLease()
            }
            guard try await stream.check() else { return (0, true) }
        }
        let rows = try await waiting()
        guard !rows.isEmpty, let end = stream.end else { return (0, false) }
        let sending = await send(rows, generation: end.generation)
        if !sending.refused.isEmpty {
            logger.error(
                "the broker refuses an event",
                metadata: ["aggregates": "\(sending.refused.sorted().joined(separator: " "))"]
            )
        }
        let published = sending.published
        // Before the rows say so: a reader that sees nothing waiting sees this too.
        publishedCount.add(published.count, ordering: .sequentiallyConsistent)
        if !published.isEmpty {
            try await stream.note(published, upTo: sending.highest, generation: end.generation)
        }
        guard !sending.hasFailed else { throw ServiceError.unavailable("The broker did not take every event.") }
        return (published.count, rows.count == Self.batch || published.count < rows.count)
    }

    /// Whether the broker has lost events while nothing waits here. It is not asked often, and one that is away says nothing.
    private func hasStreamLostEvents() async throws -> Bool {
        guard stream.isCheckDue else { return false }
        do { return try await !stream.check() } catch let error as DatabaseError { throw error } catch { return false }
    }

    /// How many committed events still wait; 0 when the outbox is quiet.
    public func backlog() async throws -> Int {
        let rows = try await database.query("SELECT count(*) FROM outbox WHERE published_at IS NULL")
        return try rows.first?.decode(as: Int.self) ?? 0
    }

    /// Publishes once more every kept event that was committed since an instant: for a broker that lost its disk, or a consumer that lost
    /// its schema. Those that consumed an event ignore it; those whose inbox is empty consume it (again). Rows are kept 7 days.
    ///
    /// - Returns: how many events will leave again.
    public func replay(since: Instant) async throws -> Int {
        var total = 0
        // Batches, from the oldest: a statement must end within its time-out, and the order must hold.
        var after: Int64 = -1
        while true {
            let rows = try await database.query(
                """
                WITH batch AS (
                    UPDATE outbox SET published_at = NULL, replays = replays + 1 WHERE id IN (
                        SELECT id FROM outbox WHERE published_at IS NOT NULL AND created_at >= \(since) AND position > \(after)
                        ORDER BY position LIMIT 5000)
                    RETURNING position)
                SELECT count(*), coalesce(max(position), 0) FROM batch
                """
            )
            guard let (count, last) = try rows.first?.decode(as: (Int.self, Int64.self)), count > 0 else { break }
            total += count
            after = last
        }
        wake()
        return total
    }

    /// Deletes published events that are older than `age`, and what was consumed so long ago that no replay can bring it again: the oldest
    /// first, a few thousand a statement, so that none runs into its time-out after a week of many events.
    public func purge(olderThan age: Interval = .days(7)) async throws {
        let seconds = Double(age.seconds)
        // The time in a sub-select: an index is searched for what is evaluated once, not for what may differ from row to row.
        while try await database.execute(
            """
            DELETE FROM outbox WHERE id IN (
                SELECT id FROM (
                    SELECT id, created_at FROM outbox WHERE published_at IS NOT NULL AND (
                        SELECT created_at FROM outbox WHERE published_at IS NOT NULL ORDER BY position LIMIT 1
                    ) < (SELECT clock_timestamp() - make_interval(secs => \(seconds))) ORDER BY position LIMIT \(Self.purged)
                ) AS oldest WHERE created_at < (SELECT clock_timestamp() - make_interval(secs => \(seconds))))
            """
        ) == Self.purged {}
        // An event can be replayed on the last day of its row and then lie in a stream for as long again.
        while try await database.execute(
            """
            DELETE FROM inbox WHERE (event_id, feature) IN (
                SELECT event_id, feature FROM inbox
                WHERE consumed_at < (SELECT clock_timestamp() - make_interval(secs => \(2 * seconds + 86_400)))
                ORDER BY consumed_at LIMIT \(Self.purged))
            """
        ) == Self.purged {}
    }

    private struct Waiting: Sendable {
        let id: EventID
        let event: StoredEvent
        let messageID: String

        /// - Parameter sequence: where the stream must end for the broker to take it.
        func message(after sequence: Int) -> OutgoingEvent {
            var headers = event.headers
            headers["Nats-Expected-Last-Sequence"] = "\(sequence)"
            return OutgoingEvent(subject: event.subject, messageID: messageID, headers: headers, body: event.body)
        }
    }

    private func waiting() async throws -> [Waiting] {
        let rows = try await database.query(
            """
            SELECT id, aggregate, subject, trace, request_id, body, replays FROM outbox
            WHERE published_at IS NULL ORDER BY position LIMIT \(Self.batch)
            """
        )
        return try rows.map { row in
            let (id, aggregate, subject, trace, requestID, body, replays) = try row.decode(
                as: (EventID.self, String.self, String.self, String.self, String.self, [UInt8].self, Int32.self)
            )
            return Waiting(
                id: id,
                event: StoredEvent(
                    id: id,
                    aggregate: aggregate,
                    subject: subject,
                    trace: trace,
                    requestID: requestID,
                    body: body
                ),
                messageID: replays == 0 ? id.description : "\(id).\(replays)"
            )
        }
    }

    /// What became of a batch.
    private struct Sending {
        /// What the broker has.
        var published: [EventID] = []
        /// The highest number of those in the stream.
        var highest = 0
        /// The aggregates of which it will never take an event.
        var refused: Set<String> = []
        /// The aggregates of which an event was not taken.
        var failed: Set<String> = []
        var hasFailed = false
    }

    /// Sends in rounds, in each the next event of every aggregate: none leaves before the broker has the one before it, whatever the broker
    /// had already and whatever is lost. One that fails holds up its own aggregate only. No round begins late in the time of the batch: many
    /// events of one aggregate leave one by one, and the rest of them with the next batch.
    ///
    /// - Parameter generation: that of the stream; should it change meanwhile, the rest is left.
    private func send(_ rows: [Waiting], generation: Int64) async -> Sending {
        let start = SystemClock.now()
        let deadline = start + Self.publishLimit
        var sending = Sending()
        var waiting = rows
        while !waiting.isEmpty, SystemClock.now() - start < Self.lastRound {
            guard let end = stream.end, end.generation == generation else {
                sending.hasFailed = true
                break
            }
            var aggregates: Set<String> = []
            let round = waiting.filter { aggregates.insert($0.event.aggregate).inserted }
            let results = await jetStream.publish(
                round.enumerated().map { $1.message(after: end.last + $0) },
                deadline: deadline
            )
            var taken: Set<EventID> = []
            var (isElsewhere, isUnknown) = (false, false)
            for (row, result) in zip(round, results) {
                switch result {
                case .success(let ack):
                    taken.insert(row.id)
                    sending.published.append(row.id)
                    sending.highest = max(sending.highest, ack.sequence)
                    stream.advance(to: ack.sequence)
                case .failure(let error as JetStreamError) where error.code == JetStreamError.wrongLastSequence:
                    isElsewhere = true
                case .failure(let error):
                    sending.failed.insert(row.event.aggregate)
                    if Self.isRefusal(error) { sending.refused.insert(row.event.aggregate) }
                    isUnknown = isUnknown || !(error is JetStreamError || Self.isRefusal(error))
                }
            }
            // Nothing is known of the end after an event without an answer, and nothing of the stream while the broker is away.
            if isUnknown { stream.forget() }
            if isElsewhere, !isUnknown { _ = try? await stream.check() }
            waiting = waiting.filter { !taken.contains($0.id) && !sending.failed.contains($0.event.aggregate) }
        }
        sending.hasFailed = sending.hasFailed || !sending.failed.isEmpty
        return sending
    }

    /// Whether trying again cannot help.
    private static func isRefusal(_ error: any Error) -> Bool {
        if let error = error as? ServiceError { return error.code == .invalidArgument }
        return (error as? JetStreamError)?.status == 400
    }

    private var isMyTurn: Bool { turn.withLock { $0.mineUntil.map { $0 > .now } ?? false } }
    private var isOthersTurn: Bool { turn.withLock { $0.otherUntil.map { $0 > .now } ?? false } }

    /// - Returns: what `relay` does when it is another replica's turn.
    private func wakeTheActive() throws -> (published: Int, isMoreLikely: Bool) {
        try bus.publish("relay.\(service).wake", body: [])
        return (0, false)
    }

    private func isAnyWaiting() async throws -> Bool {
        try await !database.query("SELECT 1 FROM outbox WHERE published_at IS NULL LIMIT 1").isEmpty
    }

    /// Takes the lease, or keeps it.
    private func takesLease() async throws -> Bool {
        let (now, shown) = (ContinuousClock.now, presence?.shown)
        let taken = try await database.execute(
            """
            UPDATE outbox_lease SET holder = \(replica), held_until = clock_timestamp() + make_interval(secs => \(leaseLength / .seconds(1))),
                presence = \(shown)
            WHERE \(LeaseRow.mayBeTaken("outbox_lease", by: "\(replica)::uuid"))
            """
        )
        turn.withLock {
            // Renewed at half time, so that it never runs out in the middle of a batch; sooner when the row does not show yet that we live.
            let isHidden = presence != nil && shown == nil
            let term = isHidden ? min(leaseLength / 2, .milliseconds(500)) : leaseLength / 2
            $0.mineUntil = taken == 1 ? now.advanced(by: term) : nil
            $0.otherUntil = taken == 1 ? nil : now.advanced(by: min(pollInterval, Self.standbyPause))
        }
        return taken == 1
    }

    /// Leaves the turn to the others when the broker does not answer: this replica may be cut off from the broker alone, and would renew
    /// its lease for as long as that lasts.
    private func leaveTurn(after error: any Error) async {
        guard stream.end == nil, !(error is DatabaseError), turn.withLock({ $0.mineUntil != nil }) else { return }
        await releaseLease()
    }

    private func releaseLease() async {
        turn.withLock { $0 = Turn() }
        _ = try? await database.execute("UPDATE outbox_lease SET held_until = '-infinity' WHERE holder = \(replica)")
    }
}
