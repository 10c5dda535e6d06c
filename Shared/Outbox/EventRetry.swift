internal import Database
internal import Kernel
private import Synchronization

/// The queue of events whose handler failed.
extension EventConsumer {
    /// Tries the events that are due, the oldest of each aggregate first.
    ///
    /// - Returns: how many were dealt with; call again until it is 0.
    public func retryDue() async throws -> Int {
        let due = try await database.query(
            """
            SELECT event_id FROM event_retry AS head
            WHERE feature = \(feature) AND parked_at IS NULL AND next_attempt_at <= (SELECT clock_timestamp())
              AND position = (SELECT min(position) FROM event_retry AS earlier
                  WHERE earlier.feature = head.feature AND earlier.aggregate = head.aggregate)
            ORDER BY position LIMIT 100
            """
        )
        var dealtWith = 0
        var failure: (any Error)?
        for row in due {
            // One that must wait must not hold up the others.
            do { if try await retry(try row.decode(as: EventID.self)) { dealtWith += 1 } } catch { failure = error }
        }
        if let failure, dealtWith == 0 { throw failure }
        return dealtWith
    }

    /// Events that were given up until an operator re-drives them.
    public var parked: ParkedEvents { ParkedEvents(database: database) }

    private func retry(_ id: EventID) async throws -> Bool {
        do {
            return try await work.run(trace: "", requestID: "") { [self] work in
                guard let event = try await lock(id, work.sql) else { return false }
                try await handlers[event.subject]?.handle(event, work.continuing(event))
                return try await work.sql.execute("DELETE FROM event_retry WHERE \(isThis(id))") == 1
            }
        } catch let failure {
            if failure is CancellationError { throw failure }
            if let error = failure as? DatabaseError, error.mayPass { throw error }
            try await recordFailure(id, failure)
            return true
        }
    }

    private func lock(_ id: EventID, _ sql: Transaction) async throws -> StoredEvent? {
        // Another replica may have it: skip, do not wait.
        let rows = try await sql.query(
            """
            SELECT aggregate, subject, trace, request_id, body FROM event_retry
            WHERE \(isThis(id)) AND parked_at IS NULL AND next_attempt_at <= clock_timestamp() FOR UPDATE SKIP LOCKED
            """
        )
        guard let row = rows.first else { return nil }
        let (aggregate, subject, trace, requestID, body) = try row.decode(
            as: (String.self, String.self, String.self, String.self, [UInt8].self)
        )
        return StoredEvent(id: id, aggregate: aggregate, subject: subject, trace: trace, requestID: requestID, body: body)
    }

    private func isThis(_ id: EventID) -> Query { "event_id = \(id) AND feature = \(feature)" }

    private func recordFailure(_ id: EventID, _ failure: any Error) async throws {
        let rows = try await database.query(
            """
            UPDATE event_retry SET attempts = attempts + 1, last_error = \(EventRetry.text("\(failure)")),
                next_attempt_at = clock_timestamp() + make_interval(secs => least(300, 0.2 * power(2, attempts + 1))),
                parked_at = CASE WHEN attempts + 1 >= \(maxAttempts) THEN clock_timestamp() END
            WHERE \(isThis(id)) RETURNING subject, attempts, parked_at IS NOT NULL
            """
        )
        guard let row = rows.first else { return }
        let (subject, attempts, isParked) = try row.decode(as: (String.self, Int.self, Bool.self))
        logger.log(
            level: isParked ? .error : .warning,
            isParked ? "an event was parked" : "an event failed again",
            metadata: [
                "event": "\(id)", "feature": "\(feature)", "subject": "\(subject)", "attempts": "\(attempts)",
                "error": "\(failure)",
            ]
        )
    }
}

/// Tries the failed events of all features of a replica, for a job that runs often.
public struct EventRetries: Sendable {
    private let consumers: [EventConsumer]

    /// - Parameter consumers: all of one database.
    public init(_ consumers: [EventConsumer]) { self.consumers = consumers }

    /// Whether something failed here lately, so that more will be due within the second.
    public var isBusy: Bool { consumers.contains { $0.retryWatch.isBusy } }

    /// Tries what is due, also what another replica, or a process before this one, put aside: one statement says of which features.
    ///
    /// - Returns: how many were dealt with; call again until it is 0.
    public func retryDue() async throws -> Int {
        let due = try await featuresWithDue()
        var dealtWith = 0
        var failure: (any Error)?
        for consumer in consumers where due.contains(consumer.feature) {
            do {
                let count = try await consumer.retryDue()
                if count > 0 { consumer.retryWatch.somethingWaits() }
                dealtWith += count
            } catch { failure = error }
        }
        // One feature must not hold up the others.
        if let failure, dealtWith == 0 { throw failure }
        return dealtWith
    }

    private func featuresWithDue() async throws -> Set<String> {
        guard let database = consumers.first?.database else { return [] }
        let rows = try await database.query(
            """
            SELECT feature FROM unnest(\(consumers.map(\.feature))) AS consuming (feature)
            WHERE EXISTS (SELECT 1 FROM event_retry AS due
                WHERE due.feature = consuming.feature AND parked_at IS NULL AND next_attempt_at <= (SELECT clock_timestamp()))
            """
        )
        return Set(try rows.map { try $0.decode(as: String.self) })
    }
}

/// Whether events of a feature failed here lately.
final class RetryWatch: Sendable {
    private let busyUntil = Mutex<ContinuousClock.Instant?>(nil)

    /// An event was put aside, or tried again: others may follow at once.
    func somethingWaits(at now: ContinuousClock.Instant = .now) { busyUntil.withLock { $0 = now.advanced(by: .seconds(10)) } }

    /// Whether to look often.
    var isBusy: Bool { isBusy(at: .now) }

    /// The same at an instant.
    func isBusy(at now: ContinuousClock.Instant) -> Bool { busyUntil.withLock { $0.map { now <= $0 } ?? false } }
}

/// When an event is tried again.
enum EventRetry {
    /// Seconds: 0.4, 0.8, 1.6, … at most 300.
    static func delay(afterAttempt attempt: Int) -> Double {
        attempt == 0 ? 0 : min(300, 0.2 * Double(1 << min(attempt, 20)))
    }

    /// An error's text as the table can hold it: short, and without NUL, or the failure could not be noted.
    static func text(_ error: String) -> String { String(error.replacing("\0", with: "").prefix(500)) }
}
