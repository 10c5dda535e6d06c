package import Outbox
package import ServiceRuntime

/// Where a change of what a user sees becomes an event for the user's open apps (NO-7).
///
/// One line, in the transaction of the change: `try await live.append([.notification(to: user, id, type: "nudge")], work)`. The event
/// has the user's next id; after the commit it is published, and open streams have it some milliseconds later.
package struct LiveEvents: Sendable {
    private let publisher: LivePublisher

    init(publisher: LivePublisher) { self.publisher = publisher }

    package init(_ environment: ServiceEnvironment) async throws {
        publisher = try await environment.shared { environment in
            LivePublisher(
                events: LiveEventRepository(database: environment.database),
                bus: environment.bus,
                logger: environment.logger
            )
        }
    }

    /// Appends events to their users' streams.
    ///
    /// The counters of these users stay locked until the commit: append last, and all at once. A count that is read after it
    /// in the same transaction is exact.
    package func append(_ events: [LiveEvent], _ work: UnitOfWork) async throws {
        guard !events.isEmpty else { return }
        try await LiveEventRepository.append(events, now: work.now, work.sql)
        work.whenEnded { [publisher] in publisher.wake() }
    }

    /// Publishes what a replica that has ended has left. - Returns: how many there were.
    package func publishLeft() async throws -> Int { try await publisher.publish() }
}
