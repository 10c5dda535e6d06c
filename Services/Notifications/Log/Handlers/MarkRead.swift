internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import ServiceRuntime

/// NO-4: marks one, several or all entries as read. Of one, an unknown id is refused; of several it counts for nothing.
struct MarkRead: MutationHandler {
    let log: NotificationRepository
    let live: LiveEvents
    let mutations: Mutations

    func handle(_ request: MarkReadRequest, _ context: CallContext) async throws -> Once<MarkReadReply> {
        let user = try context.requireUser()
        let given = (request.notificationID == nil ? 0 : 1) + (request.ids.isEmpty ? 0 : 1) + (request.all ? 1 : 0)
        guard given == 1 else { throw ServiceError.validation(field: "ids", "must be given, or all instead") }
        return try await mutations.once(context, request) { work in
            if let id = request.notificationID, try await !NotificationRepository.exists(id, of: user, work.sql) {
                throw ServiceError.notFound("notification")
            }
            let ids = request.all ? nil : request.ids + [request.notificationID].compactMap { $0 }
            return try await live.markRead(ids, of: user, log, work)
        }
    }
}
