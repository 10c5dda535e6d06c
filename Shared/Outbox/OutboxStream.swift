internal import Bus
internal import Database
internal import Kernel
internal import Logging
private import Synchronization

/// What an outbox knows of the stream that has its published events: the row of `outbox_stream`.
struct StreamRecord: Sendable, Equatable {
    /// When the broker made the stream; nil when it was never seen.
    var made: Instant?
    /// The highest sequence number that is noted as published.
    var last: Int
    /// How many losses there were.
    var generation: Int64
    /// Whether rows are still being marked as not published.
    var isReplaying: Bool

    /// Whether the broker has lost events: the stream is another one, or shorter.
    ///
    /// - Parameters:
    ///   - stream: as the broker describes it, asked after the record was read: a stream only grows.
    ///   - hasPublished: whether any row is noted as published.
    func isLost(in stream: StreamInfo, hasPublished: Bool) -> Bool {
        if isReplaying { return true }
        guard let made else { return hasPublished && stream.lastSequence == 0 }
        return made != stream.created || stream.lastSequence < last
    }
}

/// The stream of a service as its relay sees it: where it ends, and whether it still has what was published (D5).
///
/// A broker can lose its disk, or come back with an older one. So the stream is checked on every new connection to the broker and now and
/// then; and every event leaves with the sequence number that must be the last before it. A broker whose stream ends elsewhere refuses it, so
/// no event gets into a stream before those that it has lost. After a loss all rows that are kept are marked as not published, and leave
/// again in their order; inboxes make the effect happen once.
final class OutboxStream: Sendable {
    /// How often it is checked while nothing else is a reason to.
    private static let interval = Duration.seconds(5)
    /// Rows that one statement marks.
    private static let batch = 5_000

    let name: String
    private let database: Database
    private let jetStream: JetStream
    private let logger: Logger
    private let known = Mutex<Known?>(nil)

    /// A stream that was checked and is the one that has what was published.
    private struct Known {
        var generation: Int64
        var last: Int
        let epoch: ConnectionEpoch
        let checked = ContinuousClock.now
    }

    init(service: String, database: Database, jetStream: JetStream, logger: Logger) {
        self.name = EventConsumer.streamName(ofService: service)
        self.database = database
        self.jetStream = jetStream
        self.logger = logger
    }

    /// Where the stream ends, as far as is known (the number that the next event must follow), and how many losses there were.
    var end: (last: Int, generation: Int64)? { known.withLock { $0.map { ($0.last, $0.generation) } } }

    /// Whether it is time to check: nothing is known, or the connection is another one, or some seconds have passed.
    var isCheckDue: Bool {
        let epoch = jetStream.epoch
        return known.withLock { known in
            guard let known else { return true }
            return known.epoch != epoch || known.checked.advanced(by: Self.interval) < .now
        }
    }

    /// Events were stored up to this place, by us.
    func advance(to sequence: Int) {
        known.withLock { known in
            if let last = known?.last { known?.last = max(last, sequence) }
        }
    }

    /// Where it ends is no longer known.
    func forget() { known.withLock { $0 = nil } }

    /// Asks the broker. Afterwards `last` is known, unless the stream has lost events: then `recover` is due.
    ///
    /// - Returns: whether the stream has what was published.
    /// - Throws: `JetStreamError` (404 while there is no stream), `ServiceError` while the broker is away, `DatabaseError`.
    func check() async throws -> Bool {
        forget()
        // From before the question: an answer over a later connection must not count for it.
        let epoch = jetStream.epoch
        let (record, hasPublished) = try await record()
        let stream = try await jetStream.streamInfo(name)
        guard !record.isLost(in: stream, hasPublished: hasPublished) else { return false }
        if record.made == nil {
            _ = try await database.execute(
                """
                UPDATE outbox_stream SET made = \(stream.created), last_sequence = \(stream.lastSequence)
                WHERE made IS NULL AND generation = \(record.generation)
                """
            )
        }
        known.withLock { $0 = Known(generation: record.generation, last: stream.lastSequence, epoch: epoch) }
        return true
    }

    /// Marks all rows that are kept as not published, for a stream that has lost events. Only for the replica that relays. What is
    /// interrupted goes on with the next call.
    ///
    /// - Parameter goesOn: asked before each statement whether this replica still relays.
    /// - Returns: how many events leave again.
    @discardableResult
    func recover(while goesOn: () async throws -> Bool) async throws -> Int {
        forget()
        var (record, hasPublished) = try await record()
        let stream = try await jetStream.streamInfo(name)
        guard record.isLost(in: stream, hasPublished: hasPublished) else { return 0 }
        if !record.isReplaying {
            logger.warning(
                "the broker has lost events; those that are kept leave again",
                metadata: ["stream": "\(name)", "published": "\(record.last)", "has": "\(stream.lastSequence)"]
            )
            // From here on no relay notes as published what it has sent before.
            let begun = try await database.execute(
                """
                UPDATE outbox_stream SET generation = generation + 1, is_replaying = true
                WHERE generation = \(record.generation) AND NOT is_replaying
                """
            )
            guard begun == 1 else { return 0 }
            record.generation += 1
        }
        var total = 0
        while try await goesOn() {
            let marked = try await database.execute(
                """
                UPDATE outbox SET published_at = NULL, replays = replays + 1 WHERE id IN (
                    SELECT id FROM outbox WHERE published_at IS NOT NULL ORDER BY position LIMIT \(Self.batch))
                AND EXISTS (SELECT 1 FROM outbox_stream WHERE is_replaying AND generation = \(record.generation))
                """
            )
            total += marked
            guard marked == 0 else { continue }
            _ = try await database.execute(
                """
                UPDATE outbox_stream SET made = \(stream.created), last_sequence = \(stream.lastSequence), is_replaying = false
                WHERE is_replaying AND generation = \(record.generation)
                """
            )
            break
        }
        return total
    }

    /// Notes events as published, unless the stream they were sent to has lost events meanwhile.
    ///
    /// - Parameters:
    ///   - sequence: the highest number that one of them has in the stream.
    ///   - generation: that of `end` before the first of them was sent.
    func note(_ events: [EventID], upTo sequence: Int, generation: Int64) async throws {
        let noted = try await database.execute(
            """
            WITH current AS (
                UPDATE outbox_stream SET last_sequence = greatest(last_sequence, \(sequence))
                WHERE generation = \(generation) AND NOT is_replaying RETURNING 1)
            UPDATE outbox SET published_at = clock_timestamp() WHERE id = ANY(\(events)) AND EXISTS (SELECT 1 FROM current)
            """
        )
        if noted == 0 { forget() }
    }

    private func record() async throws -> (record: StreamRecord, hasPublished: Bool) {
        let rows = try await database.query(
            """
            SELECT made, last_sequence, generation, is_replaying,
                EXISTS (SELECT 1 FROM outbox WHERE published_at IS NOT NULL ORDER BY position LIMIT 1)
            FROM outbox_stream
            """
        )
        guard let row = rows.first else { throw ServiceError.internal }
        let (made, last, generation, isReplaying, hasPublished) = try row.decode(
            as: (Instant?.self, Int.self, Int64.self, Bool.self, Bool.self)
        )
        return (StreamRecord(made: made, last: last, generation: generation, isReplaying: isReplaying), hasPublished)
    }
}
