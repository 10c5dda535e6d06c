internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import ServiceRuntime

/// NO-4: marks one entry of the caller's log as read.
struct MarkOneRead: MutationHandler {
    let log: NotificationRepository
    let live: LiveEvents
    let mutations: Mutations

    func handle(_ request: MarkOneReadRequest, _ context: CallContext) async throws -> Once<MarkReadReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            guard try await NotificationRepository.exists(request.notificationID, of: user, work.sql) else {
                throw ServiceError.notFound("notification")
            }
            return try await live.markRead([request.notificationID], of: user, log, work)
        }
    }
}
