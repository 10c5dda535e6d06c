internal import Bus
internal import CommonAPI
internal import Database
internal import Kernel
internal import Logging
internal import Outbox

/// Answers what administrators ask of a service (`OperationMethods`): the same numbers as its metrics, and what its command `events` does.
struct ServiceOperations: Sendable {
    /// Most parked events in one reply.
    private static let mostParked = 1_000

    let service: String
    let database: Database
    let relay: OutboxRelay
    let consumers: [EventConsumer]
    let jobs: [Job]
    let standings: JobStandings
    let logger: Logger

    var endpoints: [Endpoint] {
        [
            Endpoint(OperationMethods.backlog(of: service)) { _, _ in try await backlog() },
            Endpoint(OperationMethods.parkedEvents(of: service)) { request, context in
                _ = try context.requireAdmin()
                return try await parked(request)
            },
            Endpoint(OperationMethods.redriveParkedEvents(of: service)) { request, context in
                let admin = try context.requireAdmin()
                return try await redrive(request, admin, context)
            },
        ]
    }

    private func backlog() async throws -> BacklogReply {
        let lag = try await relay.lag()
        let pending = try await EventConsumer.pending(of: consumers)
        let retries = try await EventConsumer.retries(in: database)
        let names = Set(consumers.map(\.feature)).union(retries.keys).sorted()
        return BacklogReply(
            unpublished: Int64(lag.waiting),
            unpublishedSince: lag.waiting == 0 ? nil : SystemClock.now() - lag.oldestAge,
            features: names.map { name in
                let retry = retries[name] ?? RetryLag()
                return FeatureBacklog(
                    feature: name,
                    pending: pending[name].map { Int64($0.values.reduce(0, +)) },
                    retrying: Int64(retry.retrying),
                    parked: Int64(retry.parked),
                    heldBack: Int64(retry.heldBack)
                )
            },
            jobs: jobs.map { standings.standing(of: $0.name) }
        )
    }

    private func parked(_ request: ParkedEventsRequest) async throws -> ParkedEventsReply {
        let limit = request.limit == 0 ? 100 : min(Int(request.limit), Self.mostParked)
        return ParkedEventsReply(
            events: try await ParkedEvents(database: database).list(after: request.after, limit: limit).map { event in
                ParkedEventEntry(
                    eventID: event.id,
                    feature: event.feature,
                    subject: event.subject,
                    aggregate: event.aggregate,
                    attempts: Int32(clamping: event.attempts),
                    parkedAt: event.parkedAt,
                    lastError: event.lastError,
                    position: event.position
                )
            }
        )
    }

    private func redrive(_ request: RedriveParkedEventsRequest, _ admin: UserID, _ context: CallContext) async throws
        -> RedriveParkedEventsReply
    {
        let count = try await ParkedEvents(database: database).redrive(request.eventID, of: request.feature)
        logger.notice(
            "an administrator has parked events tried again",
            metadata: [
                "admin": "\(admin)", "event": "\(request.eventID.map { "\($0)" } ?? "all")",
                "feature": "\(request.feature ?? "all")", "redriven": "\(count)", "request-id": "\(context.requestID)",
            ]
        )
        return RedriveParkedEventsReply(redriven: Int64(count))
    }
}
