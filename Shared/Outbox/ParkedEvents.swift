public import Database
public import Kernel

/// Events of one service that were tried too often and wait for an operator, who sees why and has them tried again.
public struct ParkedEvents: Sendable {
    private let database: Database

    /// Those in a service's schema.
    public init(database: Database) { self.database = database }

    /// The oldest first.
    ///
    /// - Parameter after: only those with a higher `position`.
    public func list(after position: Int64 = 0, limit: Int = 100) async throws -> [ParkedEvent] {
        try await database.query(
            """
            SELECT event_id, feature, aggregate, subject, attempts, last_error, parked_at, position FROM event_retry
            WHERE parked_at IS NOT NULL AND position > \(position) ORDER BY position LIMIT \(limit)
            """
        ).map { row in
            let (id, feature, aggregate, subject, attempts, error, parkedAt, position) = try row.decode(
                as: (EventID.self, String.self, String.self, String.self, Int.self, String.self, Instant.self, Int64.self)
            )
            return ParkedEvent(
                id: id,
                feature: feature,
                aggregate: aggregate,
                subject: subject,
                attempts: attempts,
                lastError: error,
                parkedAt: parkedAt,
                position: position
            )
        }
    }

    /// Gives parked events a fresh start: one, in every feature that parked it, or all when `id` is nil. What waits behind them follows in order.
    ///
    /// - Parameter feature: of this one only; nil: of all.
    /// - Returns: how many will be tried again, counted per feature; 0 when the event is not parked.
    public func redrive(_ id: EventID? = nil, of feature: String? = nil) async throws -> Int {
        try await database.execute(
            """
            UPDATE event_retry SET parked_at = NULL, attempts = 0, next_attempt_at = clock_timestamp()
            WHERE parked_at IS NOT NULL AND event_id = coalesce(\(id), event_id) AND feature = coalesce(\(feature), feature)
            """
        )
    }
}

/// An event that was tried too often.
public struct ParkedEvent: Sendable {
    /// The event's id.
    public let id: EventID
    /// The feature whose handler failed.
    public let feature: String
    /// What it is about.
    public let aggregate: String
    /// Its type.
    public let subject: String
    /// How often its handler failed.
    public let attempts: Int
    /// How it failed last.
    public let lastError: String
    /// Since when it waits for an operator.
    public let parkedAt: Instant
    /// Its place among the events of the service: later ones have higher numbers, from 1.
    public let position: Int64
}
