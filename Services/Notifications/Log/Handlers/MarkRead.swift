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
        guard request.all == request.ids.isEmpty else {
            throw ServiceError.validation(field: "ids", "must be given, or all instead")
        }
        return try await mutations.once(context, request) { work in
            try await live.markRead(request.all ? nil : request.ids, of: user, log, work)
        }
    }
}
