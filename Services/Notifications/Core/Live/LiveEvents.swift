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

    /// Makes a change of a user's log, and sends open apps what it comes to. Changes of one log are made one after the other, so that the
    /// count is exact.
    ///
    /// - Parameter change: makes it; says what to append before the count, or nil when there is nothing to say.
    /// - Returns: how many entries are unread afterwards.
    package func changeLog(
        of user: UserID,
        _ log: NotificationRepository,
        _ work: UnitOfWork,
        _ change: () async throws -> [LiveEvent]?
    ) async throws -> Int32 {
        _ = try await LiveEventRepository.lock(user, work.sql)
        let events = try await change()
        let unread = try await log.unreadCount(of: user, work.sql)
        if let events { try await append(events + [.unreadCount(of: user, unread)], work) }
        return unread
    }

    /// Makes a change of several users' logs, and sends their open apps what it comes to. Their logs are locked in the order of the users' ids,
    /// so that no two calls wait for each other, and stay locked until the commit.
    ///
    /// - Parameters:
    ///   - numbers: how many events `change` gives for each user.
    ///   - change: makes it; returns the events, those of each user in their order.
    func changeLogs(_ numbers: [UserID: Int], _ work: UnitOfWork, _ change: () async throws -> [LiveEvent]) async throws {
        guard !numbers.isEmpty else { return }
        var next = try await LiveEventRepository.reserve(numbers, work.sql)
        let events = try await change().map { event in
            next[event.user, default: 0] += 1
            return NumberedLiveEvent(id: next[event.user] ?? 0, event: event)
        }
        guard Dictionary(grouping: events, by: \.event.user).mapValues(\.count) == numbers else { throw ServiceError.internal }
        try await LiveEventRepository.insert(events, now: work.now, work.sql)
        work.whenEnded { [publisher] in publisher.wake() }
    }

    /// Publishes what a replica that has ended has left. - Returns: how many there were.
    package func publishLeft() async throws -> Int { try await publisher.publish() }
}
