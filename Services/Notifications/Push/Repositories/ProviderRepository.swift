internal import Database
internal import Kernel
internal import NotificationsDomain

/// What all replicas share about the push service: how many connections are open, how fast it is asked, and whether it answers.
enum ProviderRepository {
    /// Pushes a second that are handed over by default, of the 600 that the provider takes from a project: requests that begin evenly may
    /// arrive closer to each other.
    static let defaultRate = 500
    /// Connections that pushes may use, of the six: one is left for receipts, or a long queue of pushes would have none asked for.
    static let pushSlots = 5

    /// Whether it may be asked.
    enum Gate: Sendable {
        case open
        /// It is away: not yet.
        case closed
        /// It was away. The caller, and no other, asks whether it answers again.
        case probe
    }

    /// - Parameter mayProbe: whether the caller can ask whether it answers again.
    static func gate(_ sql: Transaction, mayProbe: Bool = true) async throws -> Gate {
        let rows = try await sql.query("SELECT must_probe, away_until <= clock_timestamp() FROM push_provider")
        guard let (mustProbe, isOver) = try rows.first?.decode(as: (Bool.self, Bool.self)), isOver else { return .closed }
        guard mustProbe else { return .open }
        guard mayProbe else { return .closed }
        let mine = try await sql.execute(
            """
            UPDATE push_provider SET away_until = clock_timestamp() + interval '30 seconds'
            WHERE must_probe AND away_until <= clock_timestamp()
            """
        )
        return mine == 1 ? .probe : .closed
    }

    /// Takes a connection for 60 s. - Returns: nil when all are in use.
    ///
    /// - Parameter isForPushes: whether it is to be one of those that pushes may use.
    static func takeSlot(_ holder: OperationID, isForPushes: Bool, _ sql: Transaction) async throws -> Int32? {
        let last = isForPushes ? pushSlots : Int(Int32.max)
        return try await sql.query(
            """
            UPDATE push_slot SET holder = \(holder), held_until = clock_timestamp() + interval '60 seconds' WHERE slot =
                (SELECT slot FROM push_slot WHERE held_until <= clock_timestamp() AND slot <= \(last) ORDER BY slot DESC LIMIT 1
                    FOR UPDATE SKIP LOCKED)
            RETURNING slot
            """
        ).first?.decode(as: Int32.self)
    }

    /// Lengthens the hold of a connection. - Returns: whether it still holds.
    static func renewSlot(_ slot: Int32, _ holder: OperationID, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            UPDATE push_slot SET held_until = clock_timestamp() + interval '60 seconds'
            WHERE slot = \(slot) AND holder = \(holder) AND held_until > clock_timestamp()
            """
        ) == 1
    }

    static func freeSlot(_ slot: Int32, _ holder: OperationID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE push_slot SET holder = NULL, held_until = clock_timestamp() WHERE slot = \(slot) AND holder = \(holder)"
        )
    }

    /// Reserves the time of so many pushes, behind those that are reserved already. The last statement of its transaction: all who hand
    /// over wait for this row.
    ///
    /// - Parameter rate: pushes a second.
    /// - Returns: how long to wait before they are handed over.
    static func reserve(_ count: Int, rate: Int, _ sql: Transaction) async throws -> Interval {
        let length = Interval(microseconds: Int64(count) * 1_000_000 / Int64(max(1, rate)))
        let rows = try await sql.query(
            """
            UPDATE push_provider SET free_at = greatest(free_at, clock_timestamp()) + \(length)
            RETURNING greatest(free_at - \(length) - clock_timestamp(), interval '0')
            """
        )
        return try rows.first?.decode(as: Interval.self) ?? .zero
    }

    /// Notes that the provider did not answer, or takes nothing now. Several requests that fail at once count as one failure.
    ///
    /// - Parameters:
    ///   - random: evenly in 0..<1.
    ///   - asked: how long it wants to be left alone.
    static func noteFailure(random: Double, asked: Interval?, _ sql: Transaction) async throws {
        let rows = try await sql.query(
            "SELECT failures, must_probe AND away_until > clock_timestamp() FROM push_provider FOR UPDATE"
        )
        guard let (failures, isKnown) = try rows.first?.decode(as: (Int32.self, Bool.self)) else { return }
        let count = isKnown ? max(failures, 1) : failures + 1
        let delay = RetryDelay.after(attempt: Int(count), random: random, asked: asked)
        _ = try await sql.execute(
            """
            UPDATE push_provider SET must_probe = true, failures = least(\(count), 1000),
                away_until = CASE WHEN \(isKnown) AND \(asked == nil) THEN away_until
                    WHEN \(isKnown) THEN greatest(away_until, clock_timestamp() + \(delay)) ELSE clock_timestamp() + \(delay) END
            """
        )
    }

    /// Notes that a probe which had failed before failed again.
    static func noteFailedProbe(random: Double, asked: Interval?, _ sql: Transaction) async throws {
        let rows = try await sql.query("SELECT failures FROM push_provider FOR UPDATE")
        let count = (try rows.first?.decode(as: Int32.self) ?? 0) + 1
        let delay = RetryDelay.after(attempt: Int(count), random: random, asked: asked)
        _ = try await sql.execute(
            """
            UPDATE push_provider SET must_probe = true, failures = least(\(count), 1000), away_until = clock_timestamp() + \(delay)
            """
        )
    }

    /// Notes that the provider answers again. The back-off stays until it has answered a hand-over.
    static func noteAnswer(_ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE push_provider SET must_probe = false, away_until = clock_timestamp()")
    }

    /// What may be handed over.
    enum Trust: Sendable {
        case full
        /// It has answered no hand-over since it did not answer one.
        case doubtful
        /// It must answer a probe first.
        case none
    }

    /// To be asked when pushes are locked: the note that a push was not answered frees it and ends the trust in one transaction, which may
    /// come between the gate and the lock.
    static func trust(_ sql: Transaction) async throws -> Trust {
        let rows = try await sql.query("SELECT must_probe, failures > 0 FROM push_provider")
        guard let (mustProbe, hasFailed) = try rows.first?.decode(as: (Bool.self, Bool.self)), !mustProbe else { return .none }
        return hasFailed ? .doubtful : .full
    }

    /// The back-off begins anew after a hand-over that the provider answered.
    static func noteSuccess(_ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE push_provider SET failures = 0 WHERE failures <> 0 AND NOT must_probe")
    }
}
