internal import Bus
public import Database
public import Kernel

/// What has not left an outbox yet.
public struct OutboxLag: Sendable, Equatable {
    /// Committed events that the broker does not have. Counted up to `most`, so that it costs little also after a long outage.
    public let waiting: Int
    /// How long ago the oldest of them was committed; zero when there is none.
    public let oldestAge: Interval
    /// Where counting ends.
    public static let most = 100_000
}

/// Events that a feature has consumed and not handled yet.
public struct RetryLag: Sendable, Equatable {
    /// Those that are tried again, or wait behind such a one.
    public internal(set) var retrying = 0
    /// Those that were given up until an operator re-drives them.
    public internal(set) var parked = 0
    /// Of `retrying`, those that wait behind a parked one: nothing happens to them until an operator acts.
    public internal(set) var heldBack = 0

    /// Nothing waits.
    public init() {}

    init(retrying: Int, parked: Int, heldBack: Int) { (self.retrying, self.parked, self.heldBack) = (retrying, parked, heldBack) }
}

/// How far a stream goes.
private struct StreamEnd: Sendable {
    let stream: String
    /// The place of its newest message.
    let place: Int
}

extension OutboxRelay {
    /// What waits, from two queries of a partial index.
    public func lag() async throws -> OutboxLag {
        let rows = try await database.query(
            """
            SELECT (SELECT count(*) FROM (SELECT 1 FROM outbox WHERE published_at IS NULL LIMIT \(OutboxLag.most)) AS counted),
                coalesce((SELECT extract(epoch FROM greatest(clock_timestamp() - created_at, interval '0'))::float8
                          FROM outbox WHERE published_at IS NULL ORDER BY position LIMIT 1), 0)
            """
        )
        let (waiting, seconds) = try rows.first?.decode(as: (Int.self, Double.self)) ?? (0, 0)
        return OutboxLag(waiting: waiting, oldestAge: .milliseconds(Int64(seconds * 1_000)))
    }
}

extension EventConsumer {
    /// Messages of each stream (`EVT_AUTH`) that the feature has not passed.
    ///
    /// - Throws: when the database or the broker does not answer for one of them.
    public func pending() async throws -> [String: Int] {
        var pending: [String: Int] = [:]
        for stream in streams {
            let position = try await position(in: stream)
            pending[stream] = Self.distance(from: position, to: try await Self.end(of: stream, jetStream))
        }
        return pending
    }

    /// The same of several features of one service, by feature and stream: one question to the broker for each stream. Streams for which it
    /// does not answer are left out.
    ///
    /// - Throws: when the database does not answer.
    public static func pending(of consumers: [EventConsumer]) async throws -> [String: [String: Int]] {
        guard let jetStream = consumers.first?.jetStream else { return [:] }
        // Asked first: what is passed meanwhile only makes the numbers too large.
        let positions = try await positions(of: consumers)
        let ends = await ends(of: Set(positions.map(\.stream)), jetStream)
        var pending: [String: [String: Int]] = [:]
        for (feature, stream, position) in positions {
            guard let end = ends[stream] else { continue }
            pending[feature, default: [:]][stream] = distance(from: position, to: end)
        }
        return pending
    }

    private static func positions(of consumers: [EventConsumer]) async throws
        -> [(feature: String, stream: String, position: Int)]
    {
        var positions: [(feature: String, stream: String, position: Int)] = []
        for consumer in consumers {
            for stream in consumer.streams {
                positions.append((consumer.feature, stream, try await consumer.position(in: stream)))
            }
        }
        return positions
    }

    /// A stream that is behind us was made anew, or is empty by now.
    private static func distance(from position: Int, to end: Int) -> Int { position <= end ? end - position : end }

    /// The ends of those streams for which the broker answers, asked for at once: one without an answer holds up no other.
    private static func ends(of streams: Set<String>, _ jetStream: JetStream) async -> [String: Int] {
        await withTaskGroup(of: StreamEnd?.self) { tasks in
            for stream in streams {
                tasks.addTask { (try? await end(of: stream, jetStream)).map { StreamEnd(stream: stream, place: $0) } }
            }
            var ends: [String: Int] = [:]
            for await end in tasks {
                if let end { ends[end.stream] = end.place }
            }
            return ends
        }
    }

    /// What is tried again or parked.
    public func retries() async throws -> RetryLag { try await Self.retries(in: database)[feature] ?? RetryLag() }

    /// The same of all features of a database that have any, by feature.
    public static func retries(in database: Database) async throws -> [String: RetryLag] {
        let rows = try await database.query(
            """
            SELECT feature, count(*) FILTER (WHERE parked_at IS NULL), count(*) FILTER (WHERE parked_at IS NOT NULL),
                count(*) FILTER (WHERE parked_at IS NULL AND EXISTS (
                    SELECT 1 FROM event_retry AS parked
                    WHERE parked.feature = waiting.feature AND parked.aggregate = waiting.aggregate AND parked.position < waiting.position AND parked.parked_at IS NOT NULL))
            FROM event_retry AS waiting GROUP BY feature
            """
        )
        var lags: [String: RetryLag] = [:]
        for row in rows {
            let (feature, retrying, parked, heldBack) = try row.decode(as: (String.self, Int.self, Int.self, Int.self))
            lags[feature] = RetryLag(retrying: retrying, parked: parked, heldBack: heldBack)
        }
        return lags
    }

    /// Events that will be consumed without an operator: 0 when the service has consumed everything, parked ones and what waits behind
    /// them left out.
    public func backlog() async throws -> Int { try await Self.backlog(of: [self]) }

    /// The same of several features of one service: one question to the broker for each stream.
    ///
    /// - Throws: when the database or the broker does not answer.
    public static func backlog(of consumers: [EventConsumer]) async throws -> Int {
        guard let any = consumers.first else { return 0 }
        let positions = try await positions(of: consumers)
        var ends: [String: Int] = [:]
        for stream in Set(positions.map(\.stream)) { ends[stream] = try await end(of: stream, any.jetStream) }
        let retries = try await retries(in: any.database)
        return positions.reduce(0) { $0 + distance(from: $1.position, to: ends[$1.stream] ?? 0) }
            + consumers.reduce(0) { sum, consumer in
                let lag = retries[consumer.feature] ?? RetryLag()
                return sum + lag.retrying - lag.heldBack
            }
    }

    /// The place of the newest message; 0 for none. A service that has not started yet has no stream and emitted nothing.
    static func end(of stream: String, _ jetStream: JetStream) async throws -> Int {
        do { return try await jetStream.newestMessage(in: stream)?.streamSequence ?? 0 } catch let error as JetStreamError
            where error.status == 404
        { return 0 }
    }

    /// The place up to which the feature has consumed a stream; 0 before the first event.
    func position(in stream: String) async throws -> Int {
        // Our own is noted only as often as the lease is renewed.
        if let turn = turns.withLock({ $0[stream] }) { return turn.position?.sequence ?? 0 }
        let rows = try await database.query(
            "SELECT position FROM consumer_lease WHERE feature = \(feature) AND stream = \(stream)"
        )
        return try rows.first?.decode(as: Int.self) ?? 0
    }
}
