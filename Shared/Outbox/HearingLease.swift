internal import Database
internal import Kernel

/// The right to hear a stream for a service: one replica at a time (D5). The others stand by.
struct HearingLease: Sendable {
    /// How long a replica that died holds up the others, in seconds.
    private static let length = 6.0
    /// How long the holder relies on it: shorter, so that it has stopped before the next one begins.
    static let trust = Duration.milliseconds(4_500)

    let stream: String
    let holder: ID<EventConsumer>
    let database: Database

    /// Takes or prolongs it. - Returns: whether it is ours.
    func hold() async throws -> Bool {
        try await database.execute(
            """
            INSERT INTO hearing_lease AS lease (stream, holder, held_until)
            VALUES (\(stream), \(holder), clock_timestamp() + make_interval(secs => \(Self.length)))
            ON CONFLICT (stream) DO UPDATE SET holder = EXCLUDED.holder, held_until = EXCLUDED.held_until
            WHERE lease.holder = EXCLUDED.holder OR lease.held_until < clock_timestamp()
            """
        ) == 1
    }

    /// Leaves it to the others at once.
    func giveUp() async {
        _ = try? await database.execute(
            "UPDATE hearing_lease SET held_until = '-infinity' WHERE stream = \(stream) AND holder = \(holder)"
        )
    }

    /// What a transaction found when it entered an event in the inbox.
    enum Entry {
        case new
        case heardBefore
        /// Another replica hears now.
        case lost
    }

    /// Enters an event in the inbox, unless another replica has taken over: what that one does comes after what is committed here,
    /// because it enters the same event first and waits for this transaction.
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
