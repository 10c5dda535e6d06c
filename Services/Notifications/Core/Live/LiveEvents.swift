package import Kernel
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
    /// The counters of these users stay locked until the commit: append last, and all at once.
    package func append(_ events: [LiveEvent], _ work: UnitOfWork) async throws {
        guard !events.isEmpty else { return }
        try await LiveEventRepository.append(events, now: work.now, work.sql)
        work.whenEnded { [publisher] in publisher.wake() }
    }

    /// Appends events, and after them how many unread entries the user has: wherever an entry is written, read or deleted.
    ///
    /// The count is read when the user's counter is locked, so the newest `unread_count` of a stream is always that of the last commit.
    ///
    /// - Parameters:
    ///   - events: of this user; none when only the count has changed.
    ///   - count: reads it in the same transaction, after the change.
    package func append(
        _ events: [LiveEvent] = [],
        unreadOf user: UserID,
        _ work: UnitOfWork,
        count: () async throws -> Int32
    ) async throws {
        if events.isEmpty { _ = try await LiveEventRepository.lock(user, work.sql) }
        try await append(events, work)
        try await append([.unreadCount(of: user, try await count())], work)
    }

    /// Publishes what a replica that has ended has left. - Returns: how many there were.
    package func publishLeft() async throws -> Int { try await publisher.publish() }
}
