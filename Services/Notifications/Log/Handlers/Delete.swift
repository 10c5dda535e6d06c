internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import ServiceRuntime

/// NO-4: deletes one entry of the caller's log.
struct Delete: MutationHandler {
    let log: NotificationRepository
    let live: LiveEvents
    let mutations: Mutations

    func handle(_ request: DeleteRequest, _ context: CallContext) async throws -> Once<DeleteReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            let unread = try await live.changeLog(of: user, log, work) {
                guard try await NotificationRepository.delete(request.notificationID, of: user, work.sql) else {
                    throw ServiceError.notFound("notification")
                }
                return []
            }
            return DeleteReply(unreadCount: unread)
        }
    }
}
