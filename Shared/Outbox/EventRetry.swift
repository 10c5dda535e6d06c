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

    /// The same for a job that runs often. While nothing has failed here lately it looks only once a second: for what another replica, or a
    /// process before this one, put aside.
    ///
    /// - Returns: how many were dealt with; 0 also when it did not look.
    public func retryIfDue() async throws -> Int {
        guard retryWatch.isTimeToLook() else { return 0 }
        let dealtWith = try await retryDue()
        if dealtWith > 0 { retryWatch.somethingWaits() }
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

/// Whether it is worth asking the database for events to try again.
final class RetryWatch: Sendable {
    private struct State {
        var looked: ContinuousClock.Instant?
        var busyUntil: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    /// An event was put aside, or tried again: others may follow at once.
    func somethingWaits() { state.withLock { $0.busyUntil = .now.advanced(by: .seconds(10)) } }

    /// - Returns: whether to look now; then it counts as done.
    func isTimeToLook(at now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in
            let isIdle = state.busyUntil.map { $0 < now } ?? true
            if isIdle, let looked = state.looked, looked.advanced(by: .seconds(1)) > now { return false }
            state.looked = now
            return true
        }
    }
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
