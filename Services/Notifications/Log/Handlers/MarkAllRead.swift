internal import Bus
internal import NotificationsAPI
internal import NotificationsCore
internal import ServiceRuntime

/// NO-4: marks all entries as read.
struct MarkAllRead: MutationHandler {
    let log: NotificationRepository
    let mutations: Mutations

    func handle(_ request: MarkAllReadRequest, _ context: CallContext) async throws -> Once<MarkReadReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            let marked = try await NotificationRepository.markRead(nil, of: user, now: work.now, work.sql)
            return MarkReadReply(
                marked: Int32(clamping: marked),
                unreadCount: try await log.unreadCount(of: user, work.sql)
            )
        }
    }
}
