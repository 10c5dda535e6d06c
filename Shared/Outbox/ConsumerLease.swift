internal import Database
internal import Kernel

/// The right to read a stream for a feature: one replica at a time has it (D5), the others are on standby. The same row says how far the
/// feature has come.
///
/// It spares double work. Order and single effect do not depend on it: two replicas that both believe to hold it go through the stream
/// in the same order, and an event that one of them has begun holds up the other at the inbox.
struct ConsumerLease: Sendable {
    /// How long one statement of it may take before it is given up.
    static let statementLimit = Duration.seconds(15)

    let feature: String
    let stream: String
    let holder: ID<EventConsumer>
    let database: Database
    /// How long a replica that died holds up the others.
    let length: Duration
    /// How often it is renewed.
    var renewal: Duration { length / 3 }
    private var seconds: Double { length / .seconds(1) }

    /// How far the feature is; nil in it when it has consumed nothing yet.
    struct Position: Sendable {
        let value: StreamPosition?
    }

    /// - Returns: where to go on, or nil when another replica holds it.
    @Sendable func acquire() async throws -> Position? {
        let rows = try await database.query(
            """
            INSERT INTO consumer_lease AS lease (feature, stream, holder, held_until)
            VALUES (\(feature), \(stream), \(holder), clock_timestamp() + make_interval(secs => \(seconds)))
            ON CONFLICT (feature, stream) DO UPDATE SET holder = EXCLUDED.holder, held_until = EXCLUDED.held_until
            WHERE lease.holder = EXCLUDED.holder OR lease.held_until < clock_timestamp()
            RETURNING position, position_at
            """
        )
        guard let (sequence, timestamp) = try rows.first?.decode(as: (Int.self, Instant?.self)) else { return nil }
        return Position(value: timestamp.map { StreamPosition(sequence: sequence, timestamp: $0) })
    }

    /// Keeps it, and notes how far we are. - Returns: whether it is ours.
    func renew(at position: StreamPosition?) async throws -> Bool {
        try await database.execute(
            """
            UPDATE consumer_lease SET held_until = clock_timestamp() + make_interval(secs => \(seconds)),
                position = \(position?.sequence ?? 0), position_at = \(position?.timestamp)
            WHERE feature = \(feature) AND stream = \(stream) AND holder = \(holder)
            """
        ) == 1
    }

    /// Notes how far we are, and leaves it to the others at once.
    func release(at position: StreamPosition?) async {
        _ = try? await database.execute(
            """
            UPDATE consumer_lease SET held_until = '-infinity', position = \(position?.sequence ?? 0),
                position_at = \(position?.timestamp)
            WHERE feature = \(feature) AND stream = \(stream) AND holder = \(holder)
            """
        )
    }

    /// What a transaction found when it entered an event in the inbox.
    enum Entry {
        case new
        case consumedBefore
        /// Another replica reads now.
        case lost
    }

    /// Enters an event in the inbox, unless another replica holds the lease. Should that one be at the same event, it waits for the end of
    /// this transaction, or this one for its.
    func enter(_ event: StoredEvent, _ sql: Transaction) async throws -> Entry {
        let rows = try await sql.query(
            """
            WITH held AS (SELECT 1 FROM consumer_lease WHERE feature = \(feature) AND stream = \(stream) AND holder = \(holder)),
                entered AS (
                    INSERT INTO inbox (event_id, feature) SELECT \(event.id)::uuid, \(feature)::text FROM held
                    ON CONFLICT DO NOTHING RETURNING 1)
            SELECT (SELECT count(*) FROM held) = 1, (SELECT count(*) FROM entered) = 1
            """
        )
        guard let (isHeld, isNew) = try rows.first?.decode(as: (Bool.self, Bool.self)), isHeld else { return .lost }
        return isNew ? .new : .consumedBefore
    }
}
