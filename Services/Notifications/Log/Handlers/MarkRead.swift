internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import ServiceRuntime

/// NO-4: marks several or all entries as read. An unknown id counts for nothing.
struct MarkRead: MutationHandler {
    let log: NotificationRepository
    let live: LiveEvents
    let mutations: Mutations

    func handle(_ request: MarkReadRequest, _ context: CallContext) async throws -> Once<MarkReadReply> {
        let user = try context.requireUser()
        try Self.check(request)
        return try await mutations.once(context, request) { work in
            try await live.markRead(request.all ? nil : request.ids, of: user, log, work)
        }
    }

    func problems(of request: MarkReadRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { try Self.check(request) }
    }

    private static func check(_ request: MarkReadRequest) throws(ServiceError) {
        guard request.all == request.ids.isEmpty else { throw .validation(field: "ids", "must be given, or all instead") }
    }
}
