internal import Bus
internal import CommonAPI
internal import Database
internal import Kernel
internal import Outbox

/// Holds a reply back until what protects a user has taken effect everywhere (D21).
///
/// The events are in the outbox since the commit, and leave and are applied as always. This asks every service that must apply them to
/// reply when it has. Until then their rows are marked; so a repeat of the request, after a failure here, waits for the same events.
public struct EventBarrier: Sendable {
    /// How long a reply is held back at most.
    static let limit = Interval.seconds(2)
    /// How long one question may take: the replica that got it may be frozen, and the next one goes to another.
    private static let attempt = Interval.milliseconds(600)
    /// Events that are older are not waited for: something is wrong with them that an operator must see to.
    private static let oldest = Interval.hours(1)

    let database: Database
    let bus: any Caller

    /// - Parameters:
    ///   - database: the one with the outbox of the events.
    ///   - bus: reaches the services that apply them.
    init(database: Database, bus: any Caller) {
        self.database = database
        self.bus = bus
    }

    /// `rpc.<service>.v1.AwaitEvents`.
    static func method(of service: String) -> Method<AwaitEventsRequest, Empty> {
        Method(service: service, version: "v1", name: "AwaitEvents", isIdempotent: true)
    }

    /// The error of a change that is made and has not taken effect everywhere in time.
    static let late = ServiceError(
        .unavailable,
        "UNAVAILABLE",
        "The change was made and takes effect in a moment. Repeat the request to learn when it has.",
        retryAfter: 2
    )

    /// Returns when every protective event for `key` has been applied.
    ///
    /// - Parameter deadline: at most `limit` from now.
    /// - Throws: `UNAVAILABLE` when that takes longer or a service is away; the events remain and have their effect later.
    func pass(_ key: ProtectionKey, until deadline: Instant, _ context: CallContext) async throws {
        do {
            let events = try await marked(key)
            guard !events.isEmpty else { return }
            var questions: [String: [AwaitedEvent]] = [:]
            for event in events {
                for service in ProtectiveEvents.services(applying: event.subject) {
                    questions[service, default: []].append(event)
                }
            }
            let end = min(deadline, SystemClock.now() + Self.limit)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for (service, events) in questions {
                    tasks.addTask { try await ask(service, AwaitEventsRequest(events: events), until: end, context) }
                }
                try await tasks.waitForAll()
            }
            _ = try await database.execute("UPDATE outbox SET protects = NULL WHERE id = ANY(\(events.map(\.eventID)))")
        } catch is CancellationError {
            throw CancellationError()
        } catch { throw Self.late }
    }

    private func marked(_ key: ProtectionKey) async throws -> [AwaitedEvent] {
        let seconds = Double(Self.oldest.seconds)
        let rows = try await database.query(
            """
            SELECT id, subject FROM outbox
            WHERE protects = \(key) AND created_at > clock_timestamp() - make_interval(secs => \(seconds)) ORDER BY position LIMIT 100
            """
        )
        return try rows.map { row in
            let (id, subject) = try row.decode(as: (EventID.self, String.self))
            return AwaitedEvent(eventID: id, subject: subject)
        }
    }

    /// Asks again and again: a service whose only replica was killed is back in a moment.
    private func ask(_ service: String, _ request: AwaitEventsRequest, until end: Instant, _ context: CallContext) async throws {
        while true {
            var question = context.child(principal: Principal(role: .service))
            question.deadline = min(end, SystemClock.now() + Self.attempt)
            do {
                _ = try await bus.call(Self.method(of: service), request, context: question)
                return
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                guard SystemClock.now() + .milliseconds(50) < end else { throw error }
                try await Task.sleep(for: .milliseconds(30))
            }
        }
    }
}

/// Replies when this service has applied the events of another that protect a user, and what it emitted because of them has been applied
/// in turn.
struct AwaitEvents: Sendable {
    let service: String
    let database: Database
    let barrier: EventBarrier
    /// Of the features of this replica (`FeatureParts.protection`).
    var protections: [@Sendable () async throws -> Void] = []

    /// - Throws: `UNAVAILABLE` shortly before the deadline.
    func handle(_ request: AwaitEventsRequest, _ context: CallContext) async throws -> Empty {
        var (ids, features): ([EventID], [String]) = ([], [])
        for event in request.events {
            for feature in ProtectiveEvents.features(of: service, applying: event.subject) {
                ids.append(event.eventID)
                features.append(feature)
            }
        }
        // So that the answer arrives in time.
        let end = context.deadline - .milliseconds(50)
        var pause = Duration.milliseconds(4)
        while try await !areApplied(ids, features) {
            guard SystemClock.now() < end else { throw EventBarrier.late }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(50))
        }
        for protection in protections { try await protection() }
        for event in request.events {
            try await barrier.pass(event.eventID.cast(to: ProtectiveEvents.self), until: end, context)
        }
        return Empty()
    }

    /// Whether each feature has the event in its inbox, and not put aside because its handler failed.
    private func areApplied(_ ids: [EventID], _ features: [String]) async throws -> Bool {
        // Counted: for EXISTS the planner may read the whole inbox once instead of looking each event up.
        try await database.query(
            """
            SELECT 1 FROM unnest(\(ids), \(features)) AS awaited (event_id, feature)
            WHERE (SELECT count(*) FROM inbox WHERE inbox.event_id = awaited.event_id AND inbox.feature = awaited.feature) = 0
                OR (SELECT count(*) FROM event_retry AS waiting
                    WHERE waiting.event_id = awaited.event_id AND waiting.feature = awaited.feature) > 0
            LIMIT 1
            """
        ).isEmpty
    }
}
