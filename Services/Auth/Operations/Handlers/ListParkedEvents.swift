internal import AuthAPI
internal import Bus
internal import CommonAPI
internal import Kernel
internal import ServiceRuntime

/// Events whose handler failed too often, of one service or of all.
struct ListParkedEvents: QueryHandler {
    /// How long a service has to answer.
    private static let timeout = Interval.seconds(1)
    /// Most events of each service.
    private static let most: Int32 = 100

    let roster: ServiceRoster
    let bus: any Caller

    /// No tuple: Swift 6.3.1 with `-O` loses those in a task group.
    private struct Answer: Sendable {
        let service: String
        let events: [ParkedEventEntry]?
    }

    func handle(_ request: ListParkedEventsRequest, _ context: CallContext) async throws -> ListParkedEventsReply {
        _ = try context.requireAdmin()
        let services: [String]
        if let service = request.service {
            guard try await roster.knows(service) else { throw ServiceError.unknownService }
            services = [service]
        } else {
            services = try await roster.replicas().keys.sorted()
        }
        let answers = await withTaskGroup(of: Answer.self) { tasks in
            for service in services {
                tasks.addTask { Answer(service: service, events: await ask(service, context)) }
            }
            var answers: [String: [ParkedEventEntry]] = [:]
            for await answer in tasks { answers[answer.service] = answer.events }
            return answers
        }
        try Task.checkCancellation()
        return ListParkedEventsReply(
            events: services.flatMap { service in
                (answers[service] ?? []).map { ParkedEvent(service: service, event: $0) }
            },
            unanswered: services.filter { answers[$0] == nil }
        )
    }

    /// - Returns: nil without an answer.
    private func ask(_ service: String, _ context: CallContext) async -> [ParkedEventEntry]? {
        try? await bus.call(
            OperationMethods.parkedEvents(of: service),
            ParkedEventsRequest(limit: Self.most),
            context: context.child(timeout: Self.timeout)
        ).events
    }
}

extension ServiceError {
    static let unknownService = ServiceError.validation(field: "service", "is not the name of a service that runs")
}
