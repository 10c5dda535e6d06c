internal import AuthAPI
internal import Bus
internal import CommonAPI
internal import Kernel
internal import ServiceRuntime

/// Events whose handler failed too often, of one service or of all.
struct ListParkedEvents: QueryHandler {
    /// How long a service has to answer.
    private static let timeout = Interval.seconds(1)

    let roster: ServiceRoster
    let bus: any Caller

    /// No tuple: Swift 6.3.1 with `-O` loses those in a task group.
    private struct Answer: Sendable {
        let service: String
        let events: [ParkedEventEntry]?
    }

    func handle(_ request: ListParkedEventsRequest, _ context: CallContext) async throws -> ListParkedEventsReply {
        _ = try context.requireAdmin()
        let page = try Page<ParkedEventPlace>(request, context)
        let all: [String]
        if let service = request.service {
            guard try await roster.knows(service) else { throw ServiceError.unknownService }
            all = [service]
        } else {
            all = try await roster.replicas().keys.sorted()
        }
        // The page before had what comes before its last event.
        let services = all.filter { service in page.position.map { service >= $0.service } ?? true }
        let answers = await withTaskGroup(of: Answer.self) { tasks in
            for service in services {
                let after = page.position.flatMap { $0.service == service ? $0.position : nil } ?? 0
                tasks.addTask {
                    Answer(service: service, events: await ask(service, after: after, limit: page.limit + 1, context))
                }
            }
            var answers: [String: [ParkedEventEntry]] = [:]
            for await answer in tasks { answers[answer.service] = answer.events }
            return answers
        }
        try Task.checkCancellation()
        let found = services.flatMap { service in
            (answers[service] ?? []).map { ParkedEvent(service: service, event: $0) }
        }
        let (shown, meta) = page.entries(found) { last in
            // A service that does not say places cannot be asked for more: the list goes on with the next service.
            let position = last.event?.position ?? 0
            return ParkedEventPlace(service: last.service, position: position > 0 ? position : .max)
        }
        return ListParkedEventsReply(events: shown, unanswered: services.filter { answers[$0] == nil }, meta: meta)
    }

    /// - Returns: in the order of their places; nil without an answer.
    private func ask(_ service: String, after position: Int64, limit: Int, _ context: CallContext) async
        -> [ParkedEventEntry]?
    {
        let reply = try? await bus.call(
            OperationMethods.parkedEvents(of: service),
            ParkedEventsRequest(limit: Int32(clamping: limit), after: position),
            context: context.child(timeout: Self.timeout)
        )
        // One that does not know `after` begins at the oldest again.
        return reply?.events.filter { position == 0 || $0.position > position }
    }
}

extension ServiceError {
    static let unknownService = ServiceError.validation(field: "service", "is not the name of a service that runs")
}
