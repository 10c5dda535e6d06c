internal import Database
internal import Kernel

/// The turn to hear a stream for a service: one replica at a time (D5), the others stand by. The same row says how far the service is.
///
/// It spares double work. Order and single effect do not depend on it: two replicas that both believe to have it go through the stream
/// in the same order, and an event that one of them has begun holds up the other at the inbox.
struct HearingLease: Sendable {
    /// How long one statement of it may take before it is given up.
    static let patience = Duration.seconds(15)

    let stream: String
    let holder: ID<EventConsumer>
    let database: Database
    /// How long a replica that died holds up the others.
    let length: Duration
    /// How often it is prolonged.
    var renewal: Duration { length / 6 }
    private var seconds: Double { length / .seconds(1) }

    /// How far the service is; nil in it when it has heard nothing yet.
    struct Position: Sendable {
        let value: StreamPosition?
    }

    /// - Returns: where to go on, or nil when it is another replica's turn.
    @Sendable func take() async throws -> Position? {
        let rows = try await database.query(
            """
            INSERT INTO hearing_lease AS lease (stream, holder, held_until)
            VALUES (\(stream), \(holder), clock_timestamp() + make_interval(secs => \(seconds)))
            ON CONFLICT (stream) DO UPDATE SET holder = EXCLUDED.holder, held_until = EXCLUDED.held_until
            WHERE lease.holder = EXCLUDED.holder OR lease.held_until < clock_timestamp()
            RETURNING position, position_at
            """
        )
        guard let (sequence, timestamp) = try rows.first?.decode(as: (Int.self, Instant?.self)) else { return nil }
        return Position(value: timestamp.map { StreamPosition(sequence: sequence, timestamp: $0) })
    }

    /// Keeps it, and notes how far we are. - Returns: whether it is ours.
    func prolong(at position: StreamPosition?) async throws -> Bool {
        try await database.execute(
            """
            UPDATE hearing_lease SET held_until = clock_timestamp() + make_interval(secs => \(seconds)),
                position = \(position?.sequence ?? 0), position_at = \(position?.timestamp)
            WHERE stream = \(stream) AND holder = \(holder)
            """
        ) == 1
    }

    /// Notes how far we are, and leaves it to the others at once.
    func giveUp(at position: StreamPosition?) async {
        _ = try? await database.execute(
            """
            UPDATE hearing_lease SET held_until = '-infinity', position = \(position?.sequence ?? 0), position_at = \(position?.timestamp)
            WHERE stream = \(stream) AND holder = \(holder)
            """
        )
    }

    /// What a transaction found when it entered an event in the inbox.
    enum Entry {
        case new
        case heardBefore
        /// Another replica hears now.
        case lost
    }

    /// Enters an event in the inbox, unless another replica has the turn. Should that one be at the same event, it waits for the end of
    /// this transaction, or this one for its.
    func enter(_ event: StoredEvent, _ sql: Transaction) async throws -> Entry {
        let rows = try await sql.query(
            """
            WITH held AS (SELECT 1 FROM hearing_lease WHERE stream = \(stream) AND holder = \(holder)),
                entered AS (INSERT INTO inbox (event_id) SELECT \(event.id)::uuid FROM held ON CONFLICT DO NOTHING RETURNING 1)
            SELECT (SELECT count(*) FROM held) = 1, (SELECT count(*) FROM entered) = 1
            """
        )
        guard let (isHeld, isNew) = try rows.first?.decode(as: (Bool.self, Bool.self)), isHeld else { return .lost }
        return isNew ? .new : .heardBefore
    }
}
