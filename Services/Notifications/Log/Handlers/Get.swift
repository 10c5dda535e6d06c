internal import Bus
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore

/// NO-4: one entry of the caller's log.
struct Get: QueryHandler {
    let log: NotificationRepository
    let views: EntryViews

    func handle(_ request: GetRequest, _ context: CallContext) async throws -> NotificationItem {
        let user = try context.requireUser()
        guard let entry = try await log.find(request.notificationID, of: user) else {
            throw ServiceError.notFound("notification")
        }
        let language = try await views.language(request.locale, of: user, context)
        guard let item = try await views.items([entry], of: user, in: language, context).first else {
            throw ServiceError.internal
        }
        return item
    }
}
