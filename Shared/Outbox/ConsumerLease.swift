internal import Database
internal import Kernel

/// The right to read a stream for a feature: one replica at a time has it (D5), the others are on standby. The same row says how far the
/// feature has come.
///
/// It spares double work. Order and single effect do not depend on it: two replicas that both believe to hold it go through the stream
/// in the same order, and an event that one of them has begun holds up the other at the inbox. So a replica that was frozen and goes on does
/// no harm, although nothing keeps the row from being taken over in the middle of its transaction.
struct ConsumerLease: Sendable {
    /// How long one statement of it may take before it is given up.
    static let statementLimit = Duration.seconds(15)

    let feature: String
    let stream: String
    let holder: ID<EventConsumer>
    let database: Database
    /// By which the others see that this replica lives; without it they wait until the lease runs out.
    let presence: ReplicaPresence?
    /// How long a replica that died holds up the others when nothing shows that it did.
    let length: Duration

    /// What the row says of its holder.
    struct Hold: Sendable, Equatable {
        /// The lock by which the others see that the holder died.
        let presence: Int64?
        /// How long they wait when they do not see it.
        let length: Duration
        /// When to renew it at the latest.
        var renewal: Duration { length / 3 }
        /// When to renew it, or to note how far we are if that has changed.
        var notice: Duration { min(renewal, .seconds(6)) }
        fileprivate var seconds: Double { length / .seconds(1) }
    }

    /// What to write now. A holder who shows its presence renews less often, since the others go by that: dozens of leases would otherwise
    /// write many times a second.
    var hold: Hold {
        let shown = presence?.shown
        return Hold(presence: shown, length: shown == nil ? length : length * 10)
    }

    /// How far the feature is; nil in it when it has consumed nothing yet.
    struct Position: Sendable {
        let value: StreamPosition?
    }

    /// - Returns: where to go on, or nil when another replica holds it.
    @Sendable func acquire() async throws -> Position? {
        // Standby replicas ask often, and would write each time.
        let free = try await database.query(
            """
            SELECT 1 WHERE coalesce((SELECT \(LeaseRow.mayBeTaken("lease", by: "\(holder)::uuid")) FROM consumer_lease AS lease
                WHERE feature = \(feature) AND stream = \(stream)), true)
            """
        )
        guard !free.isEmpty else { return nil }
        let hold = hold
        let rows = try await database.query(
            """
            INSERT INTO consumer_lease AS lease (feature, stream, holder, held_until, presence)
            VALUES (\(feature), \(stream), \(holder), clock_timestamp() + make_interval(secs => \(hold.seconds)), \(hold.presence))
            ON CONFLICT (feature, stream) DO UPDATE SET holder = EXCLUDED.holder, held_until = EXCLUDED.held_until,
                presence = EXCLUDED.presence
            WHERE \(LeaseRow.mayBeTaken("lease", by: "EXCLUDED.holder"))
            RETURNING position, position_at
            """
        )
        guard let (sequence, timestamp) = try rows.first?.decode(as: (Int.self, Instant?.self)) else { return nil }
        return Position(value: timestamp.map { StreamPosition(sequence: sequence, timestamp: $0) })
    }

    /// Keeps it, and notes how far we are. - Returns: whether it is ours.
    func renew(_ hold: Hold, at position: StreamPosition?) async throws -> Bool {
        try await database.execute(
            """
            UPDATE consumer_lease SET held_until = clock_timestamp() + make_interval(secs => \(hold.seconds)), presence = \(hold.presence),
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
    /// this transaction, or this one for its: at most a second longer than this replica does something, so that one that is frozen here does
    /// not hold up its successor.
    func enter(_ event: StoredEvent, _ sql: Transaction) async throws -> Entry {
        let rows = try await sql.query(
            """
            WITH held AS (SELECT 1 FROM consumer_lease WHERE feature = \(feature) AND stream = \(stream) AND holder = \(holder)),
                entered AS (
                    INSERT INTO inbox (event_id, feature) SELECT \(event.id)::uuid, \(feature)::text FROM held
                    ON CONFLICT DO NOTHING RETURNING 1)
            SELECT (SELECT count(*) FROM held) = 1, (SELECT count(*) FROM entered) = 1,
                set_config('idle_in_transaction_session_timeout', '1s', true)
            """
        )
        guard let (isHeld, isNew, _) = try rows.first?.decode(as: (Bool.self, Bool.self, String.self)), isHeld else {
            return .lost
        }
        return isNew ? .new : .consumedBefore
    }

    /// The same for several events, by one statement. In the order of their ids, so that two replicas that are at the same events, each of
    /// which may divide them differently, do not wait for each other in a ring; no other row is locked before these.
    ///
    /// - Returns: those that are new; nil when another replica reads now.
    func enter(_ events: [StoredEvent], _ sql: Transaction) async throws -> Set<EventID>? {
        let rows = try await sql.query(
            """
            WITH held AS (SELECT 1 FROM consumer_lease WHERE feature = \(feature) AND stream = \(stream) AND holder = \(holder)),
                entered AS (
                    INSERT INTO inbox (event_id, feature)
                    SELECT id, \(feature)::text FROM unnest(\(Array(Set(events.map(\.id))))) AS id, held ORDER BY id
                    ON CONFLICT DO NOTHING RETURNING event_id)
            SELECT (SELECT count(*) FROM held) = 1, ARRAY(SELECT event_id FROM entered),
                set_config('idle_in_transaction_session_timeout', '1s', true)
            """
        )
        guard let (isHeld, new, _) = try rows.first?.decode(as: (Bool.self, [EventID].self, String.self)), isHeld else {
            return nil
        }
        return Set(new)
    }
}
