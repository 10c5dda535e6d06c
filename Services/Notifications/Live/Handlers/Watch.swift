internal import Bus
internal import CommonAPI
internal import Database
internal import Kernel
internal import NotificationsCore

/// NO-7: holds the lease of a stream, and gives what its client has missed. It may run any number of times for one stream.
struct Watch: QueryHandler {
    /// Streams of a user that are open at once.
    static let mostStreams = 5
    /// A client that has missed more reads its lists again.
    static let mostMissed = 500

    let database: Database

    /// - Throws: `TOO_MANY_STREAMS` for a stream beyond `mostStreams`.
    func handle(_ request: StreamRequest, _ context: CallContext) async throws -> StreamPage {
        let user = try context.requireUser()
        return try await database.transaction { sql in
            let lastID = try await LiveEventRepository.lock(user, sql)
            guard try await LeaseRepository.hold(request.leaseID, of: user, atMost: Self.mostStreams, sql) else {
                throw ServiceError(
                    .resourceExhausted,
                    "TOO_MANY_STREAMS",
                    "You have \(Self.mostStreams) open streams; close one first.",
                    retryAfter: 10
                )
            }
            guard let known = Int64(request.lastEventID), (0...lastID).contains(known) else { return Self.reset(lastID) }
            let events = try await LiveEventRepository.events(of: user, after: known, limit: Self.mostMissed, sql)
            // Of the ids between, all must be there: they count without gaps, and old ones are deleted.
            guard Int64(events.count) == lastID - known else { return Self.reset(lastID) }
            return StreamPage(events: events, lastID: lastID)
        }
    }

    /// What the client has is not known, or too long ago.
    private static func reset(_ lastID: Int64) -> StreamPage {
        StreamPage(events: [StreamEvent(id: lastID, name: "reset", data: "{}")], lastID: lastID)
    }
}
