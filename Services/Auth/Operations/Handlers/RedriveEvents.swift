internal import AuthAPI
internal import AuthCore
internal import Bus
internal import CommonAPI
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// An administrator has parked events tried again. It is in the audit log before the service is asked, so that nothing is done that is not.
struct RedriveEvents: MutationHandler {
    /// How long the service has to answer.
    private static let timeout = Interval.seconds(3)

    let roster: ServiceRoster
    let bus: any Caller
    let mutations: Mutations

    func handle(_ request: RedriveEventsRequest, _ context: CallContext) async throws -> Once<RedriveEventsReply> {
        let admin = try context.requireAdmin()
        guard try await roster.knows(request.service) else { throw ServiceError.unknownService }
        var detail = "\(request.service): \(request.eventID.map { "the event \($0)" } ?? "all parked events")"
        if let feature = request.feature { detail += " of \(feature)" }
        let noted = detail
        return try await mutations.once(
            context,
            request,
            completedBy: { _ in try await redrive(request, context) },
            { work in
                try await AdminLog.note(.redriveEvents, of: nil, by: admin, noted, context, work)
                return RedriveEventsReply()
            }
        )
    }

    private func redrive(_ request: RedriveEventsRequest, _ context: CallContext) async throws -> RedriveEventsReply {
        do {
            let reply = try await bus.call(
                OperationMethods.redriveParkedEvents(of: request.service),
                RedriveParkedEventsRequest(eventID: request.eventID, feature: request.feature),
                context: context.child(timeout: Self.timeout)
            )
            return RedriveEventsReply(redriven: reply.redriven)
        } catch let error as ServiceError where error.code == .unavailable || error.code == .deadlineExceeded {
            throw ServiceError.away(request.service)
        }
    }
}

extension ServiceError {
    static func away(_ service: String) -> ServiceError {
        ServiceError(
            .unavailable,
            "SERVICE_AWAY",
            "The service \(service) does not answer now. Try again later: events that are tried again already are not counted twice.",
            details: [Detail(field: "service", message: "does not answer")],
            retryAfter: 5
        )
    }
}
